#include "kafka_reader.h"

#include "failpoint.h"

#include <stdio.h>

#define TRIM_TIMEOUT_MS 10000

static int open_fetcher(struct kafka_reader *r, struct err *err)
{
	/* A control record at the end of a range is passed only when an empty fetch has come back,
	 * so that must not take long. What is queued counts into the memory of a restore. */
	static const struct kafka_fetch_tuning tuning = {
		.role = "read",
		.wait_ms = "5",
		.partition_bytes = "65536",
		.queued_records = 10000,
		.queued_kib = 8192,
	};

	return kafka_fetcher_open(&r->fetcher, r->shared, &tuning, err);
}

static int open_look(struct kafka_reader *r, struct err *err)
{
	static const struct kafka_pair defaults[] = {{NULL, NULL}};
	static const struct kafka_pair fixed[] = {
		/* Else the last stable offset takes the place of the high watermark
		 * (rdkafka_request.c, ListOffsets). */
		{"isolation.level", "read_uncommitted"},
		{NULL, NULL},
	};
	rd_kafka_conf_t *conf;
	int rc;

	if (r->look.rk)
		return 0;
	rc = kafka_conf_new(r->shared, defaults, fixed, &conf, err);
	if (!rc)
		rc = kafka_handle_open(&r->look, r->shared, "look", RD_KAFKA_CONSUMER, conf, err);
	if (!rc)
		r->trimmed = rd_kafka_queue_new(r->look.rk);
	return rc;
}

void kafka_reader_close(struct kafka_reader *r)
{
	kafka_fetcher_close(&r->fetcher);
	if (r->trimmed)
		rd_kafka_queue_destroy(r->trimmed);
	r->trimmed = NULL;
	kafka_handle_close(&r->look);
}

int kafka_reader_start(struct kafka_reader *r, const struct log_range *v, size_t n, struct err *err)
{
	int rc = open_fetcher(r, err);

	if (rc)
		return rc;
	kafka_fetcher_stop_all(&r->fetcher);
	for (size_t i = 0; !rc && i < n; i++)
		if (v[i].from < v[i].to)
			rc = kafka_fetcher_start(
				&r->fetcher, v[i].topic, v[i].partition, v[i].from, v[i].to, err);
	return rc;
}

/* A range that begins below the low watermark begins there. */
static int skip_what_is_gone(struct kafka_reader *r, struct err *err)
{
	struct kafka_fetcher *f = &r->fetcher;
	struct log_position at = f->trouble_at;
	int64_t low, high;
	int rc = kafka_reader_watermarks(r, at.topic, at.partition, &low, &high, err);

	if (rc)
		return rc;
	if (low <= at.offset)
		return err_set(err, ERR_RANGE, "%s [%d] offset %lld: the log ends at %lld",
			r->shared->config->topics[at.topic], at.partition, (long long)at.offset,
			(long long)high);
	return kafka_fetcher_move(f, at.topic, at.partition, low, err);
}

int kafka_reader_next(struct kafka_reader *r, struct arena *arena, struct log_message *v,
	size_t max, int timeout_ms, size_t *ret_n, bool *ret_done, struct err *err)
{
	struct kafka_fetcher *f = &r->fetcher;
	int rc = 0;

	*ret_n = 0;
	*ret_done = false;
	if (f->n_started)
		rc = kafka_fetcher_take(f, arena, v, max, timeout_ms, ret_n, err);
	if (rc == ERR_RANGE)
		rc = skip_what_is_gone(r, err);
	/* What a worker reads first is its restore. */
	if (*ret_n)
		FAILPOINT("in-restore");
	*ret_done = !rc && f->n_started == 0;
	return rc;
}

/* A partition that was added since the handle last asked is unknown to it until it asks again:
 * by itself after five minutes (topic.metadata.refresh.interval.ms). */
static void learn_partitions(struct kafka_reader *r, const char *topic)
{
	rd_kafka_topic_t *rkt = rd_kafka_topic_new(r->look.rk, topic, NULL);
	const struct rd_kafka_metadata *m = NULL;

	if (rd_kafka_metadata(r->look.rk, 0, rkt, &m, KAFKA_TURN_MS) == 0)
		rd_kafka_metadata_destroy(m);
	rd_kafka_topic_destroy(rkt);
}

static int list_offset(struct kafka_reader *r, int topic, int32_t partition, int64_t which,
	int64_t *ret, struct err *err)
{
	const char *name = r->shared->config->topics[topic];
	rd_kafka_resp_err_t code =
		kafka_list_offset(&r->look, name, partition, which, KAFKA_TURN_MS, ret);

	if (code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
		learn_partitions(r, name);
	if (code)
		return err_set(err, kafka_err_class(code), "watermarks of %s [%d]: %s", name,
			partition, rd_kafka_err2str(code));
	return 0;
}

int kafka_reader_watermarks(struct kafka_reader *r, int topic, int32_t partition, int64_t *ret_low,
	int64_t *ret_high, struct err *err)
{
	int rc = open_look(r, err);

	if (!rc)
		rc = list_offset(r, topic, partition, RD_KAFKA_OFFSET_BEGINNING, ret_low, err);
	if (!rc)
		rc = list_offset(r, topic, partition, RD_KAFKA_OFFSET_END, ret_high, err);
	return rc;
}

int kafka_reader_offset_at(struct kafka_reader *r, int topic, int32_t partition,
	int64_t timestamp_ms, int64_t *ret, struct err *err)
{
	int rc = open_look(r, err);

	/* A negative time would be one of the special ones. */
	if (!rc)
		rc = list_offset(
			r, topic, partition, timestamp_ms > 0 ? timestamp_ms : 0, ret, err);
	if (!rc && *ret == RD_KAFKA_OFFSET_END)
		rc = list_offset(r, topic, partition, RD_KAFKA_OFFSET_END, ret, err);
	return rc;
}

void kafka_reader_trim(struct kafka_reader *r, int topic, int32_t partition, int64_t offset)
{
	rd_kafka_topic_partition_list_t *before = rd_kafka_topic_partition_list_new(1);
	rd_kafka_DeleteRecords_t *deletion;
	rd_kafka_AdminOptions_t *options;
	char text[128];
	struct err err;

	rd_kafka_topic_partition_list_add(before, r->shared->config->topics[topic], partition)
		->offset = offset;
	if (open_look(r, &err) == 0) {
		deletion = rd_kafka_DeleteRecords_new(before);
		options = rd_kafka_AdminOptions_new(r->look.rk, RD_KAFKA_ADMIN_OP_DELETERECORDS);
		rd_kafka_AdminOptions_set_request_timeout(
			options, TRIM_TIMEOUT_MS, text, sizeof(text));
		rd_kafka_DeleteRecords(r->look.rk, &deletion, 1, options, r->trimmed);
		rd_kafka_AdminOptions_destroy(options);
		rd_kafka_DeleteRecords_destroy(deletion);
	}
	rd_kafka_topic_partition_list_destroy(before);
}

static void report_deletion(struct kafka_reader *r, rd_kafka_event_t *event)
{
	const rd_kafka_DeleteRecords_result_t *result = rd_kafka_event_DeleteRecords_result(event);
	const rd_kafka_topic_partition_list_t *list;

	if (!result)
		return;
	if (rd_kafka_event_error(event)) {
		kafka_report(r->shared, 'W', "deleting applied inbox records: %s",
			rd_kafka_event_error_string(event));
		return;
	}
	list = rd_kafka_DeleteRecords_result_offsets(result);
	for (int i = 0; i < list->cnt; i++)
		if (list->elems[i].err)
			kafka_report(r->shared, 'W', "deleting records of %s [%d]: %s",
				list->elems[i].topic, list->elems[i].partition,
				rd_kafka_err2str(list->elems[i].err));
}

void kafka_reader_serve(struct kafka_reader *r)
{
	rd_kafka_event_t *event;

	kafka_handle_serve(&r->fetcher.handle);
	kafka_handle_serve(&r->look);
	while (r->trimmed && (event = rd_kafka_queue_poll(r->trimmed, 0))) {
		report_deletion(r, event);
		rd_kafka_event_destroy(event);
	}
}

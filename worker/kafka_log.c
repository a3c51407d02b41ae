#include "kafka_log.h"

#include "kafka_fetcher.h"
#include "kafka_group.h"
#include "kafka_originals.h"
#include "kafka_reader.h"
#include "kafka_txn.h"

#include <stdlib.h>

struct kafka_log {
	struct log log;
	struct kafka_shared shared;
	struct kafka_group group;
	struct kafka_fetcher fetcher; /* of the partitions that the group gave us */
	struct kafka_reader reader;
	struct kafka_originals originals;
	struct kafka_txn txn;
};

static struct kafka_log *of(struct log *log)
{
	return (struct kafka_log *)log;
}

static int group_poll(struct log *log, int timeout_ms, enum group_event *ret, struct err *err)
{
	struct kafka_log *l = of(log);

	kafka_handle_serve(&l->fetcher.handle);
	kafka_handle_serve(&l->txn.handle);
	kafka_reader_serve(&l->reader);
	return kafka_group_poll(&l->group, timeout_ms, ret, err);
}

static int assignment(
	struct log *log, const struct log_position **ret, size_t *ret_n, struct err *err)
{
	return kafka_group_assignment(&of(log)->group, ret, ret_n, err);
}

static int release_assignment(struct log *log, struct err *err)
{
	kafka_fetcher_stop_all(&of(log)->fetcher);
	return kafka_group_release(&of(log)->group, err);
}

static int open_fetcher(struct kafka_log *l, struct err *err)
{
	/* Behind an empty fetch the next one of a newly assigned partition waits. */
	static const struct kafka_fetch_tuning tuning = {
		.role = "fetch",
		.wait_ms = "100",
		.partition_bytes = "1048576",
		.queued_records = 20000,
		.queued_kib = 8192,
	};

	return kafka_fetcher_open(&l->fetcher, &l->shared, &tuning, err);
}

static int assign(struct log *log, const struct log_position *v, size_t n, struct err *err)
{
	struct kafka_log *l = of(log);
	int r = open_fetcher(l, err);

	if (r)
		return r;
	kafka_fetcher_stop_all(&l->fetcher);
	for (size_t i = 0; !r && i < n; i++)
		r = kafka_fetcher_start(
			&l->fetcher, v[i].topic, v[i].partition, v[i].offset, KAFKA_NO_END, err);
	return r;
}

static int fetch(struct log *log, struct arena *arena, struct log_message *v, size_t max,
	int timeout_ms, size_t *ret_n, struct err *err)
{
	struct kafka_log *l = of(log);
	int r = open_fetcher(l, err);

	*ret_n = 0;
	return r ? r : kafka_fetcher_take(&l->fetcher, arena, v, max, timeout_ms, ret_n, err);
}

static void release(struct log *log, struct log_message *v, size_t n)
{
	(void)log;
	for (size_t i = 0; i < n; i++) {
		if (v[i].owner)
			rd_kafka_message_destroy(v[i].owner);
		v[i].owner = NULL;
	}
}

static void leave(struct log *log)
{
	kafka_fetcher_stop_all(&of(log)->fetcher);
	kafka_group_leave(&of(log)->group);
}

static int committed(struct log *log, struct log_position *v, size_t n, struct err *err)
{
	return kafka_group_committed(&of(log)->group, v, n, err);
}

static int watermarks(struct log *log, int topic, int32_t partition, int64_t *ret_low,
	int64_t *ret_high, struct err *err)
{
	return kafka_reader_watermarks(&of(log)->reader, topic, partition, ret_low, ret_high, err);
}

static int offset_at(struct log *log, int topic, int32_t partition, int64_t timestamp_ms,
	int64_t *ret, struct err *err)
{
	return kafka_reader_offset_at(&of(log)->reader, topic, partition, timestamp_ms, ret, err);
}

static int read_start(struct log *log, const struct log_range *v, size_t n, struct err *err)
{
	return kafka_reader_start(&of(log)->reader, v, n, err);
}

static int read_next(struct log *log, struct arena *arena, struct log_message *v, size_t max,
	int timeout_ms, size_t *ret_n, bool *ret_done, struct err *err)
{
	return kafka_reader_next(&of(log)->reader, arena, v, max, timeout_ms, ret_n, ret_done, err);
}

static enum log_original original(
	struct log *log, const struct origin *place, struct log_message *ret, const char **ret_why)
{
	return kafka_originals_find(&of(log)->originals, place, ret, ret_why);
}

static int fetch_originals(struct log *log, int timeout_ms, bool *ret_news, struct err *err)
{
	struct kafka_log *l = of(log);

	return kafka_originals_step(&l->originals, &l->shared, timeout_ms, ret_news, err);
}

static int renew_producer(struct log *log, struct err *err)
{
	return kafka_txn_renew(&of(log)->txn, err);
}

static int transact(struct log *log, struct log_record *v, size_t n,
	const struct log_position *offsets, size_t n_offsets, struct log_end *ret, struct err *err)
{
	struct kafka_log *l = of(log);

	return kafka_txn_run(&l->txn, v, n, offsets, n_offsets, l->group.metadata, ret, err);
}

static void trim(struct log *log, int topic, int32_t partition, int64_t offset)
{
	kafka_reader_trim(&of(log)->reader, topic, partition, offset);
}

static const struct log_ops ops = {
	.group_poll = group_poll,
	.assignment = assignment,
	.release_assignment = release_assignment,
	.assign = assign,
	.fetch = fetch,
	.release = release,
	.leave = leave,
	.committed = committed,
	.watermarks = watermarks,
	.offset_at = offset_at,
	.read_start = read_start,
	.read_next = read_next,
	.original = original,
	.fetch_originals = fetch_originals,
	.renew_producer = renew_producer,
	.transact = transact,
	.trim = trim,
};

/* The settings, before anything is done with them. */
static int check_settings(struct kafka_shared *s, struct err *err)
{
	static const struct kafka_pair none[] = {{NULL, NULL}};
	rd_kafka_conf_t *conf;
	int r = kafka_conf_new(s, none, none, &conf, err);

	if (!r)
		rd_kafka_conf_destroy(conf);
	return r;
}

int kafka_log_new(const struct kafka_log_config *config, struct report *report, struct log **ret,
	struct err *err)
{
	struct kafka_log *l = mem_zalloc(sizeof(*l));
	int r;

	l->log.ops = &ops;
	l->shared = (struct kafka_shared){.config = config, .report = report};
	l->group.shared = l->reader.shared = &l->shared;
	r = check_settings(&l->shared, err);
	if (r) {
		free(l);
		return r;
	}
	kafka_txn_init(&l->txn, &l->shared);
	kafka_report(&l->shared, 'I', "librdkafka %s", rd_kafka_version_str());
	*ret = &l->log;
	return 0;
}

const struct kafka_stats *kafka_log_stats(const struct log *log)
{
	return ((const struct kafka_log *)log)->shared.stats;
}

void kafka_log_free(struct log *log)
{
	struct kafka_log *l = of(log);

	if (!l)
		return;
	leave(log);
	kafka_group_close(&l->group);
	kafka_fetcher_close(&l->fetcher);
	kafka_reader_close(&l->reader);
	kafka_originals_close(&l->originals);
	kafka_txn_free(&l->txn);
	free(l);
}

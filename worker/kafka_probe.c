#include "kafka_probe.h"

#include "clock.h"

#define PATIENCE_US (5LL * 1000 * 1000)
#define POLL_MS 100

static int open_consumer(struct kafka_handle *h, struct kafka_shared *shared, struct err *err)
{
	const struct kafka_pair defaults[] = {{"fetch.wait.max.ms", "50"}, {NULL, NULL}};
	const struct kafka_pair fixed[] = {
		{"group.id", shared->config->group_id}, /* assign() asks for one, and joins none */
		{"enable.auto.commit", "false"},
		{"enable.auto.offset.store", "false"},
		{"enable.partition.eof", "true"},
		{NULL, NULL},
	};
	rd_kafka_conf_t *conf;
	int r = kafka_conf_new(shared, defaults, fixed, &conf, err);

	if (!r)
		r = kafka_handle_open(h, shared, "probe", RD_KAFKA_CONSUMER, conf, err);
	if (!r)
		rd_kafka_poll_set_consumer(h->rk);
	return r;
}

static size_t assign(struct kafka_handle *h, const int32_t *partitions, rd_kafka_resp_err_t *ret)
{
	const struct kafka_log_config *config = h->shared->config;
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)config->n_topics);
	size_t n = 0;

	for (size_t i = 0; i < config->n_topics; i++) {
		if (partitions[i] <= 0)
			continue;
		rd_kafka_topic_partition_list_add(list, config->topics[i], 0)->offset =
			RD_KAFKA_OFFSET_END;
		ret[i] = RD_KAFKA_RESP_ERR__TIMED_OUT;
		n++;
	}
	rd_kafka_assign(h->rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	return n;
}

/* A record or the end of the partition: it could be read. Returns whether that is news. */
static bool note(struct kafka_handle *h, const rd_kafka_message_t *m, rd_kafka_resp_err_t *ret)
{
	int i = m->rkt ? kafka_topic_number(h->shared->config, rd_kafka_topic_name(m->rkt)) : -1;

	if (i < 0 || ret[i] != RD_KAFKA_RESP_ERR__TIMED_OUT)
		return false;
	ret[i] = m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF ? RD_KAFKA_RESP_ERR_NO_ERROR : m->err;
	return true;
}

int kafka_probe_reading(const struct kafka_log_config *config, struct report *report,
	const int32_t *partitions, rd_kafka_resp_err_t *ret, struct err *err)
{
	struct kafka_shared shared = {.config = config, .report = report};
	struct kafka_handle h;
	int64_t deadline_us = clock_steady_us(clock_system()) + PATIENCE_US;
	int r = open_consumer(&h, &shared, err);
	size_t waiting;

	if (r)
		return r;
	waiting = assign(&h, partitions, ret);
	while (waiting && clock_steady_us(clock_system()) < deadline_us) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(h.rk, POLL_MS);

		if (!m)
			continue;
		waiting -= note(&h, m, ret);
		rd_kafka_message_destroy(m);
	}
	kafka_handle_close(&h);
	return 0;
}

#include "inspection.h"

#include "report.h"

/* Past the time-out of a transaction the broker may take 10 s to abort it
 * (transaction.abort.timed.out.transaction.cleanup.interval.ms). */
#define BEYOND_TRANSACTION_US (20LL * 1000 * 1000)

static int check(const struct topics *t, struct err *err)
{
	int32_t n = t->partitions[TOPIC_DLQ];

	for (size_t i = 0; i < t->kafka->n_topics; i++) {
		if (!t->partitions[i])
			return err_set(err, ERR_CONFIG,
				"topic %s does not exist; run `meter-dlq init`",
				t->kafka->topics[i]);
		if (i < TOPIC_SOURCE && t->partitions[i] != n)
			return err_set(err, ERR_CONFIG,
				"topic %s has %d partitions where %s has %d; see `meter-dlq init`",
				t->kafka->topics[i], t->partitions[i], t->kafka->topics[TOPIC_DLQ],
				n);
	}
	return 0;
}

static int describe(struct inspection *s, struct err *err)
{
	CLEANUP(kafka_admin_freep) struct kafka_admin *admin = NULL;
	int r = kafka_admin_new(&s->kafka, s->report, &admin, err);

	if (!r)
		r = topics_describe(admin, &s->kafka, &s->arena, &s->topics, err);
	return r ? r : check(&s->topics, err);
}

int inspection_open(struct inspection *ret, const struct config *config, struct err *err)
{
	struct clock *clock = clock_system();
	uint64_t seed[2] = {clock_random(clock), clock_random(clock)};
	int r;

	*ret = (struct inspection){.config = config, .report = report_new(clock, REPORT_COMMAND)};
	kafka_setup(&ret->arena, config, &ret->kafka);
	r = schema_registry_new(config, clock, ret->report, &ret->schemas, err);
	if (!r)
		r = describe(ret, err);
	if (!r)
		r = kafka_log_new(&ret->kafka, ret->report, &ret->log, err);
	if (r)
		return r;
	ret->decode = topics_decode_rules(&ret->topics, config);
	ret->decode.schemas = schema_registry_waiting(ret->schemas);
	ret->rules.partitions = ret->topics.partitions[TOPIC_DLQ];
	memcpy(ret->rules.seed.bytes, seed, sizeof(seed));
	ret->reader = (struct topic_reader){.log = ret->log,
		.topics = ret->kafka.topics,
		.clock = clock,
		.report = ret->report,
		.patience_us = config->transaction_timeout_ms * 1000 + BEYOND_TRANSACTION_US};
	return 0;
}

void inspection_close(struct inspection *s)
{
	kafka_log_free(s->log);
	schema_registry_free(s->schemas);
	report_free(s->report);
	arena_free(&s->arena);
}

/*
 * topics.h: what our topics must be like, once: init creates them so and checks them, run refuses
 * to start on others.
 */
#ifndef WORKER_TOPICS_H
#define WORKER_TOPICS_H

#include "kafka_admin.h"
#include "kafka_setup.h"

/* What our topics allow a record to be larger than the source does: the entry around a read. */
#define ENVELOPE_BYTES (128LL * 1024)

/* The topics as they are. By topic number, see log.h. */
struct topics {
	const struct kafka_log_config *kafka;  /* their names; borrowed */
	int32_t *partitions;		       /* 0: does not exist */
	struct kafka_topic_settings *settings; /* empty where it does not exist */
};

/* Memory is the arena's. */
MUST_CHECK int topics_describe(struct kafka_admin *admin, const struct kafka_log_config *kafka,
	struct arena *arena, struct topics *ret, struct err *err);

/* The settings to create a topic with. *ret_n 0 for a source: the broker's defaults. */
const struct kafka_pair *topics_settings(
	const struct topics *t, int topic, struct arena *arena, size_t *ret_n);

/* One thing that is wrong. breaks: reads could be lost; else it is only advice. */
typedef void topics_tell_fn(void *arg, bool breaks, const char *text);
/* The same of one topic. */
unsigned topics_check_topic(const struct topics *t, int topic, topics_tell_fn *tell, void *arg);
/* Tells what is wrong with them and how to mend it; returns how many of it break the protocol. */
unsigned topics_check(const struct topics *t, topics_tell_fn *tell, void *arg);

/* The largest record that DLQ, inbox and parked topic all take. */
int64_t topics_record_bytes(const struct topics *t);
/* How dead letters are read: the same in run and audit. */
struct decode_rules topics_decode_rules(const struct topics *t, const struct config *config);

#endif

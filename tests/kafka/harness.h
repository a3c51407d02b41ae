/* harness.h: what the tests over a real broker share. Everything fails the test where it fails. */
#ifndef TESTS_KAFKA_HARNESS_H
#define TESTS_KAFKA_HARNESS_H

#include "config.h"
#include "kafka_log.h"

#include <librdkafka/rdkafka.h>

#define WAIT_MS 30000
#define MESSAGES_MAX 4096

/* The topics of one test, new and empty: DLQ, inbox, parked, one source. */
enum { SOURCE = TOPIC_SOURCE, TOPIC_COUNT = 4 };
struct topics {
	char *names[TOPIC_COUNT];
	char group_id[96];
	int32_t partitions;
};
void topics_create(struct topics *t, int32_t partitions);
void topics_free(struct topics *t);

/* A log on those topics, and what it gave. */
struct member {
	struct kafka_log_config config;
	struct log *log;
	struct arena arena;
	struct err err;
	struct log_message got[MESSAGES_MAX];
	size_t n_got;
};
/* instance_id and setting (of librdkafka) may be NULL. The caller frees with member_free. */
struct member *member_new(
	const struct topics *t, const char *instance_id, const struct config_setting *setting);
void member_free(struct member *m);

/* Serves the group once; what the event was. */
enum group_event poll_once(struct member *m);
/* Serves the group until that event; another one fails. */
void await_event(struct member *m, enum group_event event);
/* Joins, alone: takes the assignment and fetches nothing. Returns the number of partitions. */
size_t join(struct member *m);
void assign_one(struct member *m, int topic, int32_t partition, int64_t offset);
/* Fetches into m->got until there are n messages (position_only ones count). */
void fetch_n(struct member *m, size_t n);
/* Reads one range into m->got, to its end. */
void read_range(struct member *m, int topic, int32_t partition, int64_t from, int64_t to);
void forget_got(struct member *m);
int64_t high_watermark(struct member *m, int topic, int32_t partition);
/* A marker is written somewhat later than its transaction is committed or aborted. */
void await_high_watermark(struct member *m, int topic, int32_t partition, int64_t high);
/* Waits until it answers. */
int64_t committed_offset(struct member *m, int topic, int32_t partition);
void renew(struct member *m);

/* As the broker sees the group. */
int count_members(const struct topics *t);

/* A record for transact. */
struct log_record record_of(int topic, int32_t partition, const char *key, const char *value);
/* A transaction with these records and one offset, of partition 0 of the source. */
struct log_end transact(struct member *m, struct log_record *v, size_t n, int64_t offset);

void assert_text(struct slice s, const char *text);

/* An upstream's producer; transactional where an id is given. */
rd_kafka_t *upstream_new(const char *transactional_id);
/* Waits until it is written. */
void upstream_put(rd_kafka_t *rk, const char *topic, int32_t partition, struct slice key,
	struct slice value, rd_kafka_headers_t *headers);
void upstream_begin(rd_kafka_t *rk);
void upstream_commit(rd_kafka_t *rk);
void upstream_abort(rd_kafka_t *rk);
/* n records with the keys first, first + 1, ... */
void upstream_fill(rd_kafka_t *rk, const char *topic, int32_t partition, int first, int n);

#endif

/*
 * kafka_group.h: the membership of the consumer group, and nothing else: this handle fetches no
 * record, so whatever a poll of it returns is about the group.
 */
#ifndef WORKER_KAFKA_GROUP_H
#define WORKER_KAFKA_GROUP_H

#include "kafka_handle.h"

struct kafka_group {
	struct kafka_handle handle;
	struct kafka_shared *shared;
	bool subscribed;
	bool leaving;
	enum group_event event; /* not given out yet */
	enum group_event owed;	/* librdkafka waits for the answer to it */
	struct log_position *assigned;
	size_t n_assigned;
	/* Of the generation of `assigned`; NULL while there is none. Never refreshed: the broker
	 * checks member and generation, not who owns what, so it must be as old as the batch. */
	rd_kafka_consumer_group_metadata_t *metadata;
};

/* Stays a member in the eyes of the broker until its session ends; see kafka_group_leave. */
void kafka_group_close(struct kafka_group *g);

/* See log.h. */
MUST_CHECK int kafka_group_poll(
	struct kafka_group *g, int timeout_ms, enum group_event *ret, struct err *err);
MUST_CHECK int kafka_group_assignment(
	struct kafka_group *g, const struct log_position **ret, size_t *ret_n, struct err *err);
MUST_CHECK int kafka_group_release(struct kafka_group *g, struct err *err);
MUST_CHECK int kafka_group_committed(
	struct kafka_group *g, struct log_position *v, size_t n, struct err *err);
void kafka_group_leave(struct kafka_group *g);

#endif

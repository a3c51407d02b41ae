/*
 * kafka_originals.h: single records of any topic, read_uncommitted as share groups read by default:
 * what dead letters point to. One partition at a time, its wanted offsets in ascending order; the
 * partitions take turns, and one that cannot be read pauses.
 */
#ifndef WORKER_KAFKA_ORIGINALS_H
#define WORKER_KAFKA_ORIGINALS_H

#include "kafka_handle.h"

struct kafka_original;

struct kafka_originals {
	struct kafka_handle handle;
	rd_kafka_queue_t *queue;
	struct kafka_original **v;
	size_t n, bytes;
	uint64_t clock; /* counts what happens */
	bool news;
	int64_t pause_until_us; /* steady; after a call that failed */
	int64_t ask_again_us;	/* steady; some were dropped unknown, which is news then; 0: none */
	struct arena scratch;
	/* The partition that is being read. */
	rd_kafka_topic_t *topic; /* NULL: none */
	int32_t partition;
	bool started;	  /* librdkafka fetches it */
	int64_t next;	  /* offset */
	int64_t heard_us; /* steady; when a record came last */
};

/* See log.h. */
enum log_original kafka_originals_find(struct kafka_originals *o, const struct origin *place,
	struct log_message *ret, const char **ret_why);
MUST_CHECK int kafka_originals_step(struct kafka_originals *o, struct kafka_shared *s,
	int timeout_ms, bool *ret_news, struct err *err);
void kafka_originals_close(struct kafka_originals *o);

#endif

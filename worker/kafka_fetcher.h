/*
 * kafka_fetcher.h: fetches partitions from given offsets, read_committed, on a handle of its own.
 *
 * It uses librdkafka's simple consumer, not assign(): rd_kafka_consume_stop returns when fetching
 * has really stopped. A second assign() before librdkafka 2.0.2 has stopped the partitions of the
 * first ends the process (rdkafka_assignment.c, partition_stopped asserts rktp_started), and it
 * undoes an application's forwarding of partition queues (rdkafka_partition.c, fetch_stop).
 */
#ifndef WORKER_KAFKA_FETCHER_H
#define WORKER_KAFKA_FETCHER_H

#include "kafka_handle.h"

#define KAFKA_FETCH_MAX 1024 /* records in one call */
#define KAFKA_NO_END INT64_MAX

/* A partition as far as it was given out. */
struct kafka_slot {
	int64_t next; /* everything below was given out, or is not wanted */
	int64_t to;   /* fetching stops here */
	bool started;
	bool broken;		     /* nothing more until it is started again */
	rd_kafka_resp_err_t trouble; /* to be given out after the records before it */
};

struct kafka_slots {
	struct kafka_slot *v; /* by partition */
	int32_t n;
};

struct kafka_fetcher {
	struct kafka_handle handle;
	rd_kafka_queue_t *queue;
	rd_kafka_topic_t **topics; /* by topic number */
	struct kafka_slots *slots; /* likewise */
	size_t n_started;
	int queued_records, queued_kib;
	/* Taken since the queue was seen empty. */
	int64_t run_records, run_bytes;
	rd_kafka_message_t *popped[KAFKA_FETCH_MAX];
	size_t n_troubled;
	struct log_position trouble_at; /* where the error that was given out last happened */
};

/* What differs between the handles that fetch; see librdkafka's CONFIGURATION.md. */
struct kafka_fetch_tuning {
	const char *role;
	const char *wait_ms;	     /* how long a fetch with nothing to give blocks the next one */
	const char *partition_bytes; /* of one partition, in one fetch; as compressed */
	int queued_records;	     /* fetched ahead */
	int queued_kib;
};

/* Opens the handle where it is closed. */
MUST_CHECK int kafka_fetcher_open(struct kafka_fetcher *f, struct kafka_shared *s,
	const struct kafka_fetch_tuning *tuning, struct err *err);
void kafka_fetcher_close(struct kafka_fetcher *f);

/* Fetches a partition, which is not being fetched, from `from` up to `to`. */
MUST_CHECK int kafka_fetcher_start(struct kafka_fetcher *f, int topic, int32_t partition,
	int64_t from, int64_t to, struct err *err);
/* Goes on from another offset with a partition that is being fetched. */
MUST_CHECK int kafka_fetcher_move(
	struct kafka_fetcher *f, int topic, int32_t partition, int64_t from, struct err *err);
/* Nothing fetched before comes out after it. */
void kafka_fetcher_stop_all(struct kafka_fetcher *f);

/*
 * Up to max messages, waiting timeout_ms for the first. With an end, only records below it, and
 * the partition stops once its position has reached it; without, also position_only messages.
 * An error of a partition comes after the records before it, with its place in f->trouble_at.
 */
MUST_CHECK int kafka_fetcher_take(struct kafka_fetcher *f, struct arena *arena,
	struct log_message *v, size_t max, int timeout_ms, size_t *ret_n, struct err *err);

/* Sets headers of *ret: the array is in the arena, what it points to is the message's. */
void kafka_message_headers(struct kafka_shared *s, struct arena *arena, rd_kafka_message_t *m,
	struct log_message *ret);

#endif

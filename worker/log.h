/*
 * log.h: the seam to Kafka: the consumer group, a reader for partitions, and transactions.
 * worker/kafka_*.c is the real one; the simulator has its own. All calls from the loop's thread.
 *
 * Calls return 0 or a negative enum err_class. ERR_UNREACHABLE means: try again later.
 */
#ifndef WORKER_LOG_H
#define WORKER_LOG_H

#include "codec.h"
#include "err.h"
#include "mem.h"

/* Topics by number; sources are TOPIC_SOURCE, TOPIC_SOURCE + 1, ... in configured order. */
enum { TOPIC_DLQ = 0, TOPIC_INBOX = 1, TOPIC_PARKED = 2, TOPIC_SOURCE = 3 };

/* A partition and an offset in it: the next record to take. -1: none. */
struct log_position {
	int topic;
	int32_t partition;
	int64_t offset;
};

/* Records from..to-1 of a partition. */
struct log_range {
	int topic;
	int32_t partition;
	int64_t from, to;
};

/* A record as read. Slices live until log_release, headers as long as the arena. */
struct log_message {
	int topic;
	int32_t partition;
	int64_t offset;
	int64_t timestamp_ms; /* -1: none */
	struct slice key, value;
	struct header *headers; /* none of DLQ and parked records, where nobody needs them */
	size_t n_headers;
	bool position_only; /* no record: the position has advanced to offset (control records) */
	void *owner;	    /* the implementation's; NULL is fine */
};

/* What a pointer points to, see struct decoded. */
enum log_original {
	ORIGINAL_FOUND,
	ORIGINAL_GONE, /* no such record any more, no such topic, or it may not be read */
	ORIGINAL_AWAY, /* not yet */
};

/* A record to write. What it points to is borrowed until transact returns. */
struct log_record {
	int topic;
	int32_t partition;
	struct slice key, value; /* value null: a tombstone */
	const struct header *headers;
	size_t n_headers;
	int64_t offset; /* set by transact from the delivery report; -1 where none came */
};

enum group_event {
	GROUP_NONE = 0,
	GROUP_ASSIGNED, /* a new generation: see assignment() */
	GROUP_REVOKED,	/* drop every open batch, then call release_assignment() */
};

/* How a transaction ended. */
struct log_end {
	bool landed; /* the commit is known to have succeeded and every record has an offset */
	bool clean;  /* ended within 2 s and without an error event: the producer may go on */
};

struct log;
struct log_ops {
	/* --- the group --- */

	/* Serves group events, never records. Keeps the member alive. timeout 0 does not block. */
	int (*group_poll)(struct log *, int timeout_ms, enum group_event *ret, struct err *);
	/* The partitions of sources and inbox assigned in this generation, offsets -1. Valid until
	 * the next group_poll. The group metadata for transact is taken here. */
	int (*assignment)(
		struct log *, const struct log_position **ret, size_t *ret_n, struct err *);
	/* Gives the revoked partitions up; the group may go on. */
	int (*release_assignment)(struct log *, struct err *);
	/* Fetches exactly these partitions from these offsets from now on (n = 0: none). What was
	 * fetched before is forgotten. */
	int (*assign)(struct log *, const struct log_position *v, size_t n, struct err *);
	/* Up to max records, waiting timeout_ms for the first. Per partition in offset order.
	 * ERR_RANGE: a position is out of the log's range. */
	int (*fetch)(struct log *, struct arena *, struct log_message *v, size_t max,
		int timeout_ms, size_t *ret_n, struct err *);
	void (*release)(struct log *, struct log_message *v, size_t n);
	/* Leaves the group (a static member stays) and stops fetching. */
	void (*leave)(struct log *);

	/* --- looking --- */

	/* The group's committed offsets into v (-1: none), read_committed: while another owner's
	 * transaction is pending it answers ERR_UNREACHABLE. Not for the DLQ and parked topics. */
	int (*committed)(struct log *, struct log_position *v, size_t n, struct err *);
	/* Low and high watermark as the broker knows them now, read_uncommitted. */
	int (*watermarks)(struct log *, int topic, int32_t partition, int64_t *ret_low,
		int64_t *ret_high, struct err *);
	/* The offset of the first record with that timestamp or a later one; the end of the log
	 * where there is none. For commands alone: the simulator's log has none. */
	int (*offset_at)(struct log *, int topic, int32_t partition, int64_t timestamp_ms,
		int64_t *ret, struct err *);
	/* Reads ranges, at most one of a partition, read_committed; a later call replaces an
	 * earlier one. What is below the low watermark is passed over; ERR_RANGE comes where the
	 * log ends before a range begins. */
	int (*read_start)(struct log *, const struct log_range *v, size_t n, struct err *);
	/* Up to max records of those ranges, per partition in offset order, only ever ones inside.
	 * *ret_done: all ranges are read to their end. Blocks at most timeout_ms. */
	int (*read_next)(struct log *, struct arena *, struct log_message *v, size_t max,
		int timeout_ms, size_t *ret_n, bool *ret_done, struct err *);

	/* --- originals --- */

	/*
	 * The record of any topic at that place, from memory; if it is not there it is being
	 * fetched from now on. *ret (FOUND) and *ret_why (GONE: in words) are valid until the next
	 * call of either. */
	enum log_original (*original)(struct log *, const struct origin *place,
		struct log_message *ret, const char **ret_why);
	/* Moves that on. *ret_news: one that was away is known now. */
	int (*fetch_originals)(struct log *, int timeout_ms, bool *ret_news, struct err *);

	/* --- the transaction --- */

	/* Makes the producer, or makes it anew under the same transactional.id: what its
	 * predecessor left open is aborted, what it asked to commit is finished. ERR_FENCED where
	 * another process has taken the id. */
	int (*renew_producer)(struct log *, struct err *);
	/* One transaction: all records, and the offsets under the group metadata that
	 * assignment() took. Never aborts; the caller renews the producer unless it ended clean.
	 * *ret is set in any case. 0 also where it did not land but the process may go on;
	 * ERR_FENCED, ERR_CONFIG and ERR_INTERNAL are final. */
	int (*transact)(struct log *, struct log_record *v, size_t n,
		const struct log_position *offsets, size_t n_offsets, struct log_end *ret,
		struct err *);
	/* Lets the broker delete the records of a partition below offset. Best effort. */
	void (*trim)(struct log *, int topic, int32_t partition, int64_t offset);
};
struct log {
	const struct log_ops *ops;
};

#endif

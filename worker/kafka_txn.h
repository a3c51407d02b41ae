/*
 * kafka_txn.h: the transactional producer. After anything but a clean end the handle is spent: it
 * is never asked to abort, and never used again (KAFKA-17754, librdkafka #5423).
 */
#ifndef WORKER_KAFKA_TXN_H
#define WORKER_KAFKA_TXN_H

#include "kafka_handle.h"

enum kafka_txn_state {
	TXN_CLOSED = 0,
	TXN_STARTING, /* init_transactions has not returned success yet */
	TXN_READY,
	TXN_SPENT,
};

struct kafka_txn {
	struct kafka_handle handle;
	struct kafka_shared *shared;
	char *transactional_id;
	enum kafka_txn_state state;
	rd_kafka_topic_t **topics; /* by topic number */
	/* Of the transaction under way; NULL outside, when delivery reports are too late. */
	struct log_record *records;
	size_t n_reported;	     /* delivered, and the offset is known */
	rd_kafka_resp_err_t refused; /* the first delivery that failed */
	rd_kafka_resp_err_t failure; /* what ended the transaction */
	int64_t deadline_us;
	int64_t fenced_us; /* when it was fenced last; 0: never */
};

/* The transactional.id is the same for every handle of this process. */
void kafka_txn_init(struct kafka_txn *t, struct kafka_shared *s);
void kafka_txn_free(struct kafka_txn *t);

/* See log.h. */
MUST_CHECK int kafka_txn_renew(struct kafka_txn *t, struct err *err);
/* membership: of the group; NULL where there is none. */
MUST_CHECK int kafka_txn_run(struct kafka_txn *t, struct log_record *v, size_t n,
	const struct log_position *offsets, size_t n_offsets,
	const rd_kafka_consumer_group_metadata_t *membership, struct log_end *ret, struct err *err);

#endif

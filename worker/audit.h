/*
 * audit.h: the proof that every dead letter taken in is settled, queued or parked. audit_queue.c
 * has what Kafka holds of the reads, audit_rows.c what Postgres holds, audit_source.c walks the
 * dead letters and judges them, cmd_audit.c is the command.
 */
#ifndef WORKER_AUDIT_H
#define WORKER_AUDIT_H

#include "inspection.h"
#include "read_set.h"

#include <libpq-fe.h>

/* What was found wrong, for stderr: the first ones in words. */
struct findings {
	struct buf text;
	unsigned n;
};
#define FINDINGS_MAX 50
__attribute__((format(printf, 2, 3))) void findings_add(struct findings *f, const char *fmt, ...);

/* The reads in the queue as of one moment. */
struct audit_queue {
	int32_t n;
	struct partition *entries; /* plain DLQ keys and the parked topic, by partition */
	/* DLQ keys with the content behind them. Apart, so that an entry that is there under both
	 * keys is seen: one fold of both would hold it once. */
	struct partition *second;
	struct read_set inbox;	/* handed over and not yet applied */
	struct log_range *read; /* of inbox, DLQ and parked topic: what this was made from */
};

struct audit {
	struct inspection in;
	struct decode_rules decode;
	struct audit_queue queue;
	PGconn *pg;
	struct findings findings;
	uint64_t doubled;
};

MUST_CHECK int audit_queue_read(struct audit *a, struct err *err);
void audit_queue_free(struct audit_queue *q);
/* Whether anything was written since it was read. */
MUST_CHECK int audit_queue_moved(struct audit *a, bool *ret, struct err *err);
/* Counts and reports reads that are there twice. */
MUST_CHECK int audit_queue_doubles(struct audit *a, struct err *err);

enum audit_place { PLACE_NOWHERE, PLACE_QUEUED, PLACE_PARKED };
enum audit_place audit_queue_find(const struct audit *a, struct slice key, uint64_t content);

enum audit_row { ROW_NONE, ROW_SAME, ROW_OTHER };

/* A read whose fate is to be found. */
struct audit_read {
	struct slice key; /* the idempotency key, or the synthetic one of what is unfit */
	uint64_t content;
	int64_t offset;
	bool unfit;
	enum audit_row row;
};
/* Sets row of all that are not unfit. */
MUST_CHECK int audit_rows_find(PGconn *pg, struct audit_read *v, size_t n, struct err *err);

/* One partition of a source. A read counts once in it. */
struct audit_line {
	struct log_range range;
	int64_t gap; /* dead letters that retention took before they were taken in */
	uint64_t dead_letters, reads, settled, queued, parked, missing, different, waiting;
};
/* committed: the group's offset. */
MUST_CHECK int audit_source(struct audit *a, int topic, int32_t partition, int64_t committed,
	struct audit_line *ret, struct err *err);

#endif

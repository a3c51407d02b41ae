/*
 * audit.h: the proof that every dead letter taken in is settled, queued or parked. audit_queue.c
 * has what Kafka holds of the reads, audit_rows.c what Postgres holds, audit_source.c walks the
 * dead letters, audit_judge.c decides what became of each, cmd_audit.c is the command.
 *
 * A running worker moves reads while the audit looks. What seems wrong is therefore suspect only,
 * until it has seemed so several times with everything read that was written in between.
 */
#ifndef WORKER_AUDIT_H
#define WORKER_AUDIT_H

#include "inspection.h"
#include "read_set.h"

#include <libpq-fe.h>

enum audit_row { ROW_NONE, ROW_SAME, ROW_OTHER };

/* A read whose fate is to be found. */
struct audit_read {
	struct slice key; /* the idempotency key, or the synthetic one of what is unfit */
	uint64_t content;
	/* As which it was parked if it could not be understood then, under other settings. */
	struct slice place_key;
	uint64_t payload_content;
	int64_t offset;		 /* of its first dead letter in that partition */
	struct audit_line *line; /* where it counts */
	bool unfit;
	enum audit_row row;
};

/* One partition of a source. A read counts once in it. */
struct audit_line {
	struct log_range range;
	int64_t committed; /* the group's offset, -1: none */
	int64_t gap;	   /* dead letters that retention took before they were taken in */
	uint64_t dead_letters, reads, settled, queued, parked, missing, different, waiting;
};

/* A dead letter in the inbox; whether it is applied is known once the checkpoint is. */
struct audit_handed {
	int32_t partition;
	int64_t offset;
	struct key128 key;
	uint64_t content;
};

/* The reads in the queue as of one moment. */
struct audit_queue {
	int32_t n;
	struct partition *entries; /* plain DLQ keys and the parked topic, by partition */
	/* DLQ keys with the content behind them. Apart, so that an entry that is there under both
	 * keys is seen: one fold of both would hold it once. */
	struct partition *second;
	struct audit_handed *handed;
	size_t n_handed, cap_handed;
	struct read_set inbox;	/* handed over and not applied */
	struct log_range *read; /* of inbox, DLQ and parked topic: read up to `to` */
};

/* What was found wrong, for stderr: the first ones in words. */
struct findings {
	struct buf text;
	uint64_t n;
};
#define FINDINGS_MAX 50
__attribute__((format(printf, 2, 3))) void findings_add(struct findings *f, const char *fmt, ...);

struct audit {
	struct inspection in;
	struct decode_rules decode;
	struct audit_queue queue;
	PGconn *pg;
	/* Reads that are nowhere; beyond AUDIT_SUSPECTS_MAX they are judged at once. */
	struct audit_read *suspects;
	size_t n_suspects, cap_suspects;
	struct arena suspect_keys;
	struct read_set doubled; /* likewise suspect: reads that are there twice */
	struct findings findings;
};
#define AUDIT_SUSPECTS_MAX 100000

/* Reads all that was written since the last time. */
MUST_CHECK int audit_queue_advance(struct audit *a, struct err *err);
void audit_queue_free(struct audit_queue *q);

/* The reads that are there twice; with among, only those in it. */
void audit_queue_doubles(const struct audit *a, const struct read_set *among, struct read_set *ret);
/* Names those of a->doubled. */
MUST_CHECK int audit_queue_report_doubles(struct audit *a, struct err *err);

enum audit_place { PLACE_NOWHERE, PLACE_QUEUED, PLACE_PARKED };
enum audit_place audit_queue_find(const struct audit *a, struct slice key, uint64_t content);

/* Sets row of all that are not unfit. */
MUST_CHECK int audit_rows_find(PGconn *pg, struct audit_read *v, size_t n, struct err *err);

/* Counts each of them in its line, or makes it a suspect. */
MUST_CHECK int audit_judge(struct audit *a, struct audit_read *v, size_t n, struct err *err);
/* Judges the suspects again; what is found now is none any more. */
MUST_CHECK int audit_judge_again(struct audit *a, struct err *err);
/* Counts and names the suspects that are left. */
void audit_condemn(struct audit *a);

/* Walks the partition of line->range, taking what lies before line->committed as taken in. */
MUST_CHECK int audit_source(struct audit *a, struct audit_line *line, struct err *err);

#endif

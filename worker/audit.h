/*
 * audit.h: the proof that every dead letter taken in is settled, queued or parked.
 *
 *   cmd_audit.c       the command: the order of the steps, and where it looks
 *   audit_queue.c     what Kafka holds of the reads; audit_doubles.c, audit_gaps.c: what is wrong
 * there audit_rows.c      what Postgres holds audit_source.c    walks the dead letters
 *   audit_history.c   walks the DLQ's log for reads whose dead letter retention has taken
 *   audit_judge.c     decides what became of each
 *   audit_suspects.c  keeps those that are nowhere, looks again, and gives the verdict
 *   audit_search.c    searches our topics for what they were taken in as
 *   audit_repair.c    hands those over to the owners of their keys once more
 *   audit_report.c    tells it all
 *
 * A running worker moves reads while the audit looks. What seems wrong is therefore suspect only,
 * until it has seemed so several times with everything read that was written in between.
 */
#ifndef WORKER_AUDIT_H
#define WORKER_AUDIT_H

#include "audit_counts.h"
#include "inspection.h"
#include "read_set.h"

#include <libpq-fe.h>

/* One partition of a source; or all dead letters that are of none (range.topic ELSEWHERE). A read
 * counts once in it. */
struct audit_line {
	struct log_range range; /* where it looks */
	int64_t low;		/* where the log begins */
	int64_t committed;	/* the group's offset, -1: none */
	int64_t taken;		/* after the last dead letter that a checkpoint knows of; 0: none */
	int64_t wanted;		/* --from; -1: not given */
	int64_t entered;	/* the lowest dead letter of an entry in the DLQ's log */
	struct audit_counts counts;
};
#define ELSEWHERE (-1)

enum audit_row { ROW_NONE, ROW_SAME, ROW_OTHER };

/* A read whose fate is to be found. */
struct audit_read {
	struct slice key; /* the idempotency key, or the synthetic one of what is unfit */
	uint64_t content;
	uint64_t content_today; /* by the settings of today; content is as it was taken in */
	/* Its first dead letter in that partition; or an entry of it in the DLQ's log. */
	struct log_position at;
	struct audit_line *line; /* where it counts */
	bool unfit;
	enum audit_row row;
	/* What it was decoded from; null where it comes from the DLQ's log. */
	struct slice record_key, id_header, payload;
};

/* Reads on their way to Postgres and back. */
struct audit_batch {
	struct audit_read *v;
	size_t n;
	struct arena arena;
	bool sent;
};
#define AUDIT_BATCH_READS 1000
#define AUDIT_BATCH_BYTES ((size_t)4 * 1024 * 1024)

/* A read that is nowhere, as far as the first look goes. */
struct audit_suspect {
	struct audit_read read;
	/* As what it was parked if it could not be understood then, under other settings. */
	struct slice place_key;
	uint64_t payload_content;
	struct key128 key, place, source; /* by what our records are searched for it */
	struct key128 other;		  /* as what it was searched for last */
	bool entered;			  /* the DLQ's log knows its key */
	bool found, requeued;
};
/* Beyond these what is nowhere is judged at once. */
#define AUDIT_SUSPECTS_MAX 100000

struct audit_suspects {
	struct audit_suspect *v;
	size_t n, cap;
	struct arena arena;
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
	bool foreign;		/* an entry came from a source that is not configured any more */
};

/* Offsets that a topic no longer has, though they were still needed. */
struct audit_gap {
	int topic;
	int32_t partition;
	int64_t from, to; /* the last one */
	const char *why;
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
	const char *id_header; /* the header that may hold the key; NULL: none */
	int64_t since_us, until_us;
	struct audit_line *lines; /* one for every source partition, and the last for ELSEWHERE */
	size_t n_lines;		  /* without that last one */
	struct audit_line total;
	struct audit_queue queue;
	PGconn *pg;
	char *query;
	struct read_set seen; /* reads that a line has counted, with the number of the last one */
	struct audit_suspects suspects;
	struct read_set doubled; /* likewise suspect: reads that are there twice */
	struct audit_gap *gaps;
	size_t n_gaps;
	struct findings findings;
};

/* The line of a dead letter's place. */
struct audit_line *audit_line_of(const struct audit *a, const struct origin *place);
/* True for the first time that the read is met in the line. */
bool audit_count_once(
	struct audit *a, const struct audit_line *line, struct slice key, uint64_t content);
/* True where no line has counted it; then the last one has. */
bool audit_new_read(struct audit *a, struct slice key, uint64_t content);

/* Reads all that was written since the last time. */
MUST_CHECK int audit_queue_advance(struct audit *a, struct err *err);
void audit_queue_free(struct audit_queue *q);

enum audit_place { PLACE_NOWHERE, PLACE_QUEUED, PLACE_PARKED, PLACE_WRITTEN_OFF };
enum audit_place audit_queue_find(const struct audit *a, struct slice key, uint64_t content);
/* The DLQ checkpoint's position of that source in the partition of key; 0: none. */
int64_t audit_queue_taken(const struct audit *a, int32_t partition, const struct origin *source);

/* The reads that are there twice; with among, only those in it. */
void audit_doubles(const struct audit *a, const struct read_set *among, struct read_set *ret);
/* Names those of a->doubled. */
MUST_CHECK int audit_doubles_report(struct audit *a, struct err *err);

/* After the first audit_queue_advance. */
void audit_gaps_of_queue(struct audit *a);
void audit_gap_of_source(struct audit *a, struct audit_line *line);

/* The statement that finds rows; the caller frees it. */
char *audit_rows_query(const char *table);
/* Asks for the rows of a batch; nothing else may be asked for before they are taken. */
MUST_CHECK int audit_rows_send(struct audit *a, struct audit_batch *b, struct err *err);
/* Sets row of all in a batch that was sent. */
MUST_CHECK int audit_rows_take(struct audit *a, struct audit_batch *b, struct err *err);

/* dead_letter_decode; ERR_UNREACHABLE where its schema is away. */
MUST_CHECK int audit_decode(const struct audit *a, struct arena *arena, const struct dead_letter *d,
	struct decoded *ret, struct err *err);
/* Walks the partition of line->range, taking what lies before line->committed as taken in. */
MUST_CHECK int audit_source(struct audit *a, struct audit_line *line, struct err *err);
/* After all sources. */
MUST_CHECK int audit_history(struct audit *a, struct err *err);

/* Two batches in turn: Postgres works on one while the other is filled. */
struct audit_judging {
	struct audit *audit;
	struct audit_batch batches[2];
	unsigned filling;
};
void audit_judging_open(struct audit_judging *j, struct audit *a);
void audit_judging_close(struct audit_judging *j);
/* Copies what the read refers to. Counts it in its line, or makes it a suspect; soon. */
MUST_CHECK int audit_judge(struct audit_judging *j, const struct audit_read *read, struct err *err);
/* Judges what is still open. */
MUST_CHECK int audit_judge_rest(struct audit_judging *j, struct err *err);
/* The count of its line in which it belongs; NULL where it is nowhere. Its row must be set. */
uint64_t *audit_find(const struct audit *a, const struct audit_read *read);
/* A read of the DLQ's log counts only where it is missing: it is there for that alone. */
static inline bool audit_counts_read(const struct audit_read *read)
{
	return read->at.topic != TOPIC_DLQ;
}

/* A suspect, in the arena and borrowed from read. */
struct audit_suspect audit_suspect_of(
	const struct audit *a, struct arena *arena, const struct audit_read *read);
/* Likewise, as what could not be understood when it was taken in, and is parked under its place. */
uint64_t *audit_find_in_place(const struct audit *a, const struct audit_suspect *s);
/* Keeps a copy. */
void audit_suspects_add(struct audit *a, const struct audit_suspect *s);
void audit_suspects_free(struct audit_suspects *s);
/* Judges the suspects again; what is found now is none any more. */
MUST_CHECK int audit_suspects_again(struct audit *a, struct err *err);
/* Not guilty: counts it there, if it counts at all. */
void audit_acquit(struct audit_suspect *s, uint64_t *count);
void audit_suspects_drop_found(struct audit_suspects *s);
/* Who comes from one dead letter; and from one key and payload, which is all that a key is made
 * from, by whatever settings. */
struct key128 audit_place_id(const struct audit *a, struct arena *arena, struct slice topic,
	int32_t partition, int64_t offset);
struct key128 audit_source_id(const struct audit *a, struct arena *arena, struct slice record_key,
	struct slice id_header, struct slice payload);
/* Looks in our topics for what the suspects were taken in as, under other settings, and notes
 * which of their keys the DLQ's log knows. */
MUST_CHECK int audit_suspects_as_taken_in(struct audit *a, struct err *err);
/* Counts and names the suspects that are left. */
void audit_suspects_condemn(struct audit *a);

/* Hands the suspects that are left over to the owners of their keys, who take them in as what is
 * read again; they are queued then. */
MUST_CHECK int audit_repair(struct audit *a, struct err *err);

void audit_add_up(struct audit *a);
void audit_print(const struct audit *a);
/* Replaces the file as a whole. a NULL: the audit could not be made. */
MUST_CHECK int audit_write_metrics(
	const char *path, const struct audit *a, int64_t now_us, struct err *err);

#endif

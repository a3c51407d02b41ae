/*
 * replay.h: which entries are due, and reading them from the DLQ: a pass over one partition, in
 * offset order, over the offsets that the tickets say are live and due.
 */
#ifndef WORKER_REPLAY_H
#define WORKER_REPLAY_H

#include "err.h"
#include "log.h"

struct loop;
struct owned;
struct ticket;

/* Per partition: when to look at the tickets again. Microseconds, wall clock. */
struct replay_queue {
	int64_t next_due_us; /* no entry that is not in memory is due before */
	int64_t scanned_us;  /* the last look */
};

/* An entry to read. Its ticket may have changed since: compare its offset. */
struct wanted {
	int64_t offset;
	struct ticket *ticket;
};
#define REPLAY_WANTED_MAX 65536 /* a pass */

/* The one pass that is under way. */
struct replay_reader {
	struct owned *owned;   /* NULL: none */
	struct wanted *wanted; /* by offset, ascending */
	size_t n, next;
	size_t run_end;	    /* wanted[next .. run_end) is one range of the reader */
	struct arena arena; /* headers of messages */
	struct log_message *v;
	size_t n_messages, next_message;
};

/* Schemas have come: the entries that waited for theirs are looked at again. */
void replay_go_on(struct loop *l);
/* An entry was put, due then, and is not in memory. */
void replay_note(struct owned *o, int64_t due_us);
/*
 * Fills l->next with due entries up to its limits, as far as they are at hand; starts a pass where
 * one is worthwhile. Blocks at most a few milliseconds.
 */
MUST_CHECK int replay_take(struct loop *l, int64_t now_us, struct err *err);
/* Forgets the pass under way. */
void replay_drop(struct loop *l);
/* Whether an entry is due that could be sent now, or a pass is under way. */
bool replay_pending(struct loop *l, int64_t now_us);

#endif

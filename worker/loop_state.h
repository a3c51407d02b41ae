/*
 * loop_state.h: what the files of the loop share: loop.c (the turn), take.c, deliver.c (Postgres),
 * plan.c and land.c (the transaction), restore.c, replay.c. Nobody else includes it.
 */
#ifndef WORKER_LOOP_STATE_H
#define WORKER_LOOP_STATE_H

#include "batch.h"
#include "breaker.h"
#include "fold.h"
#include "loop.h"
#include "rate.h"
#include "replay.h"

/* A DLQ partition that is ours, with the parked and the inbox partition of the same number. */
struct owned {
	struct partition partition; /* exactly what has landed */
	/* Every record below these offsets is in the tickets. */
	int64_t dlq_certain, parked_certain;
	int64_t inbox_end; /* take the inbox up to here before any source */
	int64_t inbox_trimmed;
	bool assigned;	 /* in the current generation; else kept warm across a rebalance */
	int64_t left_us; /* steady: when it was revoked */
	/* As the checkpoint will be once all that was taken has landed. */
	struct arena taken_arena;
	int64_t taken_inbox;
	VEC(struct source_position) taken;
	size_t taken_hint;
	bool touched; /* the batch being taken changes the checkpoint */
	struct replay_queue replay;
};

/* Messages fetched and not yet taken. */
struct fetched {
	struct arena arena; /* their headers */
	struct log_message *v;
	size_t n, next;
};
#define FETCH_CHUNK 512

/* At most in use: next, sent, prev, and a donor each. */
#define BATCHES 6

struct loop {
	const struct loop_config *config;
	struct log *log;
	struct sink *sink;
	struct schemas *schemas;
	struct decode_rules decode; /* with schemas */
	struct clock *clock;
	struct report *report;
	struct fold_rules fold_rules;
	struct owned **owned; /* by partition number, NULL where not ours; config->partitions */
	VEC(struct log_position) positions; /* assigned: the next to take */
	VEC(int64_t) idle_ends;		    /* until_idle: end offsets when restored, alike */
	size_t position_hint;
	VEC(struct log_position) waiting; /* their next dead letter waits for its schema */
	int64_t wanted_us; /* steady: since when a schema has been awaited; 0: none */
	bool entries_wait; /* due ones wait for theirs: see struct ticket */
	bool assign_stale; /* what is fetched is not what should be */
	enum group_event pending_event;
	int64_t certain_us;   /* steady: when tickets and positions were certain last */
	int64_t restoring_us; /* steady: since when; 0: not */
	uint64_t restore_read, restore_left; /* see struct loop_view */
	int64_t restore_us;
	bool joined;	     /* assigned in the current generation */
	bool restored;	     /* and tickets and positions are certain */
	bool draining_inbox; /* only the inbox is fetched yet */
	bool producer_stale; /* must be renewed before the next transaction */
	struct fetched intake;
	struct batch *next;	      /* being taken */
	struct batch *sent;	      /* in Postgres, or nothing of it is due; NULL between turns */
	struct batch *prev;	      /* settled, waiting for its transaction */
	struct batch *spare[BATCHES]; /* cleared, for their memory */
	size_t n_spare;
	struct batch *donor; /* landed; its new entries are replayed from memory */
	struct replay_reader reader;
	struct rate replay_rate;
	size_t replay_room; /* replays that the next batch may hold */
	struct breaker breaker;
	bool sink_busy; /* a call is in flight */
	bool probing;	/* and it is a probe outside a batch */
	bool contract_missing;
	bool contract_verified; /* Postgres has answered once, and the functions were there */
	int64_t call_us;	/* steady: when the call in flight was sent */
	struct histogram sink_call, transaction;
	struct loop_stats stats;
	int64_t away_since_us; /* steady: Kafka has not let a turn through since; 0: it has */
	int64_t trimmed_us, reported_us; /* steady */
	struct loop_stats reported;
	_Atomic int64_t ticked_us; /* steady; read by any thread */
	_Atomic bool stopping;	   /* set by any thread */
	bool done;
};

/* Logs one event; never a payload. */
__attribute__((format(printf, 4, 5))) void loop_report(
	struct loop *l, char level, const char *event, const char *fmt, ...);
/* The same about a record. */
__attribute__((format(printf, 5, 6))) void loop_report_at(struct loop *l, char level,
	const char *event, const struct record_place *at, const char *fmt, ...);
/* Borrows from the message. */
struct record_place loop_place(const struct loop *l, const struct log_message *m);
/* Says that the loop is alive. */
void loop_tick(struct loop *l);
/* A batch for reuse; NULL is fine. */
void loop_recycle(struct loop *l, struct batch *b);
/*
 * Serves the group for so long without taking anything. ERR_INTERRUPTED where its members have
 * changed.
 */
MUST_CHECK int loop_poll_group(struct loop *l, int timeout_ms, struct err *err);

/* restore.c: the one way to certain tickets and positions (README, "How it recovers"). */
MUST_CHECK int restore(struct loop *l, struct err *err);
/* Inbox drained: fetch the sources too. */
MUST_CHECK int restore_finish_inbox(struct loop *l, struct err *err);
/* Fetches all that may be taken: at first only inboxes, and nothing that waits for a schema. */
MUST_CHECK int loop_assign(struct loop *l, struct err *err);
void owned_free(struct owned *o);
/* The position of a source in o's checkpoint as taken; 0 where it has none yet. Borrowed. */
int64_t *owned_source(struct owned *o, struct slice topic, int32_t partition);

/* take.c: has schemas come; what waited for one that has goes on. */
MUST_CHECK int resolve(struct loop *l, struct err *err);
/* Fills l->next from due entries, inbox and sources. */
MUST_CHECK int take(struct loop *l, struct err *err);
/* Whether its next dead letter waits for a schema. */
bool loop_waits(const struct loop *l, int topic, int32_t partition);
/* The position of an assigned partition; NULL where it is not. */
struct log_position *loop_position(struct loop *l, int topic, int32_t partition);
/* Forgets what was fetched and not taken. */
void loop_release_fetched(struct loop *l);

/* deliver.c: brings l->sent's due reads to Postgres. */
MUST_CHECK int deliver_start(struct loop *l, struct err *err);
MUST_CHECK int deliver_finish(struct loop *l, struct err *err);
MUST_CHECK int deliver_watch(struct loop *l, struct err *err); /* the breaker's probe */
bool deliver_possible(const struct loop *l);

/* land.c: writes l->prev in one transaction and applies it to the tickets. */
MUST_CHECK int land(struct loop *l, struct err *err);

/* plan.c: turns what b has decided into the records and offsets to write. */
void plan_seal(struct loop *l, struct batch *b);

#endif

/*
 * loop.h: the worker's loop: from dead letters to rows, one straight line.
 *
 *   resolve (schemas) -> take (sources, inbox, due entries) -> send to Postgres -> its result ->
 * settle -> land in one Kafka transaction -> tickets
 *
 * Pure of I/O but for the seams; the simulator runs this very code. One thread.
 */
#ifndef WORKER_LOOP_H
#define WORKER_LOOP_H

#include "breaker.h"
#include "clock.h"
#include "dead_letter.h"
#include "histogram.h"
#include "log.h"
#include "schemas.h"
#include "settle.h"
#include "sink.h"

struct loop_stats;

/* Which record a notice is about. Never its payload. */
struct record_place {
	struct slice topic; /* null: none */
	int32_t partition;
	int64_t offset;
	struct slice key; /* null: not known */
};

/* What the loop tells people: one event. Everything is borrowed. */
struct notice {
	char level;	  /* 'E' error, 'W' warning, 'I' information */
	const char *name; /* short and fixed */
	const char *text;
	struct record_place at;
	const struct loop_stats *stats; /* of a pass; else NULL */
};

/* worker/report.c writes log lines, the simulator counts. */
struct report;
struct report_ops {
	void (*event)(struct report *, const struct notice *);
};
struct report {
	const struct report_ops *ops;
};

struct loop_config {
	char **topics; /* names by topic number, see log.h; borrowed */
	size_t n_topics;
	int32_t partitions; /* N */
	const char *group_id;
	const char *key_rule_text;  /* key.from as configured */
	struct decode_rules decode; /* without a source of schemas */
	struct replay_rules replay;
	bool replay_auto;
	uint64_t replay_max_rate; /* a second; 0: no limit */
	size_t live_max;	  /* tickets, then intake pauses */
	size_t batch_max_records, batch_max_bytes;
	int batch_wait_ms;
	bool until_idle;
	int64_t until_idle_patience_us; /* without Kafka, Postgres or schemas; 30 s */
};

/* Counters since start, of what has landed. Disjoint but for intake. */
struct loop_stats {
	uint64_t committed, duplicate, requeued, parked, merged, seen, intake;
	uint64_t queued; /* new entries */
	uint64_t handed_over, redriven, gaps;
	uint64_t gap_offsets; /* what the gaps passed over */
	uint64_t batches;
	uint64_t parked_at_intake; /* of parked: never queued, or parked by a dead letter */
	uint64_t parked_by_cause[CAUSE_COUNT];
};

/* Why a worker is not ready, as bits. */
enum {
	NOT_JOINED = 1,
	NOT_RESTORED = 2,
	NOT_VERIFIED = 4,     /* Postgres has not answered a first probe */
	CONTRACT_MISSING = 8, /* it has, but cannot be called */
};
#define NOT_READY_BITS 4

/* The loop's state for people, as of the end of a turn. */
struct loop_view {
	unsigned not_ready; /* 0: ready */
	bool sink_away;	    /* Postgres was asked and did not answer as it must */
	bool schemas_away;  /* so was the registry */
	size_t waiting;	    /* partitions that wait for a schema or an original */
	bool restoring;
	uint64_t restore_read, restore_left; /* records since start, and still to read now */
	int64_t restore_us;		     /* how long the last one took */
	const struct histogram *sink_call, *transaction;
};

struct loop;

/* Everything is borrowed for the loop's life. */
struct loop *loop_new(const struct loop_config *config, struct log *log, struct sink *sink,
	struct schemas *schemas, struct clock *clock, struct report *report);
void loop_free(struct loop *l);

/*
 * One turn of the loop. 0: go on. ERR_UNREACHABLE is dealt with inside but for until_idle's
 * patience. Others are final: the process must end, whatever was open is in the log's hands.
 */
MUST_CHECK int loop_step(struct loop *l, struct err *err);

/* Asks for the end: loop_step finishes what is open, leaves the group; then loop_done is true.
 * Any thread, and async-signal-safe. */
void loop_stop(struct loop *l);
/* Stopped, or idle with until_idle. */
bool loop_done(const struct loop *l);

const struct loop_stats *loop_stats(const struct loop *l);
struct loop_view loop_view(const struct loop *l);
/* Steady, of the loop's clock: when it last moved. It does so while it waits for Postgres, but not
 * inside a Kafka transaction, which ends by kafka.transaction.timeout.ms. Any thread. */
int64_t loop_ticked_us(const struct loop *l);
/* The partitions owned and restored now, for tests and metrics: NULL where number is not owned. */
const struct partition *loop_partition(const struct loop *l, int32_t number);

#endif

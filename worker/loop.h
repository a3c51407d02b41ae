/*
 * loop.h: the worker's loop: from dead letters to rows, one straight line.
 *
 *   take (sources, inbox, due entries) -> send to Postgres -> its result -> settle -> land in
 *     one Kafka transaction -> tickets
 *
 * Pure of I/O but for the seams; the simulator runs this very code. One thread.
 */
#ifndef WORKER_LOOP_H
#define WORKER_LOOP_H

#include "breaker.h"
#include "clock.h"
#include "dead_letter.h"
#include "log.h"
#include "settle.h"
#include "sink.h"

/* What the loop tells people; worker/report.c writes log lines, the simulator counts. */
struct report;
struct report_ops {
	/* level: 'E' error, 'W' warning, 'I' information. event: a short fixed name. */
	void (*event)(struct report *, char level, const char *event, const char *text);
};
struct report {
	const struct report_ops *ops;
};

struct loop_config {
	char **topics; /* names by topic number, see log.h; borrowed */
	size_t n_topics;
	int32_t partitions; /* N */
	const char *group_id;
	const char *key_rule_text; /* key.from as configured */
	struct decode_rules decode;
	struct replay_rules replay;
	bool replay_auto;
	uint64_t replay_max_rate; /* a second; 0: no limit */
	size_t live_max;	  /* tickets, then intake pauses */
	size_t batch_max_records, batch_max_bytes;
	int batch_wait_ms;
	bool until_idle;
	int64_t until_idle_patience_us; /* without Postgres; 30 s */
};

/* Counters since start, of what has landed. Disjoint but for intake. */
struct loop_stats {
	uint64_t committed, duplicate, requeued, parked, merged, seen, intake;
	uint64_t queued; /* new entries */
	uint64_t handed_over, redriven, gaps;
	uint64_t parked_at_intake; /* of parked: never queued, or parked by a dead letter */
	uint64_t parked_by_cause[CAUSE_COUNT];
};

struct loop;

/* Everything is borrowed for the loop's life. */
struct loop *loop_new(const struct loop_config *config, struct log *log, struct sink *sink,
	struct clock *clock, struct report *report);
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
/* The breaker before Postgres. */
enum breaker_state loop_breaker(const struct loop *l);
/* Joined, restored, and the sink's contract not known to be missing. */
bool loop_ready(const struct loop *l);
/* The partitions owned and restored now, for tests and metrics: NULL where number is not owned. */
const struct partition *loop_partition(const struct loop *l, int32_t number);

#endif

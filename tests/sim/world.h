/*
 * world.h: one run: simulated processes, Kafka, Postgres and time, driven by a seed. Everything in
 * it happens in one OS thread and follows from the seed alone.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "broker.h"
#include "clock.h"
#include "coroutine.h"
#include "events.h"
#include "loop.h"
#include "postgres.h"
#include "rng.h"
#include "truth.h"

#include <stdio.h>

struct options {
	unsigned steps;	      /* loop steps before the faults stop */
	unsigned letters_max; /* 0: by the seed */
	bool verbose;
	bool without[SIM_EVENT_COUNT]; /* faults that are off */
};

/* What the seed decided for the whole run. */
struct setup {
	int32_t n; /* DLQ partitions */
	size_t sources;
	int32_t source_partitions[SOURCE_TOPICS_MAX];
	size_t identities;   /* processes that should run */
	bool static_members; /* group.instance.id */
	bool stable_transactional_id;
	int64_t compaction_lag_us;
	unsigned letters;
	char *topics[TOPICS_MAX];
	struct loop_config loop;
};

/* The ids of the simulated registry's schemas; the last one is not there. */
#define SCHEMA_IDS 5
#define SCHEMA_MISSING 4
/* Letters, any of which may be a pointer: to the record of this topic at the letter's number. */
#define ORIGINALS_MAX 64
#define ORIGINALS_TOPIC "reads"

/* What a process knows of one. */
struct asked_schema {
	enum { SCHEMA_NOT_ASKED = 0, SCHEMA_ASKED, SCHEMA_ANSWERED } state;
	int64_t answer_us;
};

enum process_state { PROCESS_NONE = 0, PROCESS_RUNNING, PROCESS_ENDED };

/* One simulated worker process. */
struct process {
	struct log log;
	struct sink sink;
	struct schemas schemas;
	struct clock clock;
	struct report report;

	struct world *world;
	size_t index; /* in world.processes */
	size_t identity;
	uint32_t serial; /* of this life */
	enum process_state state;
	struct coroutine *coroutine;
	struct loop *loop;
	bool dead;	 /* crashed: every call answers ERR_CRASH */
	int64_t wake_us; /* runs again then */
	int64_t paused_until_us;
	uint64_t steps;
	bool asked_to_stop;
	int64_t idle_us; /* when its last step but one began */

	/* group */
	bool joined, has_assignment, revoking;
	uint32_t member_id;
	int32_t view_generation, meta_generation;
	uint32_t meta_member;
	struct log_position assignment[PARTS_MAX];
	size_t n_assignment;

	/* reading */
	struct log_position fetching[PARTS_MAX];
	size_t n_fetching;
	uint32_t fetch_session; /* a number for every restore: after it nothing fetched before
				   counts */
	struct log_range ranges[PARTS_MAX];
	int64_t range_pos[PARTS_MAX];
	size_t n_ranges;

	/* transaction */
	struct producer *producer;
	int32_t epoch; /* of the producer as this process knows it */
	bool has_producer;
	struct txn_counts landed; /* what its landed transactions did */

	struct sql_call call;

	struct asked_schema asked[SCHEMA_IDS];
	struct asked_schema originals[ORIGINALS_MAX]; /* by the number of the letter */
	int64_t schemas_away_us; /* since when it waits in vain; 0: it does not */

	/* checker */
	int64_t restore_began[N_MAX]; /* world.calls; -1: not in this life */
	int32_t restore_generation[N_MAX];
	uint32_t restore_member[N_MAX];
	uint64_t transactions;
	uint64_t compared[N_MAX]; /* up to which state of the world and of the process */
};

struct marker {
	struct txn *txn;
	size_t part; /* n_parts: the offsets */
	int64_t at_us;
};

struct world {
	uint64_t seed;
	struct options options;
	struct setup setup;
	struct rng schedule, chaos, data;
	bool enabled[SIM_EVENT_COUNT], saw[SIM_EVENT_COUNT];
	bool quiet; /* the faults have stopped */
	int64_t now_us;
	uint64_t calls, steps;
	struct arena arena;

	struct part parts[TOPICS_MAX][PARTITIONS_MAX];
	struct txn *txns; /* newest first */
	uint32_t txn_serial;
	struct producer **producers;
	size_t n_producers, producers_cap;
	struct marker *markers;
	size_t n_markers, markers_cap;
	struct late_end *late_ends;
	size_t n_late_ends, late_ends_cap;
	int64_t next_due_us; /* of markers, late ends, time-outs */
	struct group group;
	int64_t kafka_away_until_us, schemas_away_until_us;

	struct postgres postgres;
	struct truth truth;
	unsigned letters_left;

	struct process processes[PROCESSES_MAX];
	uint32_t process_serial, fetch_sessions;
	int64_t restart_us[PROCESSES_MAX]; /* per identity */
	enum { OPERATOR_AWAY, OPERATOR_STOPPING } operator;
	bool operator_forgets;

	/* The checker's view of what was decided. */
	int64_t offsets[TOPICS_MAX][PARTITIONS_MAX];
	int64_t inbox_applied[N_MAX];
	int64_t taken_to[N_MAX][SOURCE_TOPICS_MAX][PARTITIONS_MAX]; /* checkpoints */
	uint64_t decided;					    /* transactions */
	char violation[1024];
};

/* --- world.c --- */

void world_run(struct world *w, uint64_t seed, const struct options *options);
struct world *world_new(void);
void world_free(struct world *w);
/* An array of the world with room for one more; memory lasts for the run. */
void *world_grow(void *v, size_t n, size_t *cap, size_t size);
struct slice world_dup(struct world *w, struct slice s);
/* Whether this fault strikes now. */
bool world_fault(struct world *w, enum event fault);
static inline void world_saw(struct world *w, enum event e)
{
	w->saw[e] = true;
}
/* Time passes, and what has come due happens. */
void world_pass(struct world *w, int64_t us);
/* Between two things that can happen: faults that do not hang on one call. */
void nemesis(struct world *w);
/* The faults stop, and the world heals. */
void nemesis_stop(struct world *w);

__attribute__((format(printf, 2, 3))) void trace_line(struct world *w, const char *fmt, ...);
#define trace(w, ...)                                                                              \
	do {                                                                                       \
		if ((w)->options.verbose)                                                          \
			trace_line(w, __VA_ARGS__);                                                \
	} while (0)
/* A promise is broken: the first one is kept and ends the run. promise: "P5", "P12", ... */
__attribute__((format(printf, 3, 4))) void violate(
	struct world *w, const char *promise, const char *fmt, ...);

static inline struct part *world_part(struct world *w, int topic, int32_t partition)
{
	return &w->parts[topic][partition];
}
/* Partitions of a topic. */
int32_t world_partitions(const struct world *w, int topic);

/* --- process.c --- */

void process_start(struct world *w, size_t identity);
/* SIGTERM. */
void process_stop(struct process *p);
void process_kill(struct world *w, struct process *p);
void process_pause(struct world *w, struct process *p, int64_t us);
struct process *process_by_serial(struct world *w, uint32_t serial);
/* The running one of that identity that is not paused; NULL where there is none. */
struct process *process_of_identity(struct world *w, size_t identity);
size_t processes_running(const struct world *w);
/* Runs one until it yields. */
void process_resume(struct process *p);

/*
 * The beginning of every call of a seam: time passes, anything may happen, others may run.
 * ERR_CRASH: the process died here.
 */
MUST_CHECK int seam_enter(struct process *p, struct err *err);
/* Waits, letting others run. */
MUST_CHECK int seam_wait(struct process *p, int64_t us, struct err *err);

extern const struct log_ops fake_log_ops;
extern const struct clock_ops fake_clock_ops;
extern const struct schemas_ops fake_schemas_ops;
enum log_original fake_original(
	struct log *log, const struct origin *place, struct log_message *ret, const char **ret_why);
int fake_fetch_originals(struct log *log, int timeout_ms, bool *ret_news, struct err *err);
int fake_transact(struct log *log, struct log_record *v, size_t n,
	const struct log_position *offsets, size_t n_offsets, struct log_end *ret, struct err *err);
int fake_renew_producer(struct log *log, struct err *err);
/* ERR_UNREACHABLE where Kafka is away or this call is lost. */
MUST_CHECK int fake_log_reach(struct process *p, struct err *err);

/* --- generator.c --- */

void generate_setup(struct world *w);
/* Writes up to n more dead letters. */
void generate_letters(struct world *w, unsigned n);

/* --- checker.c, check_txn.c, check_end.c --- */

/* The transaction has just been decided: commit. */
void check_decided(struct world *w, struct txn *t);
/* Every dead letter below the committed offsets is somewhere. */
void check_conservation(struct world *w);
/* A loop step of p has ended: tickets, counters. */
void check_step(struct process *p);
void check_restore_begins(struct process *p, int topic, int32_t partition);
/* What Postgres answers to a process: promise 9. */
void check_answer(struct process *p, const struct sql_call *c);
void check_begins(struct process *p);
void check_idle(struct process *p);
/* Finds the truth of what is sent into ret[0..n). */
void check_sent(struct process *p, enum sink_call_kind kind, const struct meter_read *const *reads,
	size_t n, struct read **ret);
/* p drops what it has open, and forgets what Postgres has told it of that. */
void check_dropped(struct process *p);
void check_trim(struct process *p, int topic, int32_t partition, int64_t offset);
void check_rewound(struct world *w);
/* Everything that can be done is done. */
bool check_drained(const struct world *w);
/* The earliest due entry; INT64_MAX for none. */
int64_t check_next_due(const struct world *w);
void check_end(struct world *w);
struct letter *truth_letter(struct world *w, struct slice topic, int32_t partition, int64_t offset);

#endif

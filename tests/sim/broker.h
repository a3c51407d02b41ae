/*
 * broker.h: the simulated Kafka, as far as the promises can see it: logs with transactions whose
 * markers arrive late, the transaction coordinator, the group coordinator and its offsets.
 */
#ifndef SIM_BROKER_H
#define SIM_BROKER_H

#include "log.h"
#include "truth.h"

#define N_MAX 3
#define SOURCE_TOPICS_MAX 2
#define TOPICS_MAX (TOPIC_SOURCE + SOURCE_TOPICS_MAX)
#define PARTITIONS_MAX 4
#define PARTS_MAX (TOPICS_MAX * PARTITIONS_MAX)
#define SESSION_US (15 * 1000000ll)
#define TXN_TIMEOUT_US (15 * 1000000ll)
#define REBALANCE_US (20 * 1000000ll)
#define DELETE_RETENTION_US (7 * 86400 * 1000000ll)

struct world;
struct process;

enum entry_kind {
	ENTRY_RECORD,
	ENTRY_MARKER,
	ENTRY_REMOVED, /* by compaction */
};
struct entry {
	enum entry_kind kind;
	struct slice key, value;
	int64_t timestamp_ms;
	struct txn *txn;       /* NULL: not transactional */
	struct letter *letter; /* sources; inbox: filled in when its transaction is decided */
	int64_t cleaned_us;    /* tombstones: when the cleaner saw it first; 0: not yet */
	bool foreign_aborted;  /* sources: an upstream's aborted record */
};

struct open_txn {
	struct txn *txn;
	int64_t first;
};
#define OPEN_MAX 32

/* A partition's log; the offset is the index. */
struct part {
	int topic;
	int32_t number;
	struct entry *v;
	size_t n, cap;
	int64_t low;
	struct open_txn open[OPEN_MAX]; /* no marker yet */
	size_t n_open;
};

int64_t part_append(struct world *w, struct part *p, const struct entry *e);
/* Last stable offset. */
int64_t part_lso(const struct part *p);
/* The first record at or after *pos that a read_committed reader sees, below limit and LSO; else
 * -1, and *pos is as far as it got. */
int64_t part_next(const struct part *p, int64_t *pos, int64_t limit);
/* One pass of the log cleaner over a DLQ partition. */
void part_compact(struct world *w, struct part *p);

/* --- the transaction coordinator (coordinator.c) --- */

enum txn_state { TXN_OPEN, TXN_COMMITTED, TXN_ABORTED }; /* decided; markers follow */
struct txn_part {
	struct part *part;
	bool marked;
};
struct txn_record {
	struct part *part;
	int64_t offset;
};
/* What the checker counts of a decided transaction, to compare with the loop's own counters. */
struct txn_counts {
	unsigned intake, left, requeued, parked, redriven, handed_over;
	unsigned queued, parked_at_intake;
	unsigned taken;	      /* dead letters, those handed over not among them */
	unsigned parked_with; /* of taken: went with another of the same read that was parked */
	unsigned parked_by_cause[CAUSE_COUNT];
};
struct txn {
	struct txn *next;
	uint32_t serial;
	uint32_t by;	 /* serial of the process */
	uint32_t member; /* its membership, in the order of joining */
	struct producer *producer;
	int32_t epoch;
	enum txn_state state;
	bool complete; /* all markers written */
	struct txn_part parts[PARTS_MAX];
	size_t n_parts;
	struct txn_record *records;
	size_t n_records, records_cap;
	struct log_position offsets[PARTS_MAX];
	size_t n_offsets;
	bool offsets_marked;
	int32_t generation;
	uint32_t fetch_session; /* in which its dead letters were fetched */
	int64_t begin_us;
	uint64_t begin_call;
	struct txn_counts counts;
};

struct producer {
	int32_t epoch;
	uint32_t holder; /* serial of the process that made it last */
	struct txn *txn; /* the last one; may be complete */
};

/* A late EndTxn on its way. */
struct late_end {
	struct producer *producer;
	int32_t epoch;
	int64_t at_us;
};

/* Starts a transaction; NULL where the epoch is no longer valid. The one before is complete. */
struct txn *txn_begin(struct world *w, struct process *p);
void txn_append(struct world *w, struct txn *t, struct part *part, const struct entry *e);
void txn_decide(struct world *w, struct txn *t, bool commit);
/* Time-outs, markers, late EndTxn: whatever has come due. */
void coordinator_run(struct world *w);
void coordinator_late_end(struct world *w, struct process *p, int64_t delay_us);
/* The epoch bump of InitProducerId; false: a transaction is not complete yet, ask again. */
bool coordinator_init(struct world *w, struct process *p);
/* Whether a transaction has offsets for the partition that are not visible yet. */
bool offsets_pending(const struct world *w, int topic, int32_t partition);

/* --- the group coordinator (group.c) --- */

#define MEMBERS_MAX 8
struct member {
	struct process *process;
	uint32_t process_serial;
	size_t identity;
	uint32_t id;	   /* new for every join */
	bool rejoined;	   /* in the rebalance under way */
	bool assigned;	   /* has an assignment of this generation to fetch */
	int64_t silent_us; /* since when its process sends no heartbeat; 0: it does */
};
struct group {
	struct member members[MEMBERS_MAX];
	size_t n;
	int32_t generation;
	bool preparing;
	int64_t prepare_us;
	uint32_t last_id;
	int64_t committed[TOPICS_MAX][PARTITIONS_MAX]; /* visible; -1: none */
	uint32_t owner[TOPICS_MAX][PARTITIONS_MAX];    /* serial of the process; 0: none */
};

struct member *group_member(struct world *w, const struct process *p);
void group_join(struct world *w, struct process *p);
void group_leave(struct world *w, struct process *p);
void group_prepare(struct world *w, const char *why);
/* Sessions, and the end of a rebalance. */
void group_run(struct world *w);

#endif

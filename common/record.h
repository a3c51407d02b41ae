/*
 * record.h: the values of our topics as plain data. Slices are borrowed from the bytes they were
 * decoded from, or from the arena of the batch that made them. Times are microseconds since 1970.
 */
#ifndef COMMON_RECORD_H
#define COMMON_RECORD_H

#include "slice.h"

enum reason {
	REASON_RETRIES_EXHAUSTED = 0, /* transient budget spent upstream */
	REASON_PERMANENT_4XX = 1,     /* contract breach: will never heal */
	REASON_POISON = 2,	      /* keeps failing on replay */
};
#define REASON_COUNT 3
const char *reason_name(enum reason r); /* "retries_exhausted", ... */
bool reason_parse(struct slice name, enum reason *ret);

enum cause {
	CAUSE_POISON_CAP = 0,
	CAUSE_PERMANENT = 1,
	CAUSE_MALFORMED = 2,
	CAUSE_CONFLICT = 3,
	CAUSE_EXPIRED = 4,
	CAUSE_ORIGINAL_GONE = 5,
	CAUSE_OVERSIZE = 6,
	CAUSE_OPERATOR = 7,
};
#define CAUSE_COUNT 8
const char *cause_name(enum cause c);
/* Whether a re-read of its dead letter gives the parked read another round (promise 10). */
bool cause_reopens(enum cause c);

enum parked_event { EVENT_PARKED = 0, EVENT_REDRIVEN = 1, EVENT_RESOLVED = 2 };
const char *parked_event_name(enum parked_event e);

/* A place in the log. topic is null where there is none. */
struct origin {
	struct slice topic;
	int32_t partition;
	int64_t offset;
};

/* Whether Kafka allows it: letters, digits, '.', '_' and '-', at most 249 of them, not "." or ".."
 * (org.apache.kafka.common.internals.Topic). */
bool topic_name_valid(struct slice name);

/* "topic:partition:offset" as people write it; the topic borrows. False: it is not that. */
bool origin_parse(struct slice text, struct origin *ret);

/* Why it failed last. class is null where there is no error. */
struct record_error {
	struct slice class, code, message;
};
#define RECORD_ERROR_MESSAGE_BYTES 2048
#define RECORD_HEADERS_BYTES (32 * 1024)

/* DeadLetterRecord: one failed read, the value of an entry in the DLQ. */
struct record {
	struct slice idempotency_key;
	struct slice payload; /* the bytes that arrived; null for a tombstone */
	struct slice headers; /* encoded, see headers_* in codec.h */
	enum reason reason;
	uint32_t attempts;	   /* total deliveries and failed replays, >= 1 */
	int64_t first_seen_us;	   /* never later within one stay */
	int64_t last_seen_us;	   /* most recent failure */
	int64_t due_us;		   /* not replayed before */
	int64_t upstream_attempts; /* -1: null */
	uint32_t replays;	   /* failed ones */
	struct slice record_key;   /* the dead letter's own key */
	struct origin origin;	   /* where the read itself came from */
	struct origin dead_letter; /* the dead letter last merged */
	struct record_error error;
	uint64_t content;     /* content hash */
	uint32_t headers_cut; /* bytes of headers that did not fit the bound */
	uint32_t error_cut;   /* bytes of error text that did not fit the bound */
};

/* ParkedRecord: an event in the append-only parked topic. */
struct parked {
	struct record entry;
	enum parked_event event;
	enum cause cause;
	int64_t at_us;
	struct slice by, note, ref; /* who, why, ticket number; null where not given */
	struct slice committed;	    /* CONFLICT: the committed row's content as JSON; else null */
};
/* A larger row is not shown: only how many bytes it has. */
#define PARKED_COMMITTED_BYTES (32 * 1024)

/* What is left of the payload of a dead letter that our topics cannot hold. */
struct oversize {
	struct slice message; /* its size and SHA-256; null: it is not oversize */
	uint64_t content;     /* content hash */
};

/* InboxRecord: a dead letter that another worker took in for the owner of its key. */
struct inbox {
	struct origin dead_letter;
	int64_t seen_us; /* its failure time, see dead_letter_seen_us() */
	/* As they arrived, headers encoded; of an oversize one as in its record. */
	struct slice record_key, payload, headers;
	uint32_t headers_cut;
	struct oversize oversize;
};

/* How far dead letters of one source partition have been taken into one DLQ partition. */
struct source_position {
	struct slice topic;
	int32_t partition;
	int64_t offset; /* after the last dead letter taken in */
};

/* Checkpoint: one per DLQ partition, under KEY_CHECKPOINT. */
struct checkpoint {
	int32_t partitions; /* N */
	struct slice group_id;
	struct slice key_rule; /* key.from as configured */
	int64_t inbox_offset;  /* the next inbox record to apply */
	struct source_position *sources;
	size_t n_sources;
};
#define CHECKPOINT_SOURCES_MAX 100000

/* True if null. */
static inline bool origin_is_null(struct origin o)
{
	return slice_is_null(o.topic);
}

#endif

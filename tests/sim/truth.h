/*
 * truth.h: what the generator knows of every dead letter it writes, and what the checker has seen
 * become of every read. Nothing in here was computed by the code under test.
 */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include "codec.h"
#include "record.h"

#define CONTENTS_MAX 3
#define PROCESSES_MAX 5
#define LIVES_KEPT 32u

enum read_nature {
	NATURE_GOOD,
	NATURE_POISON,	/* its row always fails, with a record class */
	NATURE_FLAKY,	/* now and then; good once the faults have stopped */
	NATURE_KILLER,	/* its backend dies */
	NATURE_TIMEOUT, /* its statement times out */
	NATURE_HEAVY,	/* its statement fails with an outage class: out of memory */
};

/* What a process has been told of a read since its last transaction that touched it. */
enum evidence {
	EVIDENCE_NONE = 0,
	EVIDENCE_SUSPECT,
	EVIDENCE_FAILED,
	EVIDENCE_ROW,
	EVIDENCE_CONFLICT
};

/* An entry or parked record as it was last decided. */
struct held {
	int64_t offset;
	uint32_t attempts, replays;
	int64_t first_us, last_us, due_us;
	enum reason reason;
	struct letter *letter; /* the dead letter last merged */
};

/* One read: a key and a content. What cannot be understood is a read of its own. */
struct read {
	struct meter_key *key;
	struct letter *letters;		    /* newest first */
	const char *kwh_value;		    /* "12.5": without trailing zeros */
	const char *reading_type, *quality; /* may be NULL */
	enum read_nature nature;
	bool unfit; /* malformed or oversize */
	enum cause unfit_cause;
	uint64_t content; /* the worker's hash; 0: not seen yet */

	/* As decided by transactions. */
	bool live, parked;
	bool suffixed; /* LIVE: the form of its DLQ key */
	struct held entry;
	struct held stub; /* the last parked event */
	enum cause cause;

	/* Per process, by its serial modulo LIVES_KEPT; see evidence_of(). */
	struct {
		uint32_t serial;
		enum evidence is;
	} evidence[LIVES_KEPT];

	/* Its statement failed for another read's sake; this process owes it an outcome. */
	uint32_t owed_by;

	/* While one transaction is checked. */
	bool touched;
	unsigned fresh, rereads, fresh_permanent, reread_permanent;
	int64_t taken_first_us, taken_last_us; /* of the fresh ones */
	bool wrote_put, wrote_tombstone;
	bool wrote_parked, wrote_redriven;
	struct held put, event;
	bool put_suffixed;
	enum cause event_cause;
	struct read *next_touched;
};

struct meter_key {
	struct slice text; /* idempotency key; for what is unfit the synthetic one */
	const char *meter_id, *read_at;
	int64_t read_at_us, sequence;
	int32_t partition; /* of DLQ, inbox and parked topic */
	struct read *contents[CONTENTS_MAX];
	size_t n_contents;
	struct read *row; /* the committed row's content; NULL: none */
};

/* One dead letter, as its upstream wrote it. */
struct letter {
	int topic;
	int32_t partition;
	int64_t offset;
	struct read *read;
	struct letter *next; /* of the same read */
	struct slice record_key, payload;
	const char *kwh; /* the text in the payload; NULL: unfit */
	struct header *headers;
	size_t n_headers;
	bool is_pointer; /* key and payload are in an original, which has no headers */
	bool gone;	 /* pointer: there is none any more */
	struct slice headers_encoded;
	int64_t timestamp_ms;
	bool timestamp_sane; /* else its time is that of its arrival */
	enum reason reason;
	uint32_t fetched_in[4]; /* the sessions in which it was fetched last */
	size_t fetches;
	bool taken;	  /* into a DLQ partition, or handed over */
	bool lost;	  /* to retention, before it was taken */
	unsigned waiting; /* times it is in an inbox, not yet applied */
	/* While one transaction is checked. */
	bool handed, counted;
};

struct truth {
	struct meter_key **keys;
	size_t n_keys, keys_cap;
	struct read **reads;
	size_t n_reads, reads_cap;
	struct letter **letters;
	size_t n_letters, letters_cap;
};

static inline enum evidence evidence_of(const struct read *r, uint32_t serial)
{
	return r->evidence[serial % LIVES_KEPT].serial == serial
		       ? r->evidence[serial % LIVES_KEPT].is
		       : EVIDENCE_NONE;
}

static inline void evidence_set(struct read *r, uint32_t serial, enum evidence e)
{
	r->evidence[serial % LIVES_KEPT].serial = serial;
	r->evidence[serial % LIVES_KEPT].is = e;
}

#endif

/*
 * history.h: what DLQ and parked topic still have of some keys: every record, and for each content
 * the last one. One thread.
 */
#ifndef WORKER_HISTORY_H
#define WORKER_HISTORY_H

#include "dictionary.h"
#include "selection.h"

enum history_kind {
	HISTORY_PUT,	   /* an entry came into the queue */
	HISTORY_BUMPED,	   /* it failed again, or came again */
	HISTORY_TOMBSTONE, /* it left the queue: committed, parked or a duplicate */
	HISTORY_PARKED,
	HISTORY_REDRIVEN,
	HISTORY_RESOLVED,
};
const char *history_kind_name(enum history_kind kind);

struct history_event {
	enum history_kind kind;
	size_t key;    /* number */
	size_t before; /* the key's event before it; see struct history_key */
	int topic;
	int32_t partition;
	int64_t offset, timestamp_ms;
	bool suffixed, has_content; /* of a tombstone that of the entry, where it is still there */
	uint64_t content;
	uint32_t attempts, replays;
	enum reason reason;
	enum cause cause; /* of the parked topic's events */
};

enum history_state {
	HISTORY_LIVE,
	HISTORY_IS_PARKED,
	HISTORY_IS_RESOLVED,
	HISTORY_GONE, /* neither: it was committed, or removed */
};
const char *history_state_name(enum history_state state);

/* One content of a key. */
struct history_read {
	size_t key;
	size_t next; /* of the same key; see struct history_key */
	uint64_t content;
	enum history_state state;
	bool event_is_last; /* what record holds is an event of the parked topic */
	struct buf record;  /* encoded: the one that stands for it, else the newest */
	int64_t last_us;
};

/* By the number of a key: the last of its events while they are loaded, the first of its reads;
 * number + 1, 0 is none. */
struct history_key {
	size_t event, read;
};

struct history {
	struct dictionary keys; /* filled by the caller, who sets its seed */
	struct history_key *chains;
	struct history_event *events;
	size_t n_events, cap_events;
	uint64_t events_cut; /* those that did not fit */
	struct history_read *reads;
	size_t n_reads, cap_reads;
};
#define HISTORY_EVENTS_MAX 100000
#define HISTORY_KEYS_MAX 10000

/* Events in the order of their time, reads in that of their last failure. */
MUST_CHECK int history_load(struct history *h, struct selection *s, struct err *err);
void history_free(struct history *h);

#endif

/* settle.h: what an outcome does to an entry. Pure. */
#ifndef COMMON_SETTLE_H
#define COMMON_SETTLE_H

#include "mem.h"
#include "outcome.h"
#include "record.h"

struct replay_rules {
	uint32_t poison_cap;
	int64_t backoff_initial_us, backoff_max_us;
	uint32_t backoff_factor;
	int64_t expire_after_us;
};

enum settle_action {
	SETTLE_KEEP,  /* an outage: as it was */
	SETTLE_LEAVE, /* its row exists: tombstone */
	SETTLE_PUT,   /* failed: the record's next version */
	SETTLE_PARK,  /* parked with cause, and a tombstone */
};

struct settle {
	enum settle_action action;
	enum cause cause;	     /* PARK */
	const struct record *record; /* PUT, PARK: the version to write: r, or of the arena */
};

/* The result borrows from r, outcome and the arena. */
struct settle settle_outcome(struct arena *a, const struct replay_rules *rules,
	const struct record *r, const struct outcome *outcome, int64_t now_us);

/* Both its last failure and its due time are older than expire.after. */
bool settle_expired(
	const struct replay_rules *rules, int64_t last_us, int64_t due_us, int64_t now_us);

/* One more failed attempt: nothing is lowered, last_seen = max(now, last_seen). */
void record_bump(struct record *r, enum reason reason, int64_t now_us);

/* Delay before the next replay after the replays-th failed one (1 = first): half of
 * initial * factor^(replays-1) (at most max), and up to half more by the key's murmur2. */
int64_t replay_backoff_us(const struct replay_rules *rules, uint32_t replays, struct slice key);

#endif

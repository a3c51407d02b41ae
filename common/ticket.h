/*
 * ticket.h: what memory holds of live entries and parked reads: one ticket each, no payloads.
 * One `struct tickets` per owned DLQ partition. The loop's thread only.
 */
#ifndef COMMON_TICKET_H
#define COMMON_TICKET_H

#include "hash.h"
#include "mem.h"
#include "record.h"

enum ticket_state {
	TICKET_LIVE = 1,     /* a record in the DLQ; offset is that record's */
	TICKET_PARKED = 2,   /* last event parked; offset is that event's in the parked topic */
	TICKET_RESOLVED = 3, /* last event resolved */
};

struct ticket {
	struct key128 key; /* of the idempotency key */
	uint64_t content;
	int64_t offset;
	int64_t first_us, last_us;
	int64_t due_us; /* PARKED, RESOLVED: when that happened */
	uint32_t attempts;
	uint16_t replays;      /* saturates */
	uint8_t state : 2;     /* enum ticket_state */
	uint8_t reason : 2;    /* enum reason */
	uint8_t suffixed : 1;  /* LIVE: its DLQ key is the one with the content hash */
	uint8_t in_memory : 1; /* LIVE: its payload is still at hand; not part of equality */
	uint8_t waits : 1;     /* LIVE: for the schema of its payload; not part of equality */
	uint8_t : 1;
	uint8_t cause; /* PARKED, RESOLVED: enum cause */
};
_Static_assert(sizeof(struct ticket) == 64, "a ticket is 64 bytes (promise 16)");

/*
 * A multiset: for one (key, content) there may be a LIVE ticket and one of PARKED or RESOLVED, the
 * first from the DLQ and the second from the parked topic; so folding the two topics in any order
 * gives the same tickets. Tickets lie in chunks that never move; a pointer to one is valid until
 * it is removed.
 */
#define TICKETS_MAX 33000000u

struct tickets {
	struct ticket **chunks;
	size_t n_chunks;
	uint32_t *index; /* open addressing; 0 = empty */
	uint32_t index_mask;
	uint32_t used;	    /* tickets in the chunks, free ones included */
	uint32_t free_head; /* number + 1 of the first free one; 0 = none */
	uint32_t live, parked, resolved;
	uint64_t changes; /* puts and removals so far */
};

void tickets_free(struct tickets *t);

/* The live one where there is one, else the parked or resolved one, else NULL. */
struct ticket *tickets_find(const struct tickets *t, struct key128 key, uint64_t content);
/* The one from that topic alone. live: LIVE; else PARKED or RESOLVED. */
struct ticket *tickets_find_from(
	const struct tickets *t, struct key128 key, uint64_t content, bool live);
/* The live one with the plain (or the suffixed) DLQ key, whatever its content; NULL if none. */
struct ticket *tickets_find_plain(const struct tickets *t, struct key128 key);

/* Sets the ticket of (key, content, live or not) to *value, adding it if it is new. */
struct ticket *tickets_put(struct tickets *t, const struct ticket *value);
void tickets_remove(struct tickets *t, struct ticket *victim);

/* All tickets in no order: start with *pos = 0; NULL at the end. No changes meanwhile. */
struct ticket *tickets_next(const struct tickets *t, size_t *pos);

size_t tickets_count(const struct tickets *t);
size_t tickets_bytes(const struct tickets *t); /* memory held */

/* Same state and numbers, in_memory aside. */
bool ticket_eq(const struct ticket *a, const struct ticket *b);

#endif

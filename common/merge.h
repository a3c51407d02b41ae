/* merge.h: what a dead letter does to the queue. Pure functions on tickets. */
#ifndef COMMON_MERGE_H
#define COMMON_MERGE_H

#include "dead_letter.h"
#include "ticket.h"

enum merge_action {
	MERGE_NEW,     /* a new entry */
	MERGE_BUMP,    /* one more attempt of a live entry */
	MERGE_REDRIVE, /* a parked read gets another round: event redriven, and an entry */
	MERGE_SEEN,    /* counted, changes nothing */
	MERGE_PARK,    /* parked without a replay (permanent, malformed, oversize) */
};

struct merge {
	enum merge_action action;
	struct ticket ticket; /* as it will be, but for offset and, of a new one, suffixed */
	bool was_live;	      /* PARK: its entry needs a tombstone */
};

/*
 * existing: the ticket of the same key and content, or NULL. d: a dead letter just taken in.
 * reread: it lies below its source's position in the checkpoint, so it changes no counter.
 */
struct merge merge_dead_letter(
	const struct ticket *existing, const struct decoded *d, struct key128 key, bool reread);

/*
 * The result of two dead letters of the same key and content in one batch: first as merged into
 * what was there, then second as merged into first.ticket.
 */
struct merge merge_combine(const struct merge *first, const struct merge *second);

/* Puts the ticket's counters, times and reason into the record of its new version. */
void ticket_to_record(const struct ticket *t, struct record *r);

#endif

/*
 * advice.h: why a read did not go through, and what to do about it, in plain words: one table, for
 * commands, alerts and whoever else tells people. Pure; any thread.
 */
#ifndef COMMON_ADVICE_H
#define COMMON_ADVICE_H

#include "mem.h"
#include "record.h"

/* What is known: the cause of a parked read, class and code of the last error (null: none). */
struct advice_subject {
	bool parked;
	enum cause cause; /* parked */
	struct slice class, code;
};

/* Clauses without a full stop; literals or in the arena. */
struct advice {
	const char *why;
	const char *next;
};

/*
 * Always finds something to say. The cause decides where it says enough (malformed, conflict, ...);
 * else the error: SQLSTATE, HTTP status, class of the exception, in this order. What to do depends
 * on whether the read is tried again by itself, waits parked, or can only be corrected.
 */
struct advice advice_for(struct arena *a, const struct advice_subject *s);

#endif

/*
 * filter.h: which live entries and parked reads a command is about: the flags from --key to
 * --older-than. Pure; any thread.
 */
#ifndef COMMON_FILTER_H
#define COMMON_FILTER_H

#include "config.h"
#include "read_view.h"

/* Patterns, one of which must fit (glob.h); n 0: anything does. */
struct filter_globs {
	struct slice *v;
	size_t n;
};

/* All must hold. Ranges of time begin with their first and end before their second. */
struct filter {
	struct filter_globs keys, meters, reasons, causes, codes, sources;
	int64_t attempts_min, attempts_max;
	int64_t since_us, until_us; /* last_seen */
	int64_t from_us, to_us;	    /* the read's own time */
	int64_t first_before_us;    /* first_seen */
	bool any;		    /* something is asked for at all */
};

/* Borrows from config and arena. ERR_CONFIG names the flag, and what it takes. */
MUST_CHECK int filter_parse(struct arena *a, const struct config *config, int64_t now_us,
	struct filter *ret, struct err *err);

/*
 * Whether a read is one of them. cause: NULL for a live entry, which no pattern of causes fits. A
 * read whose meter or own time is not known fits no pattern or range of these.
 */
bool filter_match(const struct filter *f, const struct record *r, const enum cause *cause,
	const struct read_view *view);

#endif

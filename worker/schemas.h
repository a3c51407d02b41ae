/*
 * schemas.h: the seam to where schemas come from. worker/schema_registry.c is the real one; the
 * simulator has its own. All calls from the loop's thread.
 */
#ifndef WORKER_SCHEMAS_H
#define WORKER_SCHEMAS_H

#include "err.h"
#include "schema_ref.h"

#include <stdint.h>

struct schemas;
struct schemas_ops {
	/* From memory. SCHEMA_AWAY: not yet; from now on it is being fetched. */
	struct schema_answer (*find)(struct schemas *, const struct schema_ref *ref);
	/*
	 * Moves on what is being fetched, waiting up to timeout_ms for something to move.
	 * *ret_news: one that was away is known now, to be there or not. Negative only for
	 * ERR_CRASH.
	 */
	int (*step)(struct schemas *, int timeout_ms, bool *ret_news, struct err *err);
	/* Steady microseconds: since when nobody answers who is asked; 0: it is well. */
	int64_t (*away_since_us)(struct schemas *);
};
struct schemas {
	const struct schemas_ops *ops;
};

static inline struct schema_answer schemas_find(void *s, const struct schema_ref *ref)
{
	return ((struct schemas *)s)->ops->find(s, ref);
}

/* For struct decode_rules. */
static inline struct schema_source schemas_source(struct schemas *s)
{
	return (struct schema_source){schemas_find, s};
}

#endif

/*
 * sink.h: the seam to Postgres. One call at a time; common/commit.h decides which.
 * worker/sink_pg.c is the real one; the simulator has its own. All calls from the loop's thread.
 */
#ifndef WORKER_SINK_H
#define WORKER_SINK_H

#include "commit.h"
#include "err.h"
#include "meter_read.h"

struct sink;
struct sink_ops {
	/*
	 * Starts a call with these n reads (sorted by key, no key twice; n = 0 for a probe),
	 * connecting first where need be. Does not wait. What goes wrong comes with the result.
	 * reads and what they point to are borrowed until the result is there.
	 */
	void (*send)(struct sink *, enum sink_call_kind kind, const struct meter_read *const *reads,
		size_t n);
	/*
	 * Waits up to timeout_ms (0: only looks) for the result of that call. *ret_done: it is
	 * there, *ret is set, and outcomes[0..n) where ret->class is SQL_OK; texts are in arena.
	 * Every call ends by a deadline of its own. Negative only for ERR_CRASH and ERR_INTERNAL.
	 */
	int (*result)(struct sink *, int timeout_ms, struct arena *arena, struct outcome *outcomes,
		bool *ret_done, struct sink_result *ret, struct err *);
};
struct sink {
	const struct sink_ops *ops;
};

#endif

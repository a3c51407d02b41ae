/* summary.h: what many runs saw, and which failed. Plain data, so that jobs can hand it over. */
#ifndef SIM_SUMMARY_H
#define SIM_SUMMARY_H

#include "world.h"

#define FAILURES_KEPT 20

struct failure {
	uint64_t seed;
	char violation[sizeof(((struct world *)0)->violation)];
};
struct summary {
	uint64_t seeds, steps, calls, decided, passed, failed;
	uint64_t saw[SIM_EVENT_COUNT]; /* seeds */
	struct failure failures[FAILURES_KEPT];
	size_t n_failures;
};

void summary_add(struct summary *s, const struct world *w);
void summary_merge(struct summary *s, const struct summary *other);
/* The last line is "N passed, N failed". Returns how many lines are under 1 % of the seeds. */
unsigned summary_print(const struct summary *s, const struct options *options);

#endif

#include "summary.h"

#include <inttypes.h>

static void keep_failure(struct summary *s, uint64_t seed, const char *violation)
{
	struct failure *f = &s->failures[s->n_failures];

	s->failed++;
	if (s->n_failures == FAILURES_KEPT)
		return;
	f->seed = seed;
	snprintf(f->violation, sizeof(f->violation), "%s", violation);
	s->n_failures++;
}

void summary_add(struct summary *s, const struct world *w)
{
	s->seeds++;
	s->steps += w->steps;
	s->calls += w->calls;
	s->decided += w->decided;
	for (int e = 0; e < SIM_EVENT_COUNT; e++)
		s->saw[e] += w->saw[e];
	if (w->violation[0])
		keep_failure(s, w->seed, w->violation);
	else
		s->passed++;
}

void summary_merge(struct summary *s, const struct summary *other)
{
	s->seeds += other->seeds;
	s->steps += other->steps;
	s->calls += other->calls;
	s->decided += other->decided;
	s->passed += other->passed;
	s->failed += other->failed;
	for (int e = 0; e < SIM_EVENT_COUNT; e++)
		s->saw[e] += other->saw[e];
	for (size_t i = 0; i < other->n_failures && s->n_failures < FAILURES_KEPT; i++)
		s->failures[s->n_failures++] = other->failures[i];
}

static void print_failures(const struct summary *s, const struct options *options)
{
	for (size_t i = 0; i < s->n_failures; i++)
		printf("FAILED seed %" PRIu64 ": %s\n  replay: sim --seed %" PRIu64
		       " --steps %u -v; shorten: sim --shrink %" PRIu64 " --steps %u\n",
			s->failures[i].seed, s->failures[i].violation, s->failures[i].seed,
			options->steps, s->failures[i].seed, options->steps);
	if (s->failed > s->n_failures)
		printf("... and %" PRIu64 " more\n", s->failed - s->n_failures);
}

unsigned summary_print(const struct summary *s, const struct options *options)
{
	unsigned rare = 0;

	printf("%" PRIu64 " seeds, %.0f loop steps a seed, %.0f calls of the seams, "
	       "%.1f transactions\n",
		s->seeds, (double)s->steps / (double)s->seeds, (double)s->calls / (double)s->seeds,
		(double)s->decided / (double)s->seeds);
	for (int e = 0; e < SIM_EVENT_COUNT; e++) {
		double percent = 100.0 * (double)s->saw[e] / (double)s->seeds;
		bool is_rare = percent < 1 && !options->without[e];

		rare += is_rare;
		printf("  %-8s %-58s %8" PRIu64 " %5.1f%%%s\n", event_table[e].kind,
			event_table[e].name, s->saw[e], percent, is_rare ? "  RARE" : "");
	}
	print_failures(s, options);
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", s->passed, s->failed);
	return rare;
}

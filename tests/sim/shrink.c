#include "shrink.h"

#include <inttypes.h>

static bool still_fails(
	struct world *w, uint64_t seed, const struct options *o, const char *promise)
{
	world_run(w, seed, o);
	return w->violation[0] && strncmp(w->violation, promise, strlen(promise)) == 0;
}

/* Faults that it does not need. */
static void drop_faults(struct world *w, uint64_t seed, struct options *o, const char *promise)
{
	for (int e = 0; e < SIM_EVENT_COUNT; e++) {
		if (!event_table[e].rate || o->without[e])
			continue;
		o->without[e] = true;
		o->without[e] = still_fails(w, seed, o, promise);
	}
}

static void drop_letters(struct world *w, uint64_t seed, struct options *o, const char *promise)
{
	struct options smaller = *o;

	for (smaller.letters_max = 1; smaller.letters_max < 50; smaller.letters_max++)
		if (still_fails(w, seed, &smaller, promise)) {
			*o = smaller;
			return;
		}
}

static void drop_steps(struct world *w, uint64_t seed, struct options *o, const char *promise)
{
	for (unsigned by = o->steps / 2; by; by /= 2) {
		struct options smaller = *o;

		if (smaller.steps <= by)
			continue;
		smaller.steps -= by;
		if (still_fails(w, seed, &smaller, promise))
			*o = smaller;
	}
}

static void print_command(uint64_t seed, const struct options *o)
{
	const char *comma = " --without ";

	printf("sim --seed %" PRIu64 " --steps %u", seed, o->steps);
	if (o->letters_max)
		printf(" --letters %u", o->letters_max);
	for (int e = 0; e < SIM_EVENT_COUNT; e++)
		if (event_table[e].rate && o->without[e]) {
			printf("%s%s", comma, event_table[e].id);
			comma = ",";
		}
	printf(" -v\n");
}

int shrink(struct world *w, uint64_t seed, const struct options *from)
{
	struct options o = *from;
	char promise[8] = "";

	o.verbose = false;
	world_run(w, seed, &o);
	if (!w->violation[0]) {
		printf("seed %" PRIu64 " passes\n", seed);
		return 1;
	}
	snprintf(promise, sizeof(promise), "%.*s", (int)strcspn(w->violation, ":"), w->violation);
	/* Twice: what one pass takes away may make more superfluous. */
	for (int pass = 0; pass < 2; pass++) {
		drop_faults(w, seed, &o, promise);
		drop_letters(w, seed, &o, promise);
		drop_steps(w, seed, &o, promise);
	}
	still_fails(w, seed, &o, promise);
	printf("%s\n", w->violation);
	print_command(seed, &o);
	return 0;
}

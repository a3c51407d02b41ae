/* world.c: one run from its seed to its end, and the scheduler. */
#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

/* After the faults have stopped a run must drain within so many loop steps and calls. */
#define DRAIN_STEPS 6000
#define DRAIN_CALLS 400000

void trace_line(struct world *w, const char *fmt, ...)
{
	va_list args;

	printf("%10.6f #%-6" PRIu64 " ", (double)(w->now_us % 1000000000000) / 1e6, w->calls);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

void violate(struct world *w, const char *promise, const char *fmt, ...)
{
	va_list args;
	int n;

	if (w->violation[0])
		return;
	n = snprintf(w->violation, sizeof(w->violation), "%s: ", promise);
	va_start(args, fmt);
	vsnprintf(w->violation + n, sizeof(w->violation) - (size_t)n, fmt, args);
	va_end(args);
	trace(w, "VIOLATED %s", w->violation);
}

void *world_grow(void *v, size_t n, size_t *cap, size_t size)
{
	*cap = n < 16 ? 32 : n * 2;
	return mem_realloc(v, *cap * size);
}

struct slice world_dup(struct world *w, struct slice s)
{
	return arena_dup(&w->arena, s);
}

int32_t world_partitions(const struct world *w, int topic)
{
	if (topic < TOPIC_SOURCE)
		return w->setup.n;
	if ((size_t)(topic - TOPIC_SOURCE) < w->setup.sources)
		return w->setup.source_partitions[topic - TOPIC_SOURCE];
	return 0;
}

bool world_fault(struct world *w, enum event fault)
{
	/* Drawn in any case, so that a fault that is off shifts the others as little as may be. */
	bool strikes = rng_below(&w->chaos, 100000) < event_table[fault].rate;

	if (!strikes || w->quiet || !w->enabled[fault])
		return false;
	world_saw(w, fault);
	trace(w, "FAULT: %s", event_table[fault].name);
	return true;
}

void world_pass(struct world *w, int64_t us)
{
	w->now_us += us;
	coordinator_run(w);
	group_run(w);
	postgres_run(w);
}

/* --- the scheduler --- */

static bool runnable(const struct world *w, const struct process *p)
{
	return p->state == PROCESS_RUNNING && p->wake_us <= w->now_us &&
	       p->paused_until_us <= w->now_us;
}

static struct process *pick(struct world *w)
{
	struct process *ready[PROCESSES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (runnable(w, &w->processes[i]))
			ready[n++] = &w->processes[i];
	return n ? ready[rng_below(&w->schedule, n)] : NULL;
}

/* Nobody can run: time goes on to the next thing that happens. */
static void skip_time(struct world *w)
{
	int64_t next = w->now_us + 1000000;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		const struct process *p = &w->processes[i];
		int64_t at = p->wake_us > p->paused_until_us ? p->wake_us : p->paused_until_us;

		if (p->state == PROCESS_RUNNING && at < next)
			next = at;
	}
	if (w->next_due_us < next)
		next = w->next_due_us;
	world_pass(w, next > w->now_us ? next - w->now_us : 1);
}

/* Nothing is left to do but to wait until an entry falls due. */
static void skip_to_due(struct world *w)
{
	int64_t due = check_next_due(w);

	if (due == INT64_MAX || due <= w->now_us)
		return;
	trace(w, "nothing to do: time goes on to the next due entry");
	world_pass(w, due - w->now_us + 1);
}

static bool start_missing(struct world *w)
{
	if (w->operator== OPERATOR_STOPPING)
		return false;
	for (size_t i = 0; i < w->setup.identities; i++)
		if (!process_of_identity(w, i) && w->restart_us[i] <= w->now_us) {
			bool paused = false;

			for (size_t k = 0; k < PROCESSES_MAX; k++)
				paused = paused || (w->processes[k].state == PROCESS_RUNNING &&
							   w->processes[k].identity == i);
			if (!paused)
				process_start(w, i);
		}
	return true;
}

static void turn(struct world *w)
{
	struct process *p;

	start_missing(w);
	p = pick(w);
	if (p) {
		process_resume(p);
		return;
	}
	nemesis(w);
	skip_time(w);
}

/* --- a run --- */

static void drain(struct world *w)
{
	uint64_t steps = w->steps, calls = w->calls;
	int settled = 0;

	nemesis_stop(w);
	while (!w->violation[0] && settled < 3) {
		turn(w);
		if (w->steps - steps > DRAIN_STEPS || w->calls - calls > DRAIN_CALLS)
			check_end(w);
		else if (w->steps % 8 == 0 && check_drained(w))
			settled++;
		else if (w->steps % 8 == 0)
			skip_to_due(w);
	}
	if (!w->violation[0])
		check_end(w);
}

static void end_processes(struct world *w)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *p = &w->processes[i];

		if (p->state != PROCESS_RUNNING)
			continue;
		process_kill(w, p);
		while (p->state == PROCESS_RUNNING)
			process_resume(p);
	}
}

static void reset(struct world *w)
{
	for (struct txn *t = w->txns; t; t = t->next)
		free(t->records);
	w->txns = NULL;
	for (int t = 0; t < TOPICS_MAX; t++)
		for (int32_t k = 0; k < PARTITIONS_MAX; k++) {
			struct part *p = &w->parts[t][k];

			*p = (struct part){.topic = t, .number = k, .v = p->v, .cap = p->cap};
		}
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		w->processes[i].call.open = false;
	w->n_producers = w->n_markers = w->n_late_ends = 0;
	w->truth.n_keys = w->truth.n_reads = w->truth.n_letters = 0;
	w->group = (struct group){0};
	w->postgres = (struct postgres){0};
	memset(w->saw, 0, sizeof(w->saw));
	memset(w->restart_us, 0, sizeof(w->restart_us));
	memset(w->inbox_applied, 0, sizeof(w->inbox_applied));
	memset(w->taken_to, 0, sizeof(w->taken_to));
	memset(w->offsets, 0xff, sizeof(w->offsets)); /* -1 */
	memset(w->group.committed, 0xff, sizeof(w->group.committed));
	w->quiet = false;
	w->operator= OPERATOR_AWAY;
	w->calls = w->steps = w->decided = 0;
	w->txn_serial = w->process_serial = w->fetch_sessions = 0;
	w->kafka_away_until_us = w->schemas_away_until_us = 0;
	w->next_due_us = INT64_MAX;
	w->violation[0] = '\0';
	arena_reset(&w->arena);
}

void world_run(struct world *w, uint64_t seed, const struct options *options)
{
	reset(w);
	w->seed = seed;
	w->options = *options;
	w->schedule = (struct rng){seed * 3 + 1};
	w->chaos = (struct rng){seed * 5 + 2};
	w->data = (struct rng){seed * 7 + 3};
	generate_setup(w);
	while (!w->violation[0] && w->steps < options->steps && w->calls < options->steps * 200u)
		turn(w);
	if (!w->violation[0])
		drain(w);
	end_processes(w);
}

struct world *world_new(void)
{
	return mem_zalloc(sizeof(struct world));
}

void world_free(struct world *w)
{
	reset(w);
	for (int t = 0; t < TOPICS_MAX; t++)
		for (int32_t k = 0; k < PARTITIONS_MAX; k++)
			free(w->parts[t][k].v);
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		coroutine_free(w->processes[i].coroutine);
		free(w->processes[i].call.reads);
		free(w->processes[i].call.outcomes);
		free(w->processes[i].call.codes);
	}
	free(w->producers);
	free(w->markers);
	free(w->late_ends);
	free(w->truth.keys);
	free(w->truth.reads);
	free(w->truth.letters);
	arena_free(&w->arena);
	free(w);
}

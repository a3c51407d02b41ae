/* nemesis.c: the faults that do not hang on one call, and the operator. */
#include "world.h"

#define SECOND 1000000ll

static struct process *any_process(struct world *w)
{
	struct process *p = &w->processes[rng_below(&w->chaos, PROCESSES_MAX)];

	return p->state == PROCESS_RUNNING && !p->dead ? p : NULL;
}

static void process_faults(struct world *w)
{
	struct process *p;

	if (world_fault(w, SIM_CRASH) && (p = any_process(w)))
		process_kill(w, p);
	if (world_fault(w, SIM_PAUSE) && (p = any_process(w)))
		process_pause(w, p, rng_between(&w->chaos, 100000, 60 * SECOND));
	if (world_fault(w, SIM_STOP) && (p = any_process(w)))
		process_stop(p);
	if ((p = any_process(w)) && p->paused_until_us > w->now_us &&
		!process_of_identity(w, p->identity) && world_fault(w, SIM_TAKEOVER))
		process_start(w, p->identity);
}

static int32_t any_partition(struct world *w, int topic)
{
	return (int32_t)rng_below(&w->chaos, (uint64_t)world_partitions(w, topic));
}

/* Retention deletes the head of a source. */
static void retention(struct world *w)
{
	int topic = TOPIC_SOURCE + (int)rng_below(&w->chaos, w->setup.sources);
	struct part *p = world_part(w, topic, any_partition(w, topic));

	if (p->low == (int64_t)p->n)
		return;
	p->low += rng_between(&w->chaos, 1, (int64_t)p->n - p->low);
	trace(w, "retention: source %d/%d begins at %lld", topic, p->number, (long long)p->low);
}

/* In days the log cleaner comes round, too. */
static void lull(struct world *w)
{
	static const int64_t longest[] = {5, 40, 600, 86400, 86400 * 12, 86400 * 12};
	int64_t us = rng_between(&w->chaos, 1, longest[rng_below(&w->chaos, 6)] * SECOND);

	world_pass(w, us);
	for (int32_t p = 0; us > 86400 * SECOND && w->enabled[SIM_COMPACTION] && p < w->setup.n;
		p++)
		part_compact(w, world_part(w, TOPIC_DLQ, p));
}

static void log_faults(struct world *w)
{
	if (world_fault(w, SIM_REBALANCE))
		group_prepare(w, "for no reason");
	if (world_fault(w, SIM_RETENTION))
		retention(w);
	if (world_fault(w, SIM_KAFKA_AWAY))
		w->kafka_away_until_us = w->now_us + rng_between(&w->chaos, 1000, 20 * SECOND);
	if (world_fault(w, SIM_SCHEMAS_AWAY))
		w->schemas_away_until_us = w->now_us + rng_between(&w->chaos, 1000, 60 * SECOND);
	if (world_fault(w, SIM_COMPACTION))
		part_compact(w, world_part(w, TOPIC_DLQ, any_partition(w, TOPIC_DLQ)));
	if (world_fault(w, SIM_LULL))
		lull(w);
}

static void sql_faults(struct world *w)
{
	struct read *r = NULL;

	if (world_fault(w, SIM_SQL_AWAY))
		w->postgres.away_until_us = w->now_us + rng_between(&w->chaos, 1000, 60 * SECOND);
	if (world_fault(w, SIM_SQL_NO_CONTRACT))
		w->postgres.no_contract_until_us =
			w->now_us + rng_between(&w->chaos, 1000, 60 * SECOND);
	if (w->truth.n_reads)
		r = w->truth.reads[rng_below(&w->chaos, w->truth.n_reads)];
	if (r && !r->unfit && !r->key->row && r->nature != NATURE_POISON &&
		world_fault(w, SIM_LIVE_COMMIT))
		postgres_live_commit(w, r);
	if (r && !r->unfit && !r->key->row && r->key->n_contents > 1 &&
		world_fault(w, SIM_LIVE_CONFLICT))
		postgres_live_commit(w, r->key->contents[r->key->n_contents - 1]);
}

/* --- the operator: stops all, resets offsets, starts all again --- */

static void operator_begins(struct world *w, bool forgets)
{
	w->operator= OPERATOR_STOPPING;
	w->operator_forgets = forgets;
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *p = &w->processes[i];

		if (p->state == PROCESS_RUNNING && rng_percent(&w->chaos, 40))
			process_kill(w, p);
		else if (p->state == PROCESS_RUNNING)
			process_stop(p);
	}
}

/* The tools refuse while the group has members; a pending commit would undo the reset. */
static bool group_at_rest(const struct world *w)
{
	if (processes_running(w) || w->group.n)
		return false;
	for (int t = TOPIC_INBOX; t < TOPICS_MAX; t++)
		for (int32_t k = 0; k < world_partitions(w, t); k++)
			if (offsets_pending(w, t, k))
				return false;
	return true;
}

static void reset_offset(struct world *w, int topic, int32_t partition)
{
	int64_t *committed = &w->group.committed[topic][partition];
	const struct part *part = world_part(w, topic, partition);

	if (w->operator_forgets)
		*committed = -1;
	else if (topic >= TOPIC_SOURCE && *committed > part->low)
		*committed = rng_percent(&w->chaos, 60)
				     ? part->low
				     : rng_between(&w->chaos, part->low, *committed);
}

static void operator_acts(struct world *w)
{
	if (w->operator!= OPERATOR_STOPPING || !group_at_rest(w))
		return;
	for (int t = TOPIC_INBOX; t < TOPICS_MAX; t++)
		for (int32_t k = 0; k < world_partitions(w, t); k++)
			reset_offset(w, t, k);
	trace(w, "the operator has %s", w->operator_forgets ? "deleted all offsets" : "rewound");
	check_rewound(w);
	w->operator= OPERATOR_AWAY;
}

static void operator_faults(struct world *w)
{
	if (w->operator!= OPERATOR_AWAY)
		operator_acts(w);
	else if (world_fault(w, SIM_REWIND))
		operator_begins(w, false);
	else if (world_fault(w, SIM_FORGET))
		operator_begins(w, true);
}

void nemesis(struct world *w)
{
	operator_faults(w);
	if (w->quiet)
		return;
	if (w->letters_left && rng_below(&w->data, 1000) < 12)
		generate_letters(w, 1 + (unsigned)rng_below(&w->data, 8));
	process_faults(w);
	log_faults(w);
	sql_faults(w);
}

void nemesis_stop(struct world *w)
{
	trace(w, "--- the faults stop ---");
	generate_letters(w, w->letters_left);
	w->quiet = true;
	w->kafka_away_until_us = w->schemas_away_until_us = 0;
	w->postgres = (struct postgres){0};
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		w->processes[i].paused_until_us = 0;
}

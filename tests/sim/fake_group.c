/*
 * fake_group.c: the group coordinator, classic protocol, eager: sessions, rebalances, generations,
 * the range assignor over the sources and the inbox, static members.
 */
#include "world.h"

struct member *group_member(struct world *w, const struct process *p)
{
	for (size_t i = 0; i < w->group.n; i++)
		if (w->group.members[i].process_serial == p->serial &&
			w->group.members[i].id == p->member_id)
			return &w->group.members[i];
	return NULL;
}

void group_prepare(struct world *w, const char *why)
{
	struct group *g = &w->group;

	trace(w, "the group rebalances: %s", why);
	if (!g->preparing)
		g->prepare_us = w->now_us;
	g->preparing = true;
	for (size_t i = 0; i < g->n; i++) {
		g->members[i].rejoined = false;
		g->members[i].assigned = false;
	}
}

static void remove_member(struct group *g, size_t i)
{
	g->members[i] = g->members[--g->n];
}

/* A restarted static member takes its predecessor's place, without a rebalance (KIP-345). */
static bool replace_static(struct world *w, struct process *p)
{
	struct group *g = &w->group;

	for (size_t i = 0; w->setup.static_members && i < g->n; i++) {
		struct member *m = &g->members[i];

		if (m->identity != p->identity)
			continue;
		for (int t = 0; t < TOPICS_MAX; t++)
			for (int32_t k = 0; k < PARTITIONS_MAX; k++)
				if (g->owner[t][k] == m->process_serial)
					g->owner[t][k] = p->serial;
		m->process = p;
		m->process_serial = p->serial;
		m->id = p->member_id;
		m->silent_us = 0;
		m->rejoined = m->assigned = false;
		if (!g->preparing)
			m->assigned = true;
		return true;
	}
	return false;
}

void group_join(struct world *w, struct process *p)
{
	struct group *g = &w->group;

	p->joined = true;
	p->member_id = ++g->last_id;
	if (replace_static(w, p) || g->n == MEMBERS_MAX)
		return;
	g->members[g->n++] = (struct member){.process = p,
		.process_serial = p->serial,
		.identity = p->identity,
		.id = p->member_id};
	group_prepare(w, "a member joins");
}

void group_leave(struct world *w, struct process *p)
{
	struct member *m = group_member(w, p);

	p->joined = p->has_assignment = false;
	if (!m || w->setup.static_members)
		return;
	remove_member(&w->group, (size_t)(m - w->group.members));
	group_prepare(w, "a member leaves");
}

/* Members sorted by their (random) ids, as the range assignor does. */
static size_t sorted_members(struct world *w, struct member **ret)
{
	struct group *g = &w->group;
	uint32_t order = (uint32_t)rng_next(&w->schedule);

	for (size_t i = 0; i < g->n; i++) {
		size_t at = i;

		for (; at > 0 && (ret[at - 1]->id * 2654435761u ^ order) >
					 (g->members[i].id * 2654435761u ^ order);
			at--)
			ret[at] = ret[at - 1];
		ret[at] = &g->members[i];
	}
	return g->n;
}

static void assign_range(struct world *w, int topic, struct member **members, size_t n)
{
	int32_t partitions = world_partitions(w, topic), at = 0;

	for (size_t i = 0; i < n; i++) {
		int32_t share = partitions / (int32_t)n + ((int32_t)i < partitions % (int32_t)n);

		for (int32_t end = at + share; at < end; at++)
			w->group.owner[topic][at] = members[i]->process_serial;
	}
}

static void complete(struct world *w)
{
	struct group *g = &w->group;
	struct member *members[MEMBERS_MAX];
	size_t n = sorted_members(w, members);

	g->preparing = false;
	g->generation++;
	memset(g->owner, 0, sizeof(g->owner));
	if (n)
		assign_range(w, TOPIC_INBOX, members, n);
	for (size_t s = 0; n && s < w->setup.sources; s++)
		assign_range(w, TOPIC_SOURCE + (int)s, members, n);
	for (size_t i = 0; i < g->n; i++)
		g->members[i].assigned = true;
	trace(w, "generation %d with %zu members", g->generation, n);
}

static void run_sessions(struct world *w)
{
	struct group *g = &w->group;

	for (size_t i = 0; i < g->n;) {
		struct member *m = &g->members[i];
		bool replaced = m->process->serial != m->process_serial;
		bool silent = replaced || m->process->state != PROCESS_RUNNING ||
			      m->process->dead || m->process->paused_until_us > w->now_us;

		if (!silent)
			m->silent_us = 0;
		else if (!m->silent_us)
			m->silent_us = w->now_us;
		if (!silent || w->now_us - m->silent_us <= SESSION_US) {
			i++;
			continue;
		}
		world_saw(w, SIM_SESSION_EXPIRED);
		remove_member(g, i);
		group_prepare(w, "a session expired");
	}
}

/* Who has not come back in time is out. */
static void remove_laggards(struct group *g)
{
	for (size_t i = 0; i < g->n;)
		if (!g->members[i].rejoined)
			remove_member(g, i);
		else
			i++;
}

void group_run(struct world *w)
{
	struct group *g = &w->group;
	bool waiting = false;

	run_sessions(w);
	if (!g->preparing)
		return;
	if (w->now_us - g->prepare_us > REBALANCE_US)
		remove_laggards(g);
	for (size_t i = 0; i < g->n; i++)
		waiting = waiting || !g->members[i].rejoined;
	if (!waiting)
		complete(w);
}

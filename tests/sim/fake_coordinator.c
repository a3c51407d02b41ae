/*
 * fake_coordinator.c: the transaction coordinator. An end is decided at once and seen in each
 * partition when its marker arrives there; a time-out aborts and fences the epoch; an EndTxn that
 * comes late ends whatever the epoch has open then (KAFKA-17754).
 */
#include "world.h"

#include <stdlib.h>

static void due_at(struct world *w, int64_t us)
{
	if (us < w->next_due_us)
		w->next_due_us = us;
}

struct txn *txn_begin(struct world *w, struct process *p)
{
	struct txn *t;

	if (p->producer->epoch != p->epoch)
		return NULL;
	t = arena_alloc(&w->arena, sizeof(*t));
	*t = (struct txn){.next = w->txns,
		.serial = ++w->txn_serial,
		.by = p->serial,
		.producer = p->producer,
		.epoch = p->epoch,
		.member = p->meta_member,
		.generation = p->meta_generation,
		.fetch_session = p->fetch_session,
		.begin_us = w->now_us,
		.begin_call = w->calls};
	w->txns = t;
	p->producer->txn = t;
	due_at(w, w->now_us + TXN_TIMEOUT_US);
	return t;
}

static void add_part(struct txn *t, struct part *part)
{
	for (size_t i = 0; i < t->n_parts; i++)
		if (t->parts[i].part == part)
			return;
	t->parts[t->n_parts++] = (struct txn_part){.part = part};
	if (part->n_open == OPEN_MAX)
		abort();
	part->open[part->n_open++] = (struct open_txn){t, (int64_t)part->n};
}

void txn_append(struct world *w, struct txn *t, struct part *part, const struct entry *e)
{
	struct entry copy = *e;

	add_part(t, part);
	copy.txn = t;
	copy.key = world_dup(w, e->key);
	copy.value = world_dup(w, e->value);
	if (t->n_records == t->records_cap)
		t->records =
			world_grow(t->records, t->n_records, &t->records_cap, sizeof(*t->records));
	t->records[t->n_records++] = (struct txn_record){part, part_append(w, part, &copy)};
}

static void add_marker(struct world *w, struct txn *t, size_t part)
{
	int64_t us = rng_between(&w->schedule, 0, 3000);

	if (world_fault(w, SIM_SLOW_MARKERS))
		us = rng_between(&w->chaos, 10000, 5000000);
	if (w->n_markers == w->markers_cap)
		w->markers =
			world_grow(w->markers, w->n_markers, &w->markers_cap, sizeof(*w->markers));
	w->markers[w->n_markers++] = (struct marker){t, part, w->now_us + us};
	due_at(w, w->now_us + us);
}

void txn_decide(struct world *w, struct txn *t, bool commit)
{
	t->state = commit ? TXN_COMMITTED : TXN_ABORTED;
	trace(w, "transaction %u of process %u is decided: %s", t->serial, t->by,
		commit ? "commit" : "abort");
	for (size_t i = 0; i < t->n_parts; i++)
		add_marker(w, t, i);
	if (commit && t->n_offsets)
		add_marker(w, t, t->n_parts);
	else
		t->offsets_marked = true;
	t->complete = t->offsets_marked && !t->n_parts;
	if (commit)
		check_decided(w, t);
}

static void close_part(struct part *part, const struct txn *t)
{
	for (size_t i = 0; i < part->n_open; i++)
		if (part->open[i].txn == t) {
			part->open[i] = part->open[--part->n_open];
			return;
		}
}

static void write_marker(struct world *w, const struct marker *m)
{
	struct txn *t = m->txn;

	if (m->part == t->n_parts) {
		for (size_t i = 0; i < t->n_offsets; i++)
			w->group.committed[t->offsets[i].topic][t->offsets[i].partition] =
				t->offsets[i].offset;
		t->offsets_marked = true;
	} else {
		part_append(
			w, t->parts[m->part].part, &(struct entry){.kind = ENTRY_MARKER, .txn = t});
		close_part(t->parts[m->part].part, t);
		t->parts[m->part].marked = true;
	}
	t->complete = t->offsets_marked;
	for (size_t i = 0; i < t->n_parts; i++)
		t->complete = t->complete && t->parts[i].marked;
}

static void run_markers(struct world *w)
{
	for (size_t i = 0; i < w->n_markers;) {
		struct marker m = w->markers[i];

		if (m.at_us > w->now_us) {
			due_at(w, m.at_us);
			i++;
			continue;
		}
		w->markers[i] = w->markers[--w->n_markers];
		write_marker(w, &m);
	}
}

static void run_late_ends(struct world *w)
{
	for (size_t i = 0; i < w->n_late_ends;) {
		struct late_end e = w->late_ends[i];
		struct txn *t = e.producer->txn;

		if (e.at_us > w->now_us) {
			due_at(w, e.at_us);
			i++;
			continue;
		}
		w->late_ends[i] = w->late_ends[--w->n_late_ends];
		if (e.producer->epoch != e.epoch)
			world_saw(w, SIM_LATE_END_REFUSED);
		else if (t && t->state == TXN_OPEN)
			txn_decide(w, t, true);
	}
}

static void run_timeouts(struct world *w)
{
	for (size_t i = 0; i < w->n_producers; i++) {
		struct txn *t = w->producers[i]->txn;

		if (!t || t->state != TXN_OPEN)
			continue;
		if (w->now_us - t->begin_us <= TXN_TIMEOUT_US) {
			due_at(w, t->begin_us + TXN_TIMEOUT_US + 1);
			continue;
		}
		world_saw(w, SIM_TXN_TIMED_OUT);
		w->producers[i]->epoch++;
		txn_decide(w, t, false);
	}
}

void coordinator_run(struct world *w)
{
	if (w->now_us < w->next_due_us)
		return;
	w->next_due_us = INT64_MAX;
	run_late_ends(w);
	run_timeouts(w);
	run_markers(w);
}

void coordinator_late_end(struct world *w, struct process *p, int64_t delay_us)
{
	if (w->n_late_ends == w->late_ends_cap)
		w->late_ends = world_grow(
			w->late_ends, w->n_late_ends, &w->late_ends_cap, sizeof(*w->late_ends));
	w->late_ends[w->n_late_ends++] =
		(struct late_end){p->producer, p->epoch, w->now_us + delay_us};
	due_at(w, w->now_us + delay_us);
}

bool coordinator_init(struct world *w, struct process *p)
{
	struct producer *producer = p->producer;

	if (producer->txn && producer->txn->state == TXN_OPEN) {
		/* The epoch is bumped first, so that its holder cannot write behind the abort. */
		producer->epoch++;
		txn_decide(w, producer->txn, false);
	}
	if (producer->txn && !producer->txn->complete)
		return false;
	p->epoch = ++producer->epoch;
	producer->holder = p->serial;
	return true;
}

bool offsets_pending(const struct world *w, int topic, int32_t partition)
{
	/* Only the newest transaction of each producer can be pending. */
	for (size_t i = 0; i < w->n_producers; i++) {
		const struct txn *t = w->producers[i]->txn;

		if (!t || !t->n_offsets || t->offsets_marked)
			continue;
		for (size_t k = 0; k < t->n_offsets; k++)
			if (t->offsets[k].topic == topic && t->offsets[k].partition == partition)
				return true;
	}
	return false;
}

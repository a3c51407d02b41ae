/* fake_partition.c: the log of one partition: visibility, and compaction. */
#include "key.h"
#include "world.h"

#include <stdlib.h>

int64_t part_append(struct world *w, struct part *p, const struct entry *e)
{
	if (p->n == p->cap)
		p->v = world_grow(p->v, p->n, &p->cap, sizeof(*p->v));
	p->v[p->n] = *e;
	p->v[p->n].timestamp_ms = e->timestamp_ms ? e->timestamp_ms : w->now_us / 1000;
	return (int64_t)p->n++;
}

int64_t part_lso(const struct part *p)
{
	int64_t lso = (int64_t)p->n;

	for (size_t i = 0; i < p->n_open; i++)
		if (p->open[i].first < lso)
			lso = p->open[i].first;
	return lso;
}

static bool visible(const struct entry *e)
{
	return e->kind == ENTRY_RECORD && !e->foreign_aborted &&
	       (!e->txn || e->txn->state == TXN_COMMITTED);
}

int64_t part_next(const struct part *p, int64_t *pos, int64_t limit)
{
	int64_t end = part_lso(p);

	if (limit < end)
		end = limit;
	for (; *pos < end; ++*pos)
		if (visible(&p->v[*pos]))
			return *pos;
	return -1;
}

/* Whether a later record of the key, below end, makes e superfluous. */
static bool superseded(const struct part *p, int64_t offset, int64_t end)
{
	for (int64_t o = offset + 1; o < end; o++)
		if (visible(&p->v[o]) && slice_eq(p->v[o].key, p->v[offset].key))
			return true;
	return false;
}

/* Tombstones go delete.retention.ms after the cleaner has seen them first (KIP-534). */
static bool tombstone_expired(struct world *w, struct entry *e)
{
	if (!e->cleaned_us)
		e->cleaned_us = w->now_us;
	return w->now_us - e->cleaned_us > DELETE_RETENTION_US;
}

void part_compact(struct world *w, struct part *p)
{
	int64_t end = part_lso(p), cleanable_ms = (w->now_us - w->setup.compaction_lag_us) / 1000;

	/* The head of the log is never cleaned: it is in the active segment. */
	for (int64_t o = 0; o + 1 < end && p->v[o].timestamp_ms <= cleanable_ms; o++) {
		struct entry *e = &p->v[o];
		bool tombstone = slice_is_null(e->value);

		if (e->kind != ENTRY_RECORD)
			continue;
		if (!visible(e)) {
			e->kind = ENTRY_REMOVED;
		} else if (superseded(p, o, end)) {
			e->kind = ENTRY_REMOVED;
			world_saw(w, SIM_RECORD_REMOVED);
		} else if (tombstone && tombstone_expired(w, e)) {
			e->kind = ENTRY_REMOVED;
			world_saw(w, SIM_TOMBSTONE_REMOVED);
		}
	}
	trace(w, "compaction of dlq/%d", p->number);
}

/*
 * check_txn.c: a transaction has just been decided. Which dead letters it takes follows from the
 * offsets that it passes; what must become of each read follows from those and from what Postgres
 * really answered. So every transition is checked, and the promises follow step by step.
 */
#include "check_txn.h"

/* --- which dead letters it takes --- */

static bool was_fetched(const struct letter *l, const struct txn *t)
{
	for (size_t i = 0; i < ARRAY_LEN(l->fetched_in); i++)
		if (l->fetched_in[i] == t->fetch_session)
			return true;
	return false;
}

/* A dead letter is applied to its DLQ partition. */
static void take(struct txn_check *c, struct letter *l)
{
	struct read *r = l->read;
	int32_t p = r->key->partition;
	size_t s = (size_t)(l->topic - TOPIC_SOURCE);
	bool fresh = l->offset >= c->w->taken_to[p][s][l->partition] && !l->counted;
	bool permanent = l->reason == REASON_PERMANENT_4XX;
	int64_t seen = l->timestamp_sane ? l->timestamp_ms * 1000 : c->w->now_us;

	check_touch(c, r);
	l->taken = true;
	c->t->counts.taken++;
	if (fresh) {
		l->counted = true;
		r->fresh++;
		r->fresh_permanent += permanent;
		if (seen < r->taken_first_us)
			r->taken_first_us = seen;
		if (seen > r->taken_last_us)
			r->taken_last_us = seen;
	} else {
		r->rereads++;
		r->reread_permanent += permanent;
	}
	if (c->taken_to[p][s][l->partition] < l->offset + 1)
		c->taken_to[p][s][l->partition] = l->offset + 1;
	if (!c->checkpoint[p].written)
		violate(c->w, "P1/P12",
			"%d/%d@%lld (%.*s) is passed, but neither handed over nor "
			"taken into %d",
			l->topic, l->partition, (long long)l->offset, SLICE_FMT(r->key->text), p);
}

static void pass_source(struct txn_check *c, const struct log_position *to)
{
	struct world *w = c->w;
	struct part *part = world_part(w, to->topic, to->partition);
	int64_t from = w->offsets[to->topic][to->partition];

	for (int64_t o = from < 0 ? 0 : from; o < to->offset; o++) {
		struct letter *l = part->v[o].letter;

		if (!l || (o < part->low && !was_fetched(l, c->t))) {
			if (l && !l->taken && !l->lost) {
				l->lost = true;
				world_saw(w, SIM_GAP);
			}
			continue;
		}
		c->t->counts.intake++;
		if (l->handed)
			l->taken = true;
		else
			take(c, l);
	}
}

/* What was handed over and lies below the checkpoint that this transaction writes is applied. */
static void pass_inbox(struct txn_check *c, int32_t p)
{
	struct world *w = c->w;
	struct part *part = world_part(w, TOPIC_INBOX, p);
	int64_t to = c->checkpoint[p].inbox_offset;

	if (!c->checkpoint[p].written)
		return;
	if (to < w->inbox_applied[p] || to > (int64_t)part->n) {
		violate(w, "P12", "inbox %d is applied to %lld, was to %lld", p, (long long)to,
			(long long)w->inbox_applied[p]);
		return;
	}
	for (int64_t o = w->inbox_applied[p]; o < to; o++) {
		const struct entry *e = &part->v[o];

		if (e->kind != ENTRY_RECORD || !e->txn || e->txn->state == TXN_ABORTED)
			continue;
		if (e->txn->state == TXN_OPEN || !e->letter) {
			violate(w, "P12", "inbox %d@%lld is passed before it was decided", p,
				(long long)o);
			return;
		}
		e->letter->waiting--;
		take(c, e->letter);
	}
	w->inbox_applied[p] = to;
}

static void check_inbox_offset(struct txn_check *c, const struct log_position *to)
{
	struct part *part = world_part(c->w, TOPIC_INBOX, to->partition);

	for (int64_t o = c->w->inbox_applied[to->partition]; o < to->offset; o++)
		if (part->v[o].letter && part->v[o].txn->state == TXN_COMMITTED)
			violate(c->w, "P12", "the offset of inbox %d passes %lld, not yet applied",
				to->partition, (long long)o);
}

static void pass_offsets(struct txn_check *c)
{
	struct world *w = c->w;
	const struct txn *t = c->t;

	for (size_t i = 0; i < t->n_offsets && !w->violation[0]; i++) {
		const struct log_position *o = &t->offsets[i];
		/* That of an inbox may go back over markers, from what is applied. */
		int64_t least = o->topic == TOPIC_INBOX ? w->inbox_applied[o->partition]
							: w->offsets[o->topic][o->partition];

		if (o->offset < least)
			violate(w, "P12", "offset of %d/%d goes back from %lld to %lld", o->topic,
				o->partition, (long long)least, (long long)o->offset);
		if (o->offset > (int64_t)world_part(w, o->topic, o->partition)->n)
			violate(w, "P12", "offset of %d/%d is behind the end", o->topic,
				o->partition);
	}
	for (int32_t p = 0; p < w->setup.n; p++)
		pass_inbox(c, p);
	for (size_t i = 0; i < t->n_offsets && !w->violation[0]; i++)
		if (t->offsets[i].topic == TOPIC_INBOX)
			check_inbox_offset(c, &t->offsets[i]);
		else
			pass_source(c, &t->offsets[i]);
	for (size_t i = 0; i < t->n_offsets; i++)
		w->offsets[t->offsets[i].topic][t->offsets[i].partition] = t->offsets[i].offset;
}

static void check_checkpoints(struct txn_check *c)
{
	struct world *w = c->w;

	for (int32_t p = 0; p < w->setup.n; p++) {
		if (!c->checkpoint[p].written)
			continue;
		if (memcmp(c->checkpoint[p].sources, c->taken_to[p], sizeof(c->taken_to[p])) != 0)
			violate(w, "P10", "checkpoint of %d does not say what was taken", p);
		memcpy(w->taken_to[p], c->taken_to[p], sizeof(c->taken_to[p]));
	}
}

/* --- who wrote it --- */

/*
 * Whether q began to restore p as a later owner than the writer of t: later in this very process,
 * in a later generation, or by taking a static member's place.
 */
static bool restored_later(const struct process *q, const struct txn *t, int32_t p)
{
	if (q->state != PROCESS_RUNNING || q->restore_began[p] < 0)
		return false;
	if (q->serial == t->by)
		return q->restore_began[p] > (int64_t)t->begin_call;
	if (q->restore_generation[p] == t->generation)
		return q->restore_member[p] > t->member;
	return q->restore_generation[p] > t->generation;
}

/* Promise 13. The mark is set by whoever looks at the high watermark to restore. */
static void check_fence(struct txn_check *c, int32_t p)
{
	const struct txn *t = c->t;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		const struct process *q = &c->w->processes[i];

		if (restored_later(q, t, p))
			violate(c->w, "P13",
				"process %u of generation %d writes to partition %d after process "
				"%u "
				"of generation %d began to restore it",
				t->by, t->generation, p, q->serial, q->restore_generation[p]);
	}
}

static void check_writer(struct txn_check *c)
{
	for (int32_t p = 0; p < c->w->setup.n; p++)
		for (size_t i = 0; i < c->t->n_parts; i++) {
			const struct part *part = c->t->parts[i].part;

			if ((part->topic == TOPIC_DLQ || part->topic == TOPIC_PARKED) &&
				part->number == p) {
				check_fence(c, p);
				break;
			}
		}
}

/* --- the whole --- */

static void finish_read(struct txn_check *c, struct read *r)
{
	r->touched = r->wrote_put = r->wrote_tombstone = false;
	r->wrote_parked = r->wrote_redriven = false;
	r->fresh = r->rereads = r->fresh_permanent = r->reread_permanent = 0;
	r->taken_first_us = INT64_MAX;
	r->taken_last_us = INT64_MIN;
	for (struct letter *l = r->letters; l; l = l->next)
		l->handed = l->counted = false;
	evidence_set(r, c->t->by, EVIDENCE_NONE);
}

static void finish(struct txn_check *c)
{
	for (struct read *r = c->touched; r; r = r->next_touched)
		finish_read(c, r);
	for (size_t i = 0; i < c->t->n_records; i++) {
		struct letter *l = c->t->records[i].part->v[c->t->records[i].offset].letter;

		if (l)
			l->handed = false;
	}
}

void check_decided(struct world *w, struct txn *t)
{
	struct txn_check c = {.w = w, .t = t};

	w->decided++;
	for (int32_t p = 0; p < w->setup.n; p++)
		memcpy(c.taken_to[p], w->taken_to[p], sizeof(c.taken_to[p]));
	check_writer(&c);
	for (size_t i = 0; i < t->n_records && !w->violation[0]; i++)
		check_record(&c, t->records[i].part, t->records[i].offset);
	if (!w->violation[0])
		pass_offsets(&c);
	check_checkpoints(&c);
	for (struct read *r = c.touched; r && !w->violation[0]; r = r->next_touched)
		check_read(&c, r);
	finish(&c);
	arena_free(&c.arena);
	if (!w->violation[0])
		check_conservation(w);
}

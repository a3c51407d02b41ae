/*
 * checker.c: what can be checked at single calls and after single steps. Transactions are checked
 * when they are decided (check_txn.c), the whole at the end (check_end.c).
 */
#include "fold.h"
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>

struct letter *truth_letter(struct world *w, struct slice topic, int32_t partition, int64_t offset)
{
	for (size_t s = 0; s < w->setup.sources; s++) {
		int number = TOPIC_SOURCE + (int)s;
		struct part *p;

		if (!slice_eq(topic, slice_str(w->setup.topics[number])) || partition < 0 ||
			partition >= world_partitions(w, number))
			continue;
		p = world_part(w, number, partition);
		return offset >= 0 && (size_t)offset < p->n ? p->v[offset].letter : NULL;
	}
	return NULL;
}

/* --- single calls --- */

void check_restore_begins(struct process *p, int topic, int32_t partition)
{
	(void)topic;
	p->restore_began[partition] = (int64_t)p->world->calls;
	p->restore_generation[partition] = p->meta_generation;
	p->restore_member[partition] = p->meta_member;
}

void check_trim(struct process *p, int topic, int32_t partition, int64_t offset)
{
	struct world *w = p->world;

	if (topic != TOPIC_INBOX || offset > w->inbox_applied[partition])
		violate(w, "P12", "topic %d partition %d is trimmed to %lld, applied are %lld",
			topic, partition, (long long)offset,
			topic == TOPIC_INBOX ? (long long)w->inbox_applied[partition] : -1ll);
}

/* Whether p is what the group takes for the owner of the partition now. */
static bool is_owner(const struct process *p, int32_t partition)
{
	const struct world *w = p->world;

	return p->meta_generation == w->group.generation &&
	       w->group.owner[TOPIC_INBOX][partition] == p->serial;
}

static void check_sent_read(struct process *p, const struct meter_read *m, const struct read *r)
{
	struct world *w = p->world;
	const struct meter_key *k = r->key;

	if (!slice_eq(m->meter_id, slice_str(k->meter_id)) || m->read_at_us != k->read_at_us ||
		m->sequence != k->sequence)
		violate(w, "P4", "%.*s was sent with other fields", SLICE_FMT(k->text));
	if (is_owner(p, k->partition) && !r->live)
		violate(w, "P1", "%.*s was sent by its owner, but is not in the queue",
			SLICE_FMT(k->text));
	if (is_owner(p, k->partition) && r->live && r->entry.reason == REASON_PERMANENT_4XX)
		violate(w, "P7", "%.*s is permanent and was replayed", SLICE_FMT(k->text));
	if (r->live && !slice_eq(m->kwh, slice_str(r->entry.letter->kwh)) &&
		is_owner(p, k->partition))
		violate(w, "P15", "%.*s was sent with kwh %.*s, its entry says %s",
			SLICE_FMT(k->text), SLICE_FMT(m->kwh), r->entry.letter->kwh);
	if (evidence_of(r, p->serial) == EVIDENCE_ROW && is_owner(p, k->partition))
		violate(w, "P5", "%.*s is known to be committed and was sent again",
			SLICE_FMT(k->text));
}

static struct read *find_read(struct world *w, const struct meter_read *m)
{
	for (size_t i = 0; i < w->truth.n_reads; i++) {
		struct read *r = w->truth.reads[i];

		if (r->unfit || !slice_eq(r->key->text, m->idempotency_key) ||
			!slice_eq(slice_str(r->reading_type), m->reading_type) ||
			!slice_eq(slice_str(r->quality), m->quality))
			continue;
		for (const struct letter *l = r->letters; l; l = l->next)
			if (slice_eq(slice_str(l->kwh), m->kwh))
				return r;
	}
	return NULL;
}

void check_sent(struct process *p, enum sink_call_kind kind, const struct meter_read *const *reads,
	size_t n, struct read **ret)
{
	struct world *w = p->world;

	if ((kind == SINK_PROBE) != (n == 0))
		violate(w, "API", "call of kind %d with %zu reads", (int)kind, n);
	for (size_t i = 0; i < n; i++) {
		ret[i] = find_read(w, reads[i]);
		if (!ret[i])
			violate(w, "P4", "%.*s kwh %.*s was sent to Postgres; nobody wrote that",
				SLICE_FMT(reads[i]->idempotency_key), SLICE_FMT(reads[i]->kwh));
		else
			check_sent_read(p, reads[i], ret[i]);
		if (i && slice_cmp(reads[i - 1]->idempotency_key, reads[i]->idempotency_key) >= 0)
			violate(w, "P11", "keys of a call are not sorted or not unique: %.*s",
				SLICE_FMT(reads[i]->idempotency_key));
	}
}

void check_dropped(struct process *p)
{
	struct truth *t = &p->world->truth;

	/* A transaction that may still be decided rests on it. */
	if (p->producer && p->producer->txn && p->producer->txn->by == p->serial &&
		p->producer->txn->state == TXN_OPEN)
		return;
	for (size_t i = 0; i < t->n_reads; i++) {
		evidence_set(t->reads[i], p->serial, EVIDENCE_NONE);
		t->reads[i]->owed_by = 0;
	}
}

/*
 * Promise 9: where one read fails a statement, its neighbours get an outcome of their own before
 * the batch is written. An outage meanwhile excuses the worker.
 */
void check_answer(struct process *p, const struct sql_call *c)
{
	struct truth *t = &p->world->truth;
	enum sql_class class = c->result.class;
	bool failed = class == SQL_RECORD || class == SQL_SUSPECT;

	for (size_t i = 0; class != SQL_OK && !failed && i < t->n_reads; i++)
		if (t->reads[i]->owed_by == p->serial)
			t->reads[i]->owed_by = 0;
	for (size_t i = 0; i < c->n; i++)
		if (class == SQL_OK || c->n == 1)
			c->reads[i]->owed_by = 0;
		else if (failed && c->reads[i]->nature == NATURE_GOOD)
			c->reads[i]->owed_by = p->serial;
}

void check_begins(struct process *p)
{
	const struct truth *t = &p->world->truth;

	for (size_t i = 0; i < t->n_reads; i++)
		if (t->reads[i]->owed_by == p->serial)
			violate(p->world, "P9",
				"%.*s was not tried again after another read failed its statement",
				SLICE_FMT(t->reads[i]->key->text));
}

/* --- the operator --- */

void check_rewound(struct world *w)
{
	memcpy(w->offsets, w->group.committed, sizeof(w->offsets));
}

/* --- after a step --- */

static bool held_equals(const struct held *h, const struct ticket *t)
{
	return h->offset == t->offset && h->attempts == t->attempts && h->replays == t->replays &&
	       h->first_us == t->first_us && h->last_us == t->last_us;
}

static const struct read *read_at(const struct world *w, int32_t partition, const struct ticket *t)
{
	for (size_t i = 0; i < w->truth.n_reads; i++) {
		const struct read *r = w->truth.reads[i];

		if (r->key->partition != partition || r->content != t->content)
			continue;
		if (t->state == TICKET_LIVE && r->live && r->entry.offset == t->offset)
			return r;
		if (t->state != TICKET_LIVE && r->parked && r->stub.offset == t->offset)
			return r;
	}
	return NULL;
}

static void check_ticket(struct process *p, int32_t partition, const struct ticket *t)
{
	struct world *w = p->world;
	const struct read *r = read_at(w, partition, t);

	if (t->waits)
		world_saw(w, SIM_ENTRY_WAITED);
	if (!r)
		violate(w, "P2",
			"process %u has a ticket of state %d for offset %lld in %d, which "
			"the topics do not have",
			p->serial, t->state, (long long)t->offset, partition);
	else if (t->state == TICKET_LIVE &&
		 (!held_equals(&r->entry, t) || r->entry.due_us != t->due_us ||
			 r->suffixed != t->suffixed || r->entry.reason != t->reason))
		violate(w, "P2", "process %u: ticket of %.*s differs from its entry", p->serial,
			SLICE_FMT(r->key->text));
	else if (t->state != TICKET_LIVE && (!held_equals(&r->stub, t) || r->cause != t->cause))
		violate(w, "P2", "process %u: ticket of %.*s differs from its parked record",
			p->serial, SLICE_FMT(r->key->text));
}

static void check_checkpoint(struct process *p, const struct partition *q)
{
	struct world *w = p->world;

	for (size_t i = 0; i < q->checkpoint.n_sources; i++) {
		const struct source_position *s = &q->checkpoint.sources[i];

		for (size_t t = 0; t < w->setup.sources; t++)
			if (slice_eq(s->topic, slice_str(w->setup.topics[TOPIC_SOURCE + t])) &&
				w->taken_to[q->number][t][s->partition] != s->offset)
				violate(w, "P10", "process %u: checkpoint of %d differs", p->serial,
					q->number);
	}
}

/* Promise 2: the tickets in memory are what a rebuild from the topics would give. */
static void check_partition(struct process *p, const struct partition *q)
{
	struct world *w = p->world;
	const struct ticket *t;
	size_t pos = 0, expected = 0;

	for (size_t i = 0; i < w->truth.n_reads; i++) {
		const struct read *r = w->truth.reads[i];

		if (r->key->partition == q->number)
			expected += r->live + r->parked;
	}
	if (tickets_count(&q->tickets) != expected)
		violate(w, "P2", "process %u has %zu tickets in partition %d, the topics have %zu",
			p->serial, tickets_count(&q->tickets), q->number, expected);
	while (!w->violation[0] && (t = tickets_next(&q->tickets, &pos)) != NULL)
		check_ticket(p, q->number, t);
	check_checkpoint(p, q);
}

static void check_count(struct process *p, const char *name, uint64_t counted, unsigned decided)
{
	if (counted != decided)
		violate(p->world, "COUNT", "process %u counts %" PRIu64 " %s, its transactions %u",
			p->serial, counted, name, decided);
}

/* Every dead letter taken is counted once; one whose read another one parks in the same batch is
 * counted with that, or as merged. */
static void check_taken(struct process *p)
{
	const struct loop_stats *s = loop_stats(p->loop);
	const struct txn_counts *d = &p->landed;
	uint64_t counted = s->queued + s->merged + s->seen + s->redriven + s->parked_at_intake;

	if (counted > d->taken || counted + d->parked_with < d->taken)
		violate(p->world, "COUNT",
			"process %u counts %" PRIu64 " dead letters taken, not %u", p->serial,
			counted, d->taken);
}

/* Every decided outcome is counted once. */
static void check_counters(struct process *p)
{
	const struct loop_stats *s = loop_stats(p->loop);
	const struct txn_counts *d = &p->landed;

	check_count(p, "intake", s->intake, d->intake);
	check_count(p, "committed and duplicate", s->committed + s->duplicate, d->left);
	check_count(p, "requeued", s->requeued, d->requeued);
	check_count(p, "parked", s->parked, d->parked);
	check_count(p, "redriven", s->redriven, d->redriven);
	check_count(p, "handed over", s->handed_over, d->handed_over);
	check_taken(p);
	check_count(p, "queued", s->queued, d->queued);
	check_count(p, "parked at intake", s->parked_at_intake, d->parked_at_intake);
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		check_count(
			p, cause_name((enum cause)c), s->parked_by_cause[c], d->parked_by_cause[c]);
}

/* --until-idle says that nothing is left to do in what it owned. */
void check_idle(struct process *p)
{
	struct world *w = p->world;

	for (size_t i = 0; i < w->truth.n_reads; i++) {
		const struct read *r = w->truth.reads[i];

		if (r->live && is_owner(p, r->key->partition) && r->entry.due_us <= p->idle_us)
			violate(w, "P6", "process %u is idle, but %.*s is due", p->serial,
				SLICE_FMT(r->key->text));
	}
}

void check_step(struct process *p)
{
	struct world *w = p->world;
	uint64_t state = w->decided + p->transactions; /* both only grow */

	for (int32_t i = 0; i < w->setup.n && !w->violation[0]; i++) {
		const struct partition *q = loop_partition(p->loop, i);

		if (q && is_owner(p, i) && group_member(w, p) && p->compared[i] != state) {
			check_partition(p, q);
			p->compared[i] = state;
		}
	}
	check_counters(p);
}

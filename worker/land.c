/* land.c: the Kafka transaction of a batch, and what follows once it is known to have landed. */
#include "loop_state.h"

/* What was applied of the inbox is left to the broker now and then, not batch by batch. */
#define TRIM_PAUSE_US (60ll * 1000 * 1000)

static struct owned *owner_of(struct loop *l, const struct log_record *r)
{
	return r->topic == TOPIC_DLQ || r->topic == TOPIC_PARKED ? l->owned[r->partition] : NULL;
}

static int fold_record(struct loop *l, struct owned *o, const struct log_record *r, struct err *err)
{
	int64_t *certain = r->topic == TOPIC_DLQ ? &o->dlq_certain : &o->parked_certain;

	if (r->offset >= *certain)
		*certain = r->offset + 1;
	if (r->topic == TOPIC_DLQ)
		return fold_dlq(&o->partition, &l->fold_rules, r->key, r->value, r->offset, err);
	return fold_parked(&o->partition, &l->fold_rules, r->key, r->value, r->offset, err);
}

/* A put is due again at due_us: a new entry at once, from memory. */
static void note_put(struct item *item, int64_t offset)
{
	if (item->kind == ITEM_REPLAY) {
		replay_note(item->owned, item->settle.record->due_us);
		return;
	}
	item->offset = offset;
	tickets_find_from(&item->owned->partition.tickets, item->key, item->record->content, true)
		->in_memory = 1;
}

/* An outage: the entry stays as it was, and is read again from the DLQ. */
static void note_kept(struct item *item)
{
	struct ticket *t = tickets_find_from(
		&item->owned->partition.tickets, item->key, item->record->content, true);

	if (!t)
		return;
	t->in_memory = 0;
	replay_note(item->owned, t->due_us);
}

/* Never the error's text, which may quote the payload. */
static void report_parked(struct loop *l, const struct record *r, enum cause cause)
{
	struct record_place at = {.topic = r->dead_letter.topic,
		.partition = r->dead_letter.partition,
		.offset = r->dead_letter.offset,
		.key = r->idempotency_key};
	struct slice what = slice_is_null(r->error.code) ? r->error.class : r->error.code;

	loop_report_at(l, 'W', "parked", &at, "as %s, attempts %u%s%.*s", cause_name(cause),
		r->attempts, slice_is_null(what) ? "" : ", error ", SLICE_FMT(what));
}

static void apply_item(struct loop *l, struct item *item)
{
	bool replay = item->kind == ITEM_REPLAY;

	if (replay && item->settle.action == SETTLE_KEEP)
		note_kept(item);
	else if (replay && item->settle.action == SETTLE_PARK)
		report_parked(l, item->settle.record, item->settle.cause);
	else if (!replay && item->merge.action == MERGE_PARK)
		report_parked(l, item->record, item->merge.ticket.cause);
}

static void add_stats(struct loop_stats *to, const struct loop_stats *from)
{
	const uint64_t *f = (const uint64_t *)from;
	uint64_t *t = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += f[i];
}
_Static_assert(sizeof(struct loop_stats) % sizeof(uint64_t) == 0, "counters only");

static int apply(struct loop *l, struct batch *b, struct err *err)
{
	for (size_t i = 0; i < b->records.n; i++) {
		const struct log_record *rec = &b->records.v[i];
		struct owned *o = owner_of(l, rec);
		int r = o ? fold_record(l, o, rec, err) : 0;

		if (r)
			return err_set(
				err, ERR_INTERNAL, "own record does not fold: %s", err->text);
		if (b->record_items.v[i])
			note_put(b->record_items.v[i], rec->offset);
	}
	for (size_t i = 0; i < b->items.n; i++)
		apply_item(l, b->items.v[i]);
	b->stats.batches = b->records.n || b->took_in;
	add_stats(&l->stats, &b->stats);
	return 0;
}

static void trim_inboxes(struct loop *l)
{
	int64_t now_us = clock_steady_us(l->clock);

	if (now_us - l->trimmed_us < TRIM_PAUSE_US)
		return;
	l->trimmed_us = now_us;
	for (int32_t p = 0; p < l->config->partitions; p++) {
		struct owned *o = l->owned[p];

		if (!o || o->partition.checkpoint.inbox_offset <= o->inbox_trimmed)
			continue;
		o->inbox_trimmed = o->partition.checkpoint.inbox_offset;
		l->log->ops->trim(l->log, TOPIC_INBOX, p, o->inbox_trimmed);
	}
}

static int renew_producer(struct loop *l, struct err *err)
{
	int r = l->log->ops->renew_producer(l->log, err);

	if (!r)
		l->producer_stale = false;
	return r;
}

static int transact(struct loop *l, struct batch *b, struct err *err)
{
	struct log_end end = {0};
	int64_t began_us;
	int r = l->producer_stale ? renew_producer(l, err) : 0;

	if (r)
		return r;
	/* Stale until it is known to have ended cleanly: a late EndTxn must not end a later
	 * transaction (KAFKA-17754; librdkafka lacks KIP-890 part 2). */
	l->producer_stale = true;
	loop_tick(l);
	began_us = clock_steady_us(l->clock);
	r = l->log->ops->transact(
		l->log, b->records.v, b->records.n, b->offsets.v, b->offsets.n, &end, err);
	histogram_add(&l->transaction, clock_steady_us(l->clock) - began_us);
	loop_tick(l);
	if (r)
		return r;
	l->producer_stale = !end.clean;
	if (!end.landed)
		return err_set(err, ERR_UNREACHABLE,
			"the outcome of a transaction of %zu records is not known", b->records.n);
	return 0;
}

int land(struct loop *l, struct err *err)
{
	struct batch *b = l->prev;
	int r;

	if (!b)
		return 0;
	plan_seal(l, b);
	if (b->records.n || b->took_in) {
		r = transact(l, b, err);
		if (r)
			return r;
	}
	r = apply(l, b, err);
	if (r)
		return r;
	trim_inboxes(l);
	loop_recycle(l, TAKE_PTR(b->donor));
	loop_recycle(l, TAKE_PTR(l->donor)); /* not taken where the loop ends */
	l->donor = b;
	l->prev = NULL;
	return 0;
}

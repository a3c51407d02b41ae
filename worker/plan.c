/* plan.c: the records that a batch writes, from what was decided for each of its items. */
#include "instant.h"
#include "key.h"
#include "loop_state.h"

#include <stdio.h>

static struct log_record *add_record(struct batch *b, int topic, int32_t partition,
	struct slice key, struct slice value, struct item *puts)
{
	struct log_record *r = &VEC_PUSH(&b->records);

	*r = (struct log_record){
		.topic = topic, .partition = partition, .key = key, .value = value, .offset = -1};
	VEC_PUSH(&b->record_items) = puts;
	return r;
}

static struct slice instant_text(struct arena *a, int64_t us)
{
	char *text = arena_alloc(a, INSTANT_TEXT_BYTES);

	return slice_of(text, instant_format(us, text));
}

#define HEADERS_MAX 6

/* For people with kcat or a Kafka UI; never read back. cause: NULL but for what is parked. */
static void set_headers(
	struct arena *a, struct log_record *r, const struct record *of, const char *cause)
{
	struct header *h = arena_alloc(a, HEADERS_MAX * sizeof(*h));
	char *attempts = arena_alloc(a, 16);
	int n = snprintf(attempts, 16, "%u", of->attempts);

	r->headers = h;
	*h++ = (struct header){SLICE_LIT("dlq-reason"), slice_str(reason_name(of->reason))};
	*h++ = (struct header){SLICE_LIT("dlq-attempts"), slice_of(attempts, (size_t)n)};
	*h++ = (struct header){SLICE_LIT("dlq-first-seen"), instant_text(a, of->first_seen_us)};
	*h++ = (struct header){SLICE_LIT("dlq-last-seen"), instant_text(a, of->last_seen_us)};
	if (!slice_is_null(of->error.code))
		*h++ = (struct header){SLICE_LIT("dlq-error-code"), of->error.code};
	if (cause)
		*h++ = (struct header){SLICE_LIT("dlq-cause"), slice_str(cause)};
	r->n_headers = (size_t)(h - r->headers);
}

static void put_entry(struct batch *b, struct item *item, const struct record *r)
{
	struct slice key = key_of_entry(&b->arena, r->idempotency_key, item->suffixed, r->content);
	struct log_record *rec = add_record(b, TOPIC_DLQ, item->owned->partition.number, key,
		record_encode(&b->arena, r), item);

	set_headers(&b->arena, rec, r, NULL);
}

static void put_tombstone(struct batch *b, const struct item *item)
{
	const struct record *r = item->record;

	add_record(b, TOPIC_DLQ, item->owned->partition.number,
		key_of_entry(&b->arena, r->idempotency_key, item->suffixed, r->content), SLICE_NULL,
		NULL);
}

/* A parked read fits its topic whatever the row holds, which is still there to be looked at. */
static struct slice committed_to_show(struct arena *a, struct slice row)
{
	if (row.n <= (size_t)PARKED_COMMITTED_BYTES)
		return row;
	return slice_str(arena_printf(a, "{\"omitted\":\"a row of %zu bytes\"}", row.n));
}

static void put_event(struct loop *l, struct batch *b, const struct item *item,
	const struct record *r, enum parked_event event, enum cause cause)
{
	struct parked parked = {.entry = *r,
		.event = event,
		.cause = cause,
		.at_us = clock_now_us(l->clock),
		.by = slice_str("meter-dlq"),
		.committed = committed_to_show(&b->arena, item->committed)};
	struct log_record *rec = add_record(b, TOPIC_PARKED, item->owned->partition.number,
		r->idempotency_key, parked_encode(&b->arena, &parked), NULL);

	set_headers(&b->arena, rec, r, event == EVENT_PARKED ? cause_name(cause) : NULL);
	if (event == EVENT_PARKED) {
		b->stats.parked++;
		b->stats.parked_by_cause[cause]++;
	}
}

static void plan_intake(struct loop *l, struct batch *b, struct item *item)
{
	enum cause cause = item->merge.ticket.cause;

	switch (item->merge.action) {
	case MERGE_PARK:
		put_event(l, b, item, item->record, EVENT_PARKED, cause);
		b->stats.parked_at_intake++;
		if (item->merge.was_live)
			put_tombstone(b, item);
		break;
	case MERGE_REDRIVE:
		put_event(l, b, item, item->record, EVENT_REDRIVEN, cause);
		b->stats.redriven++;
		put_entry(b, item, item->record);
		break;
	case MERGE_NEW:
		b->stats.queued++;
		put_entry(b, item, item->record);
		break;
	case MERGE_BUMP:
		put_entry(b, item, item->record);
		break;
	case MERGE_SEEN:
	default:
		break;
	}
}

static void plan_replay(struct loop *l, struct batch *b, struct item *item)
{
	const struct settle *s = &item->settle;

	switch (s->action) {
	case SETTLE_LEAVE:
		put_tombstone(b, item);
		break;
	case SETTLE_PARK:
		put_event(l, b, item, s->record, EVENT_PARKED, s->cause);
		put_tombstone(b, item);
		break;
	case SETTLE_PUT:
		put_entry(b, item, s->record);
		b->stats.requeued++;
		break;
	case SETTLE_KEEP:
	default:
		break;
	}
}

static void plan_handover(struct batch *b, const struct handover *h)
{
	add_record(b, TOPIC_INBOX, h->partition, h->key, inbox_encode(&b->arena, &h->inbox), NULL);
}

void plan_seal(struct loop *l, struct batch *b)
{
	for (size_t i = 0; i < b->items.n; i++)
		if (b->items.v[i]->kind == ITEM_INTAKE)
			plan_intake(l, b, b->items.v[i]);
		else
			plan_replay(l, b, b->items.v[i]);
	for (size_t i = 0; i < b->handovers.n; i++)
		plan_handover(b, &b->handovers.v[i]);
}

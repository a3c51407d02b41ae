#include "history.h"

#include "key.h"

#include <stdlib.h>

const char *history_kind_name(enum history_kind kind)
{
	static const char *const names[] = {
		[HISTORY_PUT] = "put",
		[HISTORY_BUMPED] = "bumped",
		[HISTORY_TOMBSTONE] = "tombstone",
		[HISTORY_PARKED] = "parked",
		[HISTORY_REDRIVEN] = "redriven",
		[HISTORY_RESOLVED] = "resolved",
	};

	return names[kind];
}

const char *history_state_name(enum history_state state)
{
	static const char *const names[] = {
		[HISTORY_LIVE] = "live",
		[HISTORY_IS_PARKED] = "parked",
		[HISTORY_IS_RESOLVED] = "resolved",
		[HISTORY_GONE] = "gone",
	};

	return names[state];
}

static struct history_read *read_of(struct history *h, size_t key, uint64_t content)
{
	for (size_t i = h->chains[key].read; i; i = h->reads[i - 1].next)
		if (h->reads[i - 1].content == content)
			return &h->reads[i - 1];
	if (h->n_reads == h->cap_reads) {
		h->cap_reads = h->cap_reads ? 2 * h->cap_reads : 16;
		h->reads = mem_realloc(h->reads, h->cap_reads * sizeof(*h->reads));
	}
	h->reads[h->n_reads] = (struct history_read){
		.key = key, .next = h->chains[key].read, .content = content, .state = HISTORY_GONE};
	h->chains[key].read = ++h->n_reads;
	return &h->reads[h->n_reads - 1];
}

static void add_event(struct history *h, const struct history_event *e)
{
	if (h->n_events == HISTORY_EVENTS_MAX) {
		h->events_cut++;
		return;
	}
	if (h->n_events == h->cap_events) {
		h->cap_events = h->cap_events ? 2 * h->cap_events : 64;
		h->events = mem_realloc(h->events, h->cap_events * sizeof(*h->events));
	}
	h->events[h->n_events] = *e;
	h->events[h->n_events].before = h->chains[e->key].event;
	h->chains[e->key].event = ++h->n_events;
}

/* What was last under the same key of the DLQ; NULL: nothing that is still there. */
static const struct history_event *before(
	const struct history *h, size_t key, bool suffixed, uint64_t content)
{
	for (size_t i = h->chains[key].event; i; i = h->events[i - 1].before) {
		const struct history_event *e = &h->events[i - 1];

		if (e->suffixed == suffixed && (!suffixed || e->content == content))
			return e;
	}
	return NULL;
}

static void set_record(
	struct history_read *read, struct slice value, bool event, const struct record *r)
{
	read->record.n = 0;
	buf_add(&read->record, value.p, value.n);
	read->event_is_last = event;
	read->last_us = r->last_seen_us;
}

static struct history_event event_at(const struct log_message *m, size_t key)
{
	return (struct history_event){.key = key,
		.topic = m->topic,
		.partition = m->partition,
		.offset = m->offset,
		.timestamp_ms = m->timestamp_ms};
}

static void describe(struct history_event *e, const struct record *r)
{
	e->has_content = true;
	e->content = r->content;
	e->attempts = r->attempts;
	e->replays = r->replays;
	e->reason = r->reason;
}

struct loading {
	struct history *history;
	struct selection *selection;
};

static uint64_t suffix_content(struct slice dlq_key)
{
	char hex[17] = {0};

	memcpy(hex, dlq_key.p + dlq_key.n - 16, 16);
	return strtoull(hex, NULL, 16);
}

static void take_tombstone(struct history *h, struct history_event *e, struct slice dlq_key)
{
	const struct history_event *last;
	uint64_t content = e->suffixed ? suffix_content(dlq_key) : 0;

	last = before(h, e->key, e->suffixed, content);
	e->kind = HISTORY_TOMBSTONE;
	e->has_content = e->suffixed || (last && last->has_content);
	e->content = e->suffixed ? content : last ? last->content : 0;
	if (e->has_content)
		read_of(h, e->key, e->content)->state = HISTORY_GONE;
	add_event(h, e);
}

static void take_entry(struct loading *l, const struct log_message *m)
{
	struct history *h = l->history;
	const struct history_event *last;
	struct history_event e;
	struct history_read *read;
	struct record r;
	struct slice key;
	bool suffixed;
	ptrdiff_t number;

	if (key_is_checkpoint(m->key) || !key_split_entry(m->key, &key, &suffixed) ||
		(number = dictionary_find(&h->keys, key)) < 0)
		return;
	e = event_at(m, (size_t)number);
	e.suffixed = suffixed;
	if (slice_is_null(m->value)) {
		take_tombstone(h, &e, m->key);
		return;
	}
	if (record_decode(m->value, &r, &(struct err){0}))
		return;
	last = before(h, e.key, suffixed, r.content);
	e.kind = last && last->kind != HISTORY_TOMBSTONE ? HISTORY_BUMPED : HISTORY_PUT;
	describe(&e, &r);
	add_event(h, &e);
	read = read_of(h, e.key, r.content);
	read->state = HISTORY_LIVE;
	set_record(read, m->value, false, &r);
}

static void take_event(struct loading *l, const struct log_message *m)
{
	struct history *h = l->history;
	ptrdiff_t number = dictionary_find(&h->keys, m->key);
	struct history_event e;
	struct history_read *read;
	struct parked p;

	if (number < 0 || parked_decode(m->value, &p, &(struct err){0}))
		return;
	e = event_at(m, (size_t)number);
	e.kind = p.event == EVENT_PARKED     ? HISTORY_PARKED
		 : p.event == EVENT_REDRIVEN ? HISTORY_REDRIVEN
					     : HISTORY_RESOLVED;
	e.cause = p.cause;
	describe(&e, &p.entry);
	add_event(h, &e);
	read = read_of(h, e.key, p.entry.content);
	if (read->state == HISTORY_LIVE)
		return;
	read->state = e.kind == HISTORY_PARKED	   ? HISTORY_IS_PARKED
		      : e.kind == HISTORY_RESOLVED ? HISTORY_IS_RESOLVED
						   : HISTORY_GONE;
	set_record(read, m->value, true, &p.entry);
}

static int take(void *arg, const struct log_message *m, struct err *err)
{
	(void)err;
	(m->topic == TOPIC_DLQ ? take_entry : take_event)(arg, m);
	return 0;
}

static int by_time(const void *x, const void *y)
{
	const struct history_event *a = x, *b = y;

	if (a->timestamp_ms != b->timestamp_ms)
		return a->timestamp_ms < b->timestamp_ms ? -1 : 1;
	if (a->topic != b->topic) /* of one transaction: parked, then gone from the queue */
		return a->topic == TOPIC_PARKED ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int by_last_failure(const void *x, const void *y)
{
	const struct history_read *a = x, *b = y;

	if (a->last_us != b->last_us)
		return a->last_us < b->last_us ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->content > b->content) - (a->content < b->content);
}

static int read_topic(struct loading *l, int topic, struct err *err)
{
	struct topic_reader *reader = &l->selection->in.reader;
	int32_t n = l->selection->in.rules.partitions;
	AUTO_FREE struct log_range *ranges = mem_zalloc((size_t)n * sizeof(*ranges));
	int r = topic_reader_whole_topic(reader, topic, n, ranges, err);

	return r ? r : topic_reader_read(reader, ranges, (size_t)n, take, l, err);
}

int history_load(struct history *h, struct selection *s, struct err *err)
{
	struct loading l = {h, s};
	int r;

	h->chains = mem_zalloc((h->keys.n + 1) * sizeof(*h->chains));
	r = read_topic(&l, TOPIC_DLQ, err); /* first: what is live there wins (fold.h) */
	if (!r)
		r = read_topic(&l, TOPIC_PARKED, err);
	if (h->n_events)
		qsort(h->events, h->n_events, sizeof(*h->events), by_time);
	if (h->n_reads)
		qsort(h->reads, h->n_reads, sizeof(*h->reads), by_last_failure);
	return r;
}

void history_free(struct history *h)
{
	for (size_t i = 0; i < h->n_reads; i++)
		buf_free(&h->reads[i].record);
	free(h->reads);
	free(h->chains);
	free(h->events);
	dictionary_free(&h->keys);
}

#include "replay.h"

#include "loop_state.h"

#include <stdlib.h>

/* Reading over this many records costs less than a new fetch position. */
#define GAP_RECORDS 5000
#define READ_CHUNK 512
/* A look at all tickets of a partition takes 10 ms a million: not more often than this. */
#define SCAN_PAUSE_US (100ll * 1000)
/* While nothing may be replayed, only expiry is looked for. */
#define EXPIRY_PAUSE_US (3600ll * 1000 * 1000)

void replay_note(struct owned *o, int64_t due_us)
{
	if (due_us < o->replay.next_due_us)
		o->replay.next_due_us = due_us;
}

void replay_go_on(struct loop *l)
{
	for (int32_t p = 0; l->entries_wait && p < l->config->partitions; p++) {
		struct owned *o = l->owned[p];
		struct ticket *t;
		size_t pos = 0;

		while (o && (t = tickets_next(&o->partition.tickets, &pos))) {
			if (t->waits)
				replay_note(o, t->due_us);
			t->waits = 0;
		}
	}
	l->entries_wait = false;
}

static bool scan_worthwhile(struct loop *l, const struct owned *o, int64_t now_us)
{
	int64_t since = now_us - o->replay.scanned_us;

	if (since < 0) /* the clock was set back */
		return true;
	if (!deliver_possible(l))
		return since >= EXPIRY_PAUSE_US;
	return o->replay.next_due_us <= now_us && (since >= SCAN_PAUSE_US || l->config->until_idle);
}

static int by_offset(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Keeps the lower half; what is left out is found by the next scan. */
static void keep_lowest(struct replay_reader *rd, int64_t *bound)
{
	qsort(rd->wanted, rd->n, sizeof(*rd->wanted), by_offset);
	rd->n /= 2;
	*bound = rd->wanted[rd->n - 1].offset;
}

static void scan(struct loop *l, struct owned *o, int64_t now_us)
{
	struct replay_reader *rd = &l->reader;
	bool possible = deliver_possible(l);
	int64_t bound = INT64_MAX, next_due = INT64_MAX;
	struct ticket *t;
	size_t pos = 0;

	rd->n = 0;
	while ((t = tickets_next(&o->partition.tickets, &pos))) {
		bool expired;

		if (t->state != TICKET_LIVE || t->in_memory)
			continue;
		expired = settle_expired(&l->config->replay, t->last_us, t->due_us, now_us);
		if (t->waits && !expired)
			continue;
		if (!expired && !(possible && t->due_us <= now_us)) {
			next_due = t->due_us < next_due ? t->due_us : next_due;
		} else if (t->offset > bound) {
			next_due = now_us;
		} else {
			rd->wanted[rd->n++] = (struct wanted){t->offset, t};
			if (rd->n == REPLAY_WANTED_MAX) {
				keep_lowest(rd, &bound);
				next_due = now_us;
			}
		}
	}
	qsort(rd->wanted, rd->n, sizeof(*rd->wanted), by_offset);
	o->replay.next_due_us = next_due;
	o->replay.scanned_us = now_us;
}

/* Opens the reader on wanted offsets that lie close together. */
static int start_run(struct loop *l, struct err *err)
{
	struct replay_reader *rd = &l->reader;
	struct log_range range = {
		TOPIC_DLQ, rd->owned->partition.number, rd->wanted[rd->next].offset, 0};

	rd->run_end = rd->next + 1;
	while (rd->run_end < rd->n &&
		rd->wanted[rd->run_end].offset - rd->wanted[rd->run_end - 1].offset <= GAP_RECORDS)
		rd->run_end++;
	range.to = rd->wanted[rd->run_end - 1].offset + 1;
	return l->log->ops->read_start(l->log, &range, 1, err);
}

static int start_pass(struct loop *l, int64_t now_us, struct err *err)
{
	struct replay_reader *rd = &l->reader;

	for (int32_t p = 0; p < l->config->partitions; p++) {
		struct owned *o = l->owned[p];

		if (!o || !scan_worthwhile(l, o, now_us))
			continue;
		scan(l, o, now_us);
		if (!rd->n)
			continue;
		rd->owned = o;
		rd->next = 0;
		return start_run(l, err);
	}
	return 0;
}

static void release_messages(struct loop *l)
{
	struct replay_reader *rd = &l->reader;

	if (rd->n_messages)
		l->log->ops->release(l->log, rd->v, rd->n_messages);
	arena_reset(&rd->arena);
	rd->n_messages = rd->next_message = 0;
}

void replay_drop(struct loop *l)
{
	release_messages(l);
	if (l->reader.owned)
		replay_note(l->reader.owned, INT64_MIN);
	l->reader.owned = NULL;
}

static struct settle parked_as(const struct record *r, enum cause cause)
{
	return (struct settle){.action = SETTLE_PARK, .cause = cause, .record = r};
}

/* It was understood when it was taken in: settings, or the registry, may yet let it be again. */
static struct settle failed_as_malformed(
	struct loop *l, const struct record *r, const char *why, int64_t now_us)
{
	struct arena *a = &l->next->arena;
	const struct outcome failed = {.kind = OUTCOME_FAILED, .message = slice_str(why)};
	struct settle s = settle_outcome(a, &l->config->replay, r, &failed, now_us);
	struct record *next = arena_alloc(a, sizeof(*next));

	*next = *s.record;
	next->error.class = SLICE_LIT("malformed");
	next->error.code = SLICE_NULL;
	s.record = next;
	return s;
}

enum judgement {
	GOES_ON, /* to Postgres */
	SETTLED, /* already */
	WAITS,	 /* for its schema: it stays as it is */
};

static enum judgement judge(struct loop *l, const struct record *r, int64_t now_us,
	struct meter_read *ret, struct settle *ret_settled)
{
	const char *malformed;
	bool wait;

	if (r->reason == REASON_PERMANENT_4XX) {
		*ret_settled = parked_as(r, CAUSE_PERMANENT);
		return SETTLED;
	}
	if (settle_expired(&l->config->replay, r->last_seen_us, r->due_us, now_us)) {
		*ret_settled = parked_as(r, CAUSE_EXPIRED);
		return SETTLED;
	}
	malformed = record_decode_read(&l->next->arena, &l->decode, r, ret, &wait);
	if (wait)
		return WAITS;
	if (malformed) {
		*ret_settled = failed_as_malformed(l, r, malformed, now_us);
		return SETTLED;
	}
	return GOES_ON;
}

static void add_entry(struct loop *l, struct log_message *m, struct ticket *t,
	struct record *record, int64_t now_us)
{
	struct settle settled = {0};
	struct meter_read *read = arena_alloc(&l->next->arena, sizeof(*read));
	enum judgement judgement = judge(l, record, now_us, read, &settled);
	struct item *item;

	if (judgement == WAITS) {
		t->waits = 1;
		l->entries_wait = true;
		l->next->bytes += m->value.n; /* it has taken memory of this batch */
		return;
	}
	item = batch_add(l->next, ITEM_REPLAY, l->reader.owned, t->key);
	item->record = record;
	item->read = read;
	item->settle = settled;
	item->suffixed = t->suffixed;
	t->in_memory = 1;
	batch_keep(l->next, m);
	if (judgement == GOES_ON)
		VEC_PUSH(&l->next->due) = item;
}

static int take_entry(
	struct loop *l, struct log_message *m, struct ticket *t, int64_t now_us, struct err *err)
{
	struct owned *o = l->reader.owned;
	struct record *record;
	int r;

	if (t->state != TICKET_LIVE || t->offset != m->offset || t->in_memory)
		return 0;
	if (batch_find(l->sent, t->key) || batch_find(l->next, t->key)) {
		replay_note(o, now_us);
		return 0;
	}
	record = arena_alloc(&l->next->arena, sizeof(*record));
	r = record_decode(m->value, record, err);
	if (r)
		return err_prefix(err, "%s partition %d offset %lld", l->config->topics[TOPIC_DLQ],
			m->partition, (long long)m->offset);
	add_entry(l, m, t, record, now_us);
	return 0;
}

/* The log has passed an offset that the tickets call live: they are not to be trusted. */
static int hole(struct loop *l, const struct wanted *w, struct err *err)
{
	struct owned *o = l->reader.owned;

	if (w->ticket->state != TICKET_LIVE || w->ticket->offset != w->offset ||
		w->ticket->in_memory)
		return 0;
	o->dlq_certain = o->parked_certain = -1;
	return err_set(err, ERR_RANGE,
		"%s partition %d: no record at offset %lld, where an entry is; restoring anew",
		l->config->topics[TOPIC_DLQ], o->partition.number, (long long)w->offset);
}

static int take_messages(struct loop *l, int64_t now_us, struct err *err)
{
	struct replay_reader *rd = &l->reader;
	struct batch *b = l->next;

	while (rd->next_message < rd->n_messages && b->due.n < l->replay_room &&
		b->bytes < l->config->batch_max_bytes) {
		struct log_message *m = &rd->v[rd->next_message++];
		int r = 0;

		while (!r && rd->next < rd->run_end && rd->wanted[rd->next].offset < m->offset)
			r = hole(l, &rd->wanted[rd->next++], err);
		if (!r && rd->next < rd->run_end && rd->wanted[rd->next].offset == m->offset &&
			!m->position_only)
			r = take_entry(l, m, rd->wanted[rd->next++].ticket, now_us, err);
		if (r)
			return r;
	}
	return 0;
}

/* More messages of this run; at its end the next run, at the last one's end the pass is over. */
static int read_more(struct loop *l, struct err *err)
{
	struct replay_reader *rd = &l->reader;
	int timeout_ms = l->sent || l->next->items.n ? 0 : 10;
	bool done;
	int r;

	release_messages(l);
	if (rd->next >= rd->run_end) {
		if (rd->run_end < rd->n)
			return start_run(l, err);
		rd->owned = NULL;
		return 0;
	}
	r = l->log->ops->read_next(
		l->log, &rd->arena, rd->v, READ_CHUNK, timeout_ms, &rd->n_messages, &done, err);
	if (!r && done && !rd->n_messages)
		while (!r && rd->next < rd->run_end)
			r = hole(l, &rd->wanted[rd->next++], err);
	return r;
}

int replay_take(struct loop *l, int64_t now_us, struct err *err)
{
	struct replay_reader *rd = &l->reader;
	struct batch *b = l->next;
	int r = 0;

	if (!rd->v) {
		rd->v = mem_zalloc(READ_CHUNK * sizeof(*rd->v));
		rd->wanted = mem_zalloc(REPLAY_WANTED_MAX * sizeof(*rd->wanted));
	}
	if (!rd->owned)
		r = start_pass(l, now_us, err);
	while (!r && rd->owned && b->due.n < l->replay_room &&
		b->bytes < l->config->batch_max_bytes) {
		if (rd->next_message == rd->n_messages) {
			bool at_hand = rd->next >= rd->run_end;

			r = read_more(l, err);
			if (r || (!rd->n_messages && !at_hand))
				break;
		}
		r = take_messages(l, now_us, err);
	}
	return r;
}

static bool all_scanned(const struct loop *l)
{
	for (int32_t p = 0; p < l->config->partitions; p++)
		if (l->owned[p] && !l->owned[p]->replay.scanned_us)
			return false;
	return true;
}

/* When the next entry falls due, INT64_MAX for never; may be too early, never too late. */
static int64_t next_due_us(const struct loop *l)
{
	int64_t next = INT64_MAX;

	for (int32_t p = 0; p < l->config->partitions; p++)
		if (l->owned[p] && l->owned[p]->replay.next_due_us < next)
			next = l->owned[p]->replay.next_due_us;
	return next;
}

bool replay_pending(struct loop *l, int64_t now_us)
{
	if (l->reader.owned)
		return true;
	/* Without replay.auto nothing falls due; but what has expired is looked for. */
	if (!l->config->replay_auto)
		return !all_scanned(l);
	return next_due_us(l) <= now_us;
}

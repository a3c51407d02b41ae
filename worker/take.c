/* take.c: from dead letters and due entries to the next batch. */
#include "dialect.h"
#include "framing.h"
#include "incoming.h"
#include "key.h"
#include "loop_state.h"

struct log_position *loop_position(struct loop *l, int topic, int32_t partition)
{
	for (size_t i = 0; i < l->positions.n; i++) {
		size_t at = (l->position_hint + i) % l->positions.n;
		struct log_position *pos = &l->positions.v[at];

		if (pos->topic == topic && pos->partition == partition) {
			l->position_hint = at;
			return pos;
		}
	}
	return NULL;
}

/* How often to look at a probe, for a schema, or for room under replay.max.rate. */
#define LOOK_MS 20

enum taken {
	TAKEN,
	WAITS_FOR_KEY,	  /* not in this batch */
	WAITS_TO_RESOLVE, /* nor anything behind it in its partition, until it can be read */
};

/* Mostly a schema or an original is there within milliseconds; as long nothing is taken, which is
 * cheaper than to fetch again what was fetched. Then its partition waits alone. */
#define SOON_US (100ll * 1000)

static bool comes_soon(const struct loop *l)
{
	return l->wanted_us && clock_steady_us(l->clock) - l->wanted_us < SOON_US &&
	       !l->schemas->ops->away_since_us(l->schemas);
}

bool loop_waits(const struct loop *l, int topic, int32_t partition)
{
	for (size_t i = 0; i < l->waiting.n; i++)
		if (l->waiting.v[i].topic == topic && l->waiting.v[i].partition == partition)
			return true;
	return false;
}

static void want_original(struct loop *l, const struct log_message *m)
{
	uint32_t cut;
	struct dialect_facts facts;
	struct log_message unused;
	const char *why;

	dialect_read(headers_encode(&l->next->arena, m->headers, m->n_headers, &cut), &facts);
	if (facts.pointer)
		l->log->ops->original(l->log, &facts.origin, &unused, &why);
}

static void want_schema(struct loop *l, const struct log_message *m)
{
	uint32_t cut;
	struct framing f;
	struct slice headers = headers_encode(&l->next->arena, m->headers, m->n_headers, &cut);

	if (!framing_detect(headers, m->value, &f) && f.kind == FRAMING_SCHEMA)
		l->schemas->ops->find(l->schemas, &f.schema);
}

/* Those of all that is fetched come together. */
static void want_ahead(struct loop *l)
{
	for (size_t i = l->intake.next; i < l->intake.n; i++) {
		const struct log_message *m = &l->intake.v[i];

		if (m->topic == TOPIC_INBOX || m->position_only)
			continue;
		if (slice_is_null(m->key) && slice_is_null(m->value))
			want_original(l, m);
		else
			want_schema(l, m);
	}
	l->wanted_us = clock_steady_us(l->clock);
}

/* The other partitions go on; false: soon. */
static bool hold(struct loop *l, const struct log_position *pos)
{
	if (!l->wanted_us)
		want_ahead(l);
	if (comes_soon(l))
		return false;
	VEC_PUSH(&l->waiting) = *pos;
	l->assign_stale = true;
	return true;
}

int resolve(struct loop *l, struct err *err)
{
	int wait_ms = comes_soon(l) ? LOOK_MS / 2 : 0;
	bool schemas, originals;
	int r = l->schemas->ops->step(l->schemas, wait_ms, &schemas, err);

	if (!r)
		r = l->log->ops->fetch_originals(l->log, schemas ? 0 : wait_ms, &originals, err);
	if (r || !(schemas || originals))
		return r;
	l->wanted_us = 0;
	if (schemas)
		replay_go_on(l);
	if (!l->waiting.n)
		return 0;
	l->waiting.n = 0;
	l->assign_stale = true;
	loop_release_fetched(l); /* it was passed over there */
	return 0;
}

static void hand_over(struct loop *l, const struct dead_letter *d, const struct decoded *decoded,
	int32_t partition)
{
	VEC_PUSH(&l->next->handovers) = (struct handover){.partition = partition,
		.key = decoded->record.idempotency_key,
		.inbox = dead_letter_to_inbox(d, decoded)};
	l->next->stats.handed_over++;
}

/* Whether the dead letter must wait: its key is in flight, or here with another content or role. */
static bool must_wait(
	const struct loop *l, const struct item *here, struct key128 key, uint64_t content)
{
	if (batch_find(l->sent, key))
		return true;
	return here && (here->kind == ITEM_REPLAY || here->record->content != content);
}

static void put_merged(struct loop *l, struct owned *o, const struct decoded *d,
	const struct merge *m, struct item *item, const struct ticket *existing)
{
	if (!item) {
		item = batch_add(l->next, ITEM_INTAKE, o, m->ticket.key);
		item->record = arena_alloc(&l->next->arena, sizeof(*item->record));
		item->read = arena_alloc(&l->next->arena, sizeof(*item->read));
		item->merge = *m;
		item->suffixed =
			existing && existing->state == TICKET_LIVE
				? existing->suffixed
				: tickets_find_plain(&o->partition.tickets, item->key) != NULL;
	} else {
		/* What is parked now took the dead letter before it along. */
		l->next->stats.merged +=
			m->action == MERGE_PARK && item->merge.action != MERGE_BUMP;
		item->merge = merge_combine(&item->merge, m);
	}
	*item->record = d->record;
	*item->read = d->read;
	ticket_to_record(&item->merge.ticket, item->record);
}

/* Takes one dead letter in; where that waits, nothing has changed. */
static enum taken take_dead_letter(struct loop *l, const struct dead_letter *d, int64_t now_us)
{
	const struct ticket *existing;
	struct decoded decoded;
	struct key128 key;
	struct owned *o;
	struct item *item;
	struct merge m;
	int64_t *taken;
	int32_t partition;

	if (!incoming_decode(&l->next->arena, &l->decode, l->log, d, now_us, &decoded) ||
		decoded.wait)
		return WAITS_TO_RESOLVE;
	if (slice_is_null(d->payload)) /* a pointer's original */
		l->next->bytes += decoded.record.payload.n;
	partition = hash_partition(decoded.record.idempotency_key, l->config->partitions);
	o = l->owned[partition];
	if (!o || !o->assigned) {
		hand_over(l, d, &decoded, partition);
		return TAKEN;
	}
	key = hash_key(&l->fold_rules.seed, decoded.record.idempotency_key);
	item = batch_find(l->next, key);
	if (must_wait(l, item, key, decoded.record.content))
		return WAITS_FOR_KEY;
	existing = item ? &item->merge.ticket
			: tickets_find(&o->partition.tickets, key, decoded.record.content);
	taken = owned_source(o, d->at.topic, d->at.partition);
	m = merge_dead_letter(existing, &decoded, key, d->at.offset < *taken);
	if (d->at.offset >= *taken)
		*taken = d->at.offset + 1;
	o->touched = true;
	if (m.action == MERGE_SEEN) {
		l->next->stats.seen++;
		return TAKEN;
	}
	if (m.action == MERGE_BUMP)
		l->next->stats.merged++;
	put_merged(l, o, &decoded, &m, item, existing);
	return TAKEN;
}

/* An inbox record holds a dead letter; what is no inbox record is a (malformed) one itself. */
static int unwrap_inbox(struct loop *l, const struct log_message *m, int64_t now_us,
	struct dead_letter *ret, struct err *err)
{
	struct inbox in;
	int r = inbox_decode(m->value, &in, err);

	if (r == ERR_DATA) {
		struct record_place at = loop_place(l, m);

		loop_report_at(l, 'W', "inbox-foreign", &at, "%s; it is parked", err->text);
		*ret = incoming_dead_letter(&l->next->arena, l->config->topics, m, now_us);
		return 0;
	}
	if (r)
		return err_prefix(err, "%s partition %d offset %lld", l->config->topics[m->topic],
			m->partition, (long long)m->offset);
	*ret = dead_letter_from_inbox(&in);
	return 0;
}

static int take_message(struct loop *l, const struct log_message *m, int64_t now_us,
	enum taken *ret, struct err *err)
{
	struct dead_letter d = {0};
	int r;

	if (m->topic != TOPIC_INBOX) {
		d = incoming_dead_letter(&l->next->arena, l->config->topics, m, now_us);
		*ret = take_dead_letter(l, &d, now_us);
		l->next->stats.intake += *ret == TAKEN;
		return 0;
	}
	r = unwrap_inbox(l, m, now_us, &d, err);
	if (r)
		return r;
	*ret = take_dead_letter(l, &d, now_us);
	if (*ret == TAKEN) {
		l->owned[m->partition]->taken_inbox = m->offset + 1;
		l->owned[m->partition]->touched = true;
	}
	return 0;
}

/* Takes what was fetched until the batch is full or a dead letter must wait for its key. */
static int take_fetched(
	struct loop *l, size_t full, int64_t now_us, bool *ret_wait, struct err *err)
{
	struct batch *b = l->next;
	enum taken taken = TAKEN;

	while (l->intake.next < l->intake.n && b->messages.n < full &&
		b->bytes < l->config->batch_max_bytes) {
		struct log_message *m = &l->intake.v[l->intake.next];
		struct log_position *pos = loop_position(l, m->topic, m->partition);
		int r;

		if (loop_waits(l, m->topic, m->partition))
			pos = NULL; /* fetched again when it goes on */
		if (pos && m->offset >= pos->offset && !m->position_only) {
			r = take_message(l, m, now_us, &taken, err);
			if (!r && taken == WAITS_TO_RESOLVE && hold(l, pos))
				continue;
			*ret_wait = taken != TAKEN;
			if (r || *ret_wait)
				return r;
			pos->offset = m->offset + 1;
			batch_keep(b, m);
			b->took_in = true;
		} else if (pos && m->offset > pos->offset) {
			pos->offset = m->offset;
		}
		l->intake.next++;
	}
	return 0;
}

static size_t live_total(const struct loop *l)
{
	size_t n = 0;

	for (int32_t p = 0; p < l->config->partitions; p++)
		if (l->owned[p])
			n += tickets_count(&l->owned[p]->partition.tickets);
	return n;
}

void loop_release_fetched(struct loop *l)
{
	if (l->intake.n)
		l->log->ops->release(l->log, l->intake.v, l->intake.n);
	arena_reset(&l->intake.arena);
	l->intake.n = l->intake.next = 0;
}

static int fetch_more(struct loop *l, int timeout_ms, struct err *err)
{
	int r = 0;

	loop_release_fetched(l);
	if (l->assign_stale)
		r = loop_assign(l, err);
	if (r)
		return r;
	return l->log->ops->fetch(
		l->log, &l->intake.arena, l->intake.v, FETCH_CHUNK, timeout_ms, &l->intake.n, err);
}

/* How long a fetch may wait: not at all while something else is ready to go on. */
static int fetch_timeout_ms(struct loop *l, int64_t deadline_us)
{
	int64_t left = (deadline_us - clock_steady_us(l->clock)) / 1000;

	if (l->sent || l->next->due.n || (l->reader.owned && l->replay_room) || left < 0)
		return 0;
	if (l->probing || l->reader.owned || l->waiting.n || l->entries_wait)
		left = left > LOOK_MS ? LOOK_MS : left;
	return (int)left;
}

static int pause_intake(struct loop *l, int64_t deadline_us, struct err *err)
{
	loop_report(l, 'W', "live-max",
		"live.max (%zu tickets) is reached: nothing is taken in until entries leave",
		l->config->live_max);
	return l->log->ops->group_poll(
		l->log, fetch_timeout_ms(l, deadline_us), &l->pending_event, err);
}

static int take_intake(struct loop *l, int64_t now_us, struct err *err)
{
	struct batch *b = l->next;
	int64_t deadline_us = clock_steady_us(l->clock) + l->config->batch_wait_ms * 1000ll;
	size_t full = b->messages.n + l->config->batch_max_records;
	bool wait = false;

	if (live_total(l) >= l->config->live_max)
		return pause_intake(l, deadline_us, err);
	for (;;) {
		int r = take_fetched(l, full, now_us, &wait, err);

		if (r || wait || l->intake.next < l->intake.n || b->messages.n >= full)
			return r;
		r = fetch_more(l, fetch_timeout_ms(l, deadline_us), err);
		if (r || !l->intake.n)
			return r;
	}
}

/* The entries of the batch that landed last are still in memory; the new ones are due at once. */
static void take_fresh(struct loop *l, int64_t now_us)
{
	struct batch *donor = l->donor;

	l->donor = NULL;
	if (!donor)
		return;
	for (size_t i = 0; i < donor->items.n; i++) {
		const struct item *from = donor->items.v[i];
		struct ticket *t;
		struct item *item;

		if (from->kind != ITEM_INTAKE || from->merge.action == MERGE_PARK)
			continue;
		t = tickets_find_from(
			&from->owned->partition.tickets, from->key, from->record->content, true);
		if (!t || t->offset != from->offset)
			continue;
		if (!deliver_possible(l) || t->due_us > now_us ||
			l->next->due.n >= l->replay_room) {
			t->in_memory = 0;
			replay_note(from->owned, t->due_us);
			continue;
		}
		item = batch_add(l->next, ITEM_REPLAY, from->owned, from->key);
		item->record = from->record;
		item->read = from->read;
		item->suffixed = from->suffixed;
		VEC_PUSH(&l->next->due) = item;
	}
	l->next->donor = donor;
}

/* Positions as of the end of this batch: offsets for the group, a checkpoint per partition. */
static void note_positions(struct loop *l)
{
	struct batch *b = l->next;

	for (size_t i = 0; i < l->positions.n; i++)
		VEC_PUSH(&b->offsets) = l->positions.v[i];
	for (int32_t p = 0; p < l->config->partitions; p++) {
		struct owned *o = l->owned[p];
		struct checkpoint c;

		if (!o || !o->touched)
			continue;
		o->touched = false;
		c = (struct checkpoint){.partitions = l->config->partitions,
			.group_id = slice_str(l->config->group_id),
			.key_rule = slice_str(l->config->key_rule_text),
			.inbox_offset = o->taken_inbox,
			.sources = o->taken.v,
			.n_sources = o->taken.n};
		VEC_PUSH(&b->records) = (struct log_record){.topic = TOPIC_DLQ,
			.partition = p,
			.key = KEY_CHECKPOINT,
			.value = checkpoint_encode(&b->arena, &c),
			.offset = -1};
		VEC_PUSH(&b->record_items) = NULL;
	}
}

int take(struct loop *l, struct err *err)
{
	int64_t now_us = clock_now_us(l->clock);
	int r;

	l->replay_room = rate_available(&l->replay_rate, clock_steady_us(l->clock));
	if (l->replay_room > l->config->batch_max_records)
		l->replay_room = l->config->batch_max_records;
	take_fresh(l, now_us);
	r = replay_take(l, now_us, err);
	if (!r)
		r = take_intake(l, now_us, err);
	if (r)
		return r;
	rate_use(&l->replay_rate, l->next->due.n);
	note_positions(l);
	batch_sort_due(l->next);
	return 0;
}

/*
 * restore.c: how an owner comes to certain tickets and positions: after a rebalance, and after
 * any transaction that is not known to have landed. The order of its steps is the fence: see
 * README, "How it recovers".
 */
#include "loop_state.h"

#include <stdlib.h>

#define READ_CHUNK 2048
/* A turn of the loop takes no longer, so that it is seen to be alive; the next one reads on. */
#define SLICE_US (10ll * 1000 * 1000)
/* What was certain stays so for a while without reading on, and a restore may take as long: far
 * less than tombstones live (delete.retention.ms, days). A tombstone that is gone before it was
 * read would leave its entry live for ever. */
#define WARM_US (3600ll * 1000 * 1000)

void owned_free(struct owned *o)
{
	if (!o)
		return;
	partition_free(&o->partition);
	arena_free(&o->taken_arena);
	free(o->taken.v);
	free(o);
}

static struct owned *owned_new(int32_t number)
{
	struct owned *o = mem_zalloc(sizeof(*o));

	o->partition.number = number;
	return o;
}

/* Forgets the tickets: they are folded from the start. */
static void owned_reset(struct owned *o)
{
	int32_t number = o->partition.number;

	partition_free(&o->partition);
	o->partition = (struct partition){.number = number};
	o->dlq_certain = o->parked_certain = 0;
}

/* Starts anew from the landed checkpoint. */
static void owned_reset_taken(struct owned *o)
{
	const struct checkpoint *c = &o->partition.checkpoint;

	arena_free(&o->taken_arena);
	o->taken.n = 0;
	o->taken_inbox = c->inbox_offset;
	o->touched = false;
	for (size_t i = 0; i < c->n_sources; i++)
		*owned_source(o, c->sources[i].topic, c->sources[i].partition) =
			c->sources[i].offset;
}

int64_t *owned_source(struct owned *o, struct slice topic, int32_t partition)
{
	struct source_position *s;

	for (size_t i = 0; i < o->taken.n; i++) {
		size_t at = (o->taken_hint + i) % o->taken.n;

		s = &o->taken.v[at];
		if (s->partition == partition && slice_eq(s->topic, topic)) {
			o->taken_hint = at;
			return &s->offset;
		}
	}
	s = &VEC_PUSH(&o->taken);
	*s = (struct source_position){arena_dup(&o->taken_arena, topic), partition, 0};
	return &s->offset;
}

/* The partitions of the assignment; those that did not come back are forgotten. */
static void own_assigned(struct loop *l)
{
	int64_t now_us = clock_steady_us(l->clock);

	for (int32_t p = 0; p < l->config->partitions; p++) {
		struct owned *o = l->owned[p];

		if (!loop_position(l, TOPIC_INBOX, p)) {
			owned_free(o);
			l->owned[p] = NULL;
			continue;
		}
		if (!o)
			o = l->owned[p] = owned_new(p);
		if (o->assigned && l->certain_us > o->left_us)
			o->left_us = l->certain_us;
		if (now_us - o->left_us > WARM_US) {
			owned_reset(o);
			o->left_us = now_us;
		}
		o->assigned = true;
	}
}

/* What one topic of a partition still has to be read for its tickets to be certain. */
static int certain_range(
	struct loop *l, struct owned *o, int topic, struct log_range *ret, struct err *err)
{
	int64_t *certain = topic == TOPIC_DLQ ? &o->dlq_certain : &o->parked_certain;
	int64_t low, high;
	int r = l->log->ops->watermarks(l->log, topic, o->partition.number, &low, &high, err);

	if (r)
		return r;
	if (*certain < 0 || *certain > high) {
		loop_report(l, 'W', "restore-anew",
			"%s partition %d ends at %lld, before what was known of it (%lld)",
			l->config->topics[topic], o->partition.number, (long long)high,
			(long long)*certain);
		owned_reset(o);
	}
	*ret = (struct log_range){
		topic, o->partition.number, *certain > low ? *certain : low, high};
	return 0;
}

typedef VEC(struct log_range) range_vec;

static void free_ranges(range_vec *ranges)
{
	free(ranges->v);
}

static int ranges_to_read(struct loop *l, range_vec *ret, struct err *err)
{
	for (int32_t p = 0; p < l->config->partitions; p++) {
		struct owned *o = l->owned[p];
		struct log_range dlq, parked;
		int r;

		if (!o)
			continue;
		r = certain_range(l, o, TOPIC_DLQ, &dlq, err);
		if (!r)
			r = certain_range(l, o, TOPIC_PARKED, &parked, err);
		/* A reset by the second takes the first back to the start. */
		if (!r && o->dlq_certain < dlq.from)
			r = certain_range(l, o, TOPIC_DLQ, &dlq, err);
		if (r)
			return r;
		VEC_PUSH(ret) = dlq;
		VEC_PUSH(ret) = parked;
	}
	return 0;
}

static int fold_message(struct loop *l, const struct log_message *m, struct err *err)
{
	struct owned *o = l->owned[m->partition];
	bool dlq = m->topic == TOPIC_DLQ;
	int64_t *certain = dlq ? &o->dlq_certain : &o->parked_certain;
	int r = 0;

	if (!m->position_only)
		r = (dlq ? fold_dlq : fold_parked)(
			&o->partition, &l->fold_rules, m->key, m->value, m->offset, err);
	if (r == ERR_DATA) {
		struct record_place at = loop_place(l, m);

		loop_report_at(
			l, 'W', "foreign-record", &at, "%s; it is left where it is", err->text);
		r = 0;
	}
	if (r)
		err_prefix(err, "%s partition %d offset %lld", l->config->topics[m->topic],
			m->partition, (long long)m->offset);
	if (!r && m->offset + !m->position_only > *certain)
		*certain = m->offset + !m->position_only;
	return r;
}

static int fold_chunk(struct loop *l, struct log_message *v, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		r = fold_message(l, &v[i], err);
		l->restore_read += !v[i].position_only;
	}
	l->log->ops->release(l->log, v, n);
	return r;
}

static uint64_t left_to_read(const struct loop *l, const range_vec *ranges)
{
	uint64_t left = 0;

	for (size_t i = 0; i < ranges->n; i++) {
		const struct log_range *range = &ranges->v[i];
		const struct owned *o = l->owned[range->partition];
		int64_t at = range->topic == TOPIC_DLQ ? o->dlq_certain : o->parked_certain;

		at = at > range->from ? at : range->from;
		left += at < range->to ? (uint64_t)(range->to - at) : 0;
	}
	return left;
}

static size_t total(const struct loop *l, bool live)
{
	size_t n = 0;

	for (int32_t p = 0; p < l->config->partitions; p++)
		if (l->owned[p])
			n += live ? l->owned[p]->partition.tickets.live
				  : l->owned[p]->partition.tickets.parked;
	return n;
}

static int go_on_later(struct loop *l, struct err *err)
{
	loop_report(l, 'I', "restoring", "%zu live entries and %zu parked reads so far",
		total(l, true), total(l, false));
	return err_set(err, ERR_INTERRUPTED, "the restore goes on in the next turn");
}

static int read_ranges(struct loop *l, const range_vec *ranges, struct err *err)
{
	AUTO_FREE struct log_message *v = mem_zalloc(READ_CHUNK * sizeof(*v));
	CLEANUP(arena_free) struct arena arena = {0};
	int64_t until_us = clock_steady_us(l->clock) + SLICE_US;
	bool done = false;
	int r = l->log->ops->read_start(l->log, ranges->v, ranges->n, err);

	while (!r && !done) {
		size_t n = 0;

		arena_reset(&arena);
		r = l->log->ops->read_next(l->log, &arena, v, READ_CHUNK, 200, &n, &done, err);
		if (!r)
			r = fold_chunk(l, v, n, err);
		if (!r)
			r = loop_poll_group(l, 0, err);
		if (!r && !done && clock_steady_us(l->clock) > until_us)
			r = go_on_later(l, err);
	}
	l->restore_left = left_to_read(l, ranges);
	return r;
}

static int restore_tickets(struct loop *l, struct err *err)
{
	CLEANUP(free_ranges) range_vec ranges = {0};
	int r = ranges_to_read(l, &ranges, err);

	if (!r && ranges.n)
		r = read_ranges(l, &ranges, err);
	if (r)
		return r;
	for (size_t i = 0; i < ranges.n; i++) {
		struct owned *o = l->owned[ranges.v[i].partition];

		*(ranges.v[i].topic == TOPIC_DLQ ? &o->dlq_certain : &o->parked_certain) =
			ranges.v[i].to;
	}
	return 0;
}

/* A checkpoint of other partitions, group or key rule means other answers to "whose is this key"
 * and "was this taken in": going on would lose or double reads. */
static int check_checkpoint(struct loop *l, const struct owned *o, struct err *err)
{
	const struct checkpoint *c = &o->partition.checkpoint;

	if (!c->partitions || (c->partitions == l->config->partitions &&
				      slice_eq(c->group_id, slice_str(l->config->group_id)) &&
				      slice_eq(c->key_rule, slice_str(l->config->key_rule_text))))
		return 0;
	return err_set(err, ERR_CONFIG,
		"%s partition %d was written with %d partitions, group.id=%.*s and key.from=%.*s; "
		"this worker has %d, group.id=%s and key.from=%s. Run it with the former settings, "
		"or drain the DLQ with them first and start on new topics",
		l->config->topics[TOPIC_DLQ], o->partition.number, c->partitions,
		SLICE_FMT(c->group_id), SLICE_FMT(c->key_rule), l->config->partitions,
		l->config->group_id, l->config->key_rule_text);
}

static void note_gap(struct loop *l, const struct log_position *pos, int64_t low)
{
	struct record_place at = {.topic = slice_str(l->config->topics[pos->topic]),
		.partition = pos->partition,
		.offset = pos->offset};

	l->stats.gaps++;
	l->stats.gap_offsets += (uint64_t)(low - pos->offset);
	loop_report_at(l, 'E', "gap", &at,
		"dead letters from %lld to %lld were deleted by retention before they were taken "
		"in; going on at %lld",
		(long long)pos->offset, (long long)low - 1, (long long)low);
}

/* Where to go on: the committed offset of a source, the checkpoint's of an inbox; low if none. */
static int settle_position(
	struct loop *l, struct log_position *pos, int64_t *ret_end, struct err *err)
{
	struct owned *o = pos->topic == TOPIC_INBOX ? l->owned[pos->partition] : NULL;
	int64_t low, high;
	int r = l->log->ops->watermarks(l->log, pos->topic, pos->partition, &low, &high, err);

	if (r)
		return r;
	if (o) {
		pos->offset = o->partition.checkpoint.inbox_offset;
		o->inbox_end = high;
	} else if (pos->offset >= 0 && pos->offset < low) {
		note_gap(l, pos, low);
	}
	if (pos->offset > high) {
		struct record_place at = {.topic = slice_str(l->config->topics[pos->topic]),
			.partition = pos->partition,
			.offset = pos->offset};

		loop_report_at(l, 'E', "truncated", &at,
			"ends at %lld, before the group's offset %lld: taken from the start",
			(long long)high, (long long)pos->offset);
		pos->offset = low;
	}
	if (pos->offset < low)
		pos->offset = low;
	*ret_end = high;
	return 0;
}

static int settle_positions(struct loop *l, struct err *err)
{
	l->idle_ends.n = 0;
	for (size_t i = 0; i < l->positions.n; i++) {
		int r = settle_position(l, &l->positions.v[i], &VEC_PUSH(&l->idle_ends), err);

		if (r)
			return r;
	}
	return 0;
}

static bool inbox_drained(struct loop *l)
{
	for (size_t i = 0; i < l->positions.n; i++) {
		const struct log_position *pos = &l->positions.v[i];

		if (pos->topic == TOPIC_INBOX && pos->offset < l->owned[pos->partition]->inbox_end)
			return false;
	}
	return true;
}

int loop_assign(struct loop *l, struct err *err)
{
	VEC(struct log_position) wanted = {0};
	int r;

	for (size_t i = 0; i < l->positions.n; i++) {
		const struct log_position *pos = &l->positions.v[i];

		if ((pos->topic == TOPIC_INBOX || !l->draining_inbox) &&
			!loop_waits(l, pos->topic, pos->partition))
			VEC_PUSH(&wanted) = *pos;
	}
	r = l->log->ops->assign(l->log, wanted.v, wanted.n, err);
	free(wanted.v);
	if (!r)
		l->assign_stale = false;
	return r;
}

int restore_finish_inbox(struct loop *l, struct err *err)
{
	if (!l->draining_inbox || !inbox_drained(l))
		return 0;
	l->draining_inbox = false;
	loop_release_fetched(l);
	return loop_assign(l, err);
}

static int start_fetching(struct loop *l, struct err *err)
{
	l->draining_inbox = true;
	return inbox_drained(l) ? restore_finish_inbox(l, err) : loop_assign(l, err);
}

static int ready_partitions(struct loop *l, struct err *err)
{
	for (int32_t p = 0; p < l->config->partitions; p++) {
		struct owned *o = l->owned[p];
		int r;

		if (!o)
			continue;
		r = check_checkpoint(l, o, err);
		if (r)
			return r;
		owned_reset_taken(o);
		o->replay = (struct replay_queue){0};
	}
	return 0;
}

/* Whether the restore took so long that tombstones may have gone while it read. */
static int check_duration(struct loop *l, int64_t started_us, struct err *err)
{
	if (clock_steady_us(l->clock) - started_us <= WARM_US)
		return 0;
	for (int32_t p = 0; p < l->config->partitions; p++)
		if (l->owned[p])
			owned_reset(l->owned[p]);
	return err_set(err, ERR_UNREACHABLE,
		"restoring took longer than an hour, in which tombstones may have been compacted "
		"away: starting it anew");
}

int restore(struct loop *l, struct err *err)
{
	int64_t started_us = clock_steady_us(l->clock);
	int r;

	if (!l->restoring_us)
		l->restoring_us = started_us;
	own_assigned(l);
	r = l->producer_stale ? l->log->ops->renew_producer(l->log, err) : 0;
	if (r)
		return r;
	l->producer_stale = false;
	r = l->log->ops->committed(l->log, l->positions.v, l->positions.n, err);
	if (!r)
		r = restore_tickets(l, err);
	if (!r)
		r = ready_partitions(l, err);
	if (!r)
		r = settle_positions(l, err);
	if (!r)
		r = check_duration(l, started_us, err);
	if (!r)
		r = loop_poll_group(l, 0, err);
	if (!r)
		r = start_fetching(l, err);
	if (r)
		return r;
	l->restored = true;
	l->certain_us = clock_steady_us(l->clock);
	l->restore_us = l->certain_us - l->restoring_us;
	l->restoring_us = 0;
	l->restore_left = 0;
	loop_report(l, 'I', "restored",
		"%zu partitions, %zu live entries, %zu parked reads in %lld ms", l->positions.n,
		total(l, true), total(l, false), (long long)l->restore_us / 1000);
	return 0;
}

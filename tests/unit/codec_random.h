/* codec_random.h: random numbers, bytes, texts and records of every type from a seed, and the
 * equality of records. */
#ifndef TESTS_CODEC_RANDOM_H
#define TESTS_CODEC_RANDOM_H

#include "codec.h"

struct random {
	uint64_t state;
	struct arena *arena;
};

/* splitmix64 */
static inline uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline size_t random_below(struct random *r, size_t n)
{
	return random_next(r) % n;
}

/* A number of any magnitude, so that every length of a varint occurs. */
static inline int64_t random_long(struct random *r)
{
	return (int64_t)random_next(r) >> random_below(r, 64);
}

static inline int32_t random_int(struct random *r)
{
	return (int32_t)random_next(r) >> random_below(r, 32);
}

static inline uint32_t random_count(struct random *r)
{
	return (uint32_t)random_next(r) >> (1 + random_below(r, 31));
}

/* Mostly short, now and then long enough for a length of two or three bytes. */
static inline size_t random_size(struct random *r)
{
	size_t kind = random_below(r, 50);

	return random_below(r, kind == 0 ? 10000 : kind < 10 ? 200 : 20);
}

static inline struct slice random_bytes(struct random *r)
{
	size_t n = random_size(r);
	uint8_t *p = arena_alloc(r->arena, n);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)random_next(r);
	return slice_of(p, n);
}

static inline struct slice random_text(struct random *r)
{
	size_t n = random_size(r);
	uint8_t *p = arena_alloc(r->arena, n);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(' ' + random_below(r, 95));
	return slice_of(p, n);
}

static inline bool random_null(struct random *r)
{
	return random_below(r, 3) == 0;
}

static inline struct origin random_position(struct random *r)
{
	struct slice topic = random_text(r);

	topic.n = topic.n > 249 ? 0 : topic.n; /* as long as Kafka lets a name be */
	return (struct origin){topic, random_int(r), random_long(r)};
}

static inline struct origin random_origin(struct random *r)
{
	struct origin none = {0};

	return random_null(r) ? none : random_position(r);
}

static inline struct slice random_headers(struct random *r, uint32_t *ret_cut)
{
	struct header v[8];
	size_t n = random_below(r, 9);

	for (size_t i = 0; i < n; i++) {
		v[i].key = random_bytes(r);
		v[i].value = random_null(r) ? SLICE_NULL : random_bytes(r);
	}
	return headers_encode(r->arena, v, n, ret_cut);
}

static inline struct record_error random_error(struct random *r)
{
	if (random_null(r))
		return (struct record_error){0};
	return (struct record_error){
		random_text(r),
		random_null(r) ? SLICE_NULL : random_text(r),
		random_null(r) ? SLICE_NULL : random_text(r),
	};
}

static inline struct record random_record(struct random *r)
{
	struct record v = {
		.idempotency_key = random_text(r),
		.payload = random_null(r) ? SLICE_NULL : random_bytes(r),
		.reason = (enum reason)random_below(r, REASON_COUNT),
		.attempts = random_count(r),
		.first_seen_us = random_long(r),
		.last_seen_us = random_long(r),
		.due_us = random_long(r),
		.upstream_attempts = random_null(r) ? -1 : (int64_t)random_count(r),
		.replays = random_count(r),
		.record_key = random_null(r) ? SLICE_NULL : random_bytes(r),
		.origin = random_origin(r),
		.dead_letter = random_position(r),
		.error = random_error(r),
		.content = random_next(r),
		.error_cut = random_count(r),
	};

	v.headers = random_headers(r, &v.headers_cut);
	return v;
}

static inline struct parked random_parked(struct random *r)
{
	return (struct parked){
		.entry = random_record(r),
		.event = (enum parked_event)random_below(r, 3),
		.cause = (enum cause)random_below(r, CAUSE_COUNT),
		.at_us = random_long(r),
		.by = random_null(r) ? SLICE_NULL : random_text(r),
		.note = random_null(r) ? SLICE_NULL : random_text(r),
		.ref = random_null(r) ? SLICE_NULL : random_text(r),
		.committed = random_null(r) ? SLICE_NULL : random_text(r),
	};
}

static inline struct oversize random_oversize(struct random *r)
{
	if (random_null(r))
		return (struct oversize){0};
	return (struct oversize){.message = random_text(r), .content = random_next(r)};
}

static inline struct inbox random_inbox(struct random *r)
{
	struct inbox v = {
		.dead_letter = random_position(r),
		.seen_us = random_long(r),
		.record_key = random_null(r) ? SLICE_NULL : random_bytes(r),
		.payload = random_null(r) ? SLICE_NULL : random_bytes(r),
		.oversize = random_oversize(r),
	};

	v.headers = random_headers(r, &v.headers_cut);
	return v;
}

static inline struct checkpoint random_checkpoint(struct random *r)
{
	struct checkpoint v = {
		.partitions = random_int(r),
		.group_id = random_text(r),
		.key_rule = random_text(r),
		.inbox_offset = random_long(r),
		.n_sources = random_below(r, 20),
	};

	v.sources = arena_alloc(r->arena, v.n_sources * sizeof(*v.sources));
	for (size_t i = 0; i < v.n_sources; i++) {
		struct origin p = random_position(r);

		v.sources[i] = (struct source_position){p.topic, p.partition, p.offset};
	}
	return v;
}

static inline bool position_eq(struct origin a, struct origin b)
{
	return slice_eq(a.topic, b.topic) && a.partition == b.partition && a.offset == b.offset;
}

/* Item by item: blocks may be cut differently. */
static inline bool headers_eq(struct slice a, struct slice b)
{
	size_t at_a = 0, at_b = 0;
	struct header ha, hb;

	while (headers_next(a, &at_a, &ha))
		if (!headers_next(b, &at_b, &hb) || !slice_eq(ha.key, hb.key) ||
			!slice_eq(ha.value, hb.value))
			return false;
	return !headers_next(b, &at_b, &hb);
}

static inline bool record_eq(const struct record *a, const struct record *b)
{
	return slice_eq(a->idempotency_key, b->idempotency_key) &&
	       slice_eq(a->payload, b->payload) && headers_eq(a->headers, b->headers) &&
	       a->reason == b->reason && a->attempts == b->attempts &&
	       a->first_seen_us == b->first_seen_us && a->last_seen_us == b->last_seen_us &&
	       a->due_us == b->due_us && a->upstream_attempts == b->upstream_attempts &&
	       a->replays == b->replays && slice_eq(a->record_key, b->record_key) &&
	       position_eq(a->origin, b->origin) && position_eq(a->dead_letter, b->dead_letter) &&
	       slice_eq(a->error.class, b->error.class) && slice_eq(a->error.code, b->error.code) &&
	       slice_eq(a->error.message, b->error.message) && a->content == b->content &&
	       a->headers_cut == b->headers_cut && a->error_cut == b->error_cut;
}

static inline bool parked_eq(const struct parked *a, const struct parked *b)
{
	return record_eq(&a->entry, &b->entry) && a->event == b->event && a->cause == b->cause &&
	       a->at_us == b->at_us && slice_eq(a->by, b->by) && slice_eq(a->note, b->note) &&
	       slice_eq(a->ref, b->ref) && slice_eq(a->committed, b->committed);
}

static inline bool inbox_eq(const struct inbox *a, const struct inbox *b)
{
	return position_eq(a->dead_letter, b->dead_letter) && a->seen_us == b->seen_us &&
	       slice_eq(a->record_key, b->record_key) && slice_eq(a->payload, b->payload) &&
	       headers_eq(a->headers, b->headers) && a->headers_cut == b->headers_cut &&
	       slice_eq(a->oversize.message, b->oversize.message) &&
	       a->oversize.content == b->oversize.content;
}

static inline bool checkpoint_eq(const struct checkpoint *a, const struct checkpoint *b)
{
	if (a->partitions != b->partitions || !slice_eq(a->group_id, b->group_id) ||
		!slice_eq(a->key_rule, b->key_rule) || a->inbox_offset != b->inbox_offset ||
		a->n_sources != b->n_sources)
		return false;
	for (size_t i = 0; i < a->n_sources; i++)
		if (!slice_eq(a->sources[i].topic, b->sources[i].topic) ||
			a->sources[i].partition != b->sources[i].partition ||
			a->sources[i].offset != b->sources[i].offset)
			return false;
	return true;
}

#endif

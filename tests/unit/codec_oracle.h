/*
 * codec_oracle.h: our records in and out of avro-c's generic values, by the field names of the
 * files in schemas/avro. For test_codec_oracle.c.
 */
#ifndef TESTS_CODEC_ORACLE_H
#define TESTS_CODEC_ORACLE_H

#include <avro.h>
#include <criterion/criterion.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec.h"

#define MUST(call) cr_assert_eq((call), 0, "%s: %s", #call, avro_strerror())

/* --- reading an avro-c value by field name --- */

static inline avro_value_t field(const avro_value_t *record, const char *name)
{
	avro_value_t value;

	MUST(avro_value_get_by_name(record, name, &value, NULL));
	return value;
}

/* The value in a union; itself where it is none. */
static inline avro_value_t branch_of(avro_value_t value)
{
	avro_value_t branch;

	if (avro_value_get_type(&value) != AVRO_UNION)
		return value;
	MUST(avro_value_get_current_branch(&value, &branch));
	return branch;
}

static inline bool is_null(avro_value_t value)
{
	avro_value_t branch = branch_of(value);

	return avro_value_get_type(&branch) == AVRO_NULL;
}

static inline struct slice get_slice(const avro_value_t *record, const char *name)
{
	avro_value_t value = branch_of(field(record, name));
	const void *p = NULL;
	const char *text;
	size_t n = 0;

	if (is_null(value))
		return SLICE_NULL;
	if (avro_value_get_type(&value) == AVRO_STRING) {
		MUST(avro_value_get_string(&value, &text, &n));
		return slice_of(text, n - 1); /* avro-c counts the NUL that it adds */
	}
	MUST(avro_value_get_bytes(&value, &p, &n));
	return slice_of(p ? p : "", n);
}

static inline int64_t get_number(const avro_value_t *record, const char *name)
{
	avro_value_t value = branch_of(field(record, name));
	int64_t number = -1;
	int small;

	if (avro_value_get_type(&value) == AVRO_INT64) {
		MUST(avro_value_get_long(&value, &number));
	} else if (avro_value_get_type(&value) == AVRO_ENUM) {
		MUST(avro_value_get_enum(&value, &small));
		number = small;
	} else if (!is_null(value)) {
		MUST(avro_value_get_int(&value, &small));
		number = small;
	}
	return number;
}

static inline uint64_t get_content(const avro_value_t *record)
{
	avro_value_t value = field(record, "content");
	const void *p;
	uint64_t content;
	size_t n;

	MUST(avro_value_get_fixed(&value, &p, &n));
	cr_assert_eq(n, sizeof(content));
	memcpy(&content, p, n);
	return be64toh(content);
}

static inline struct slice get_headers(struct arena *a, const avro_value_t *record)
{
	avro_value_t array = field(record, "headers"), item;
	struct header v[8];
	uint32_t cut;
	size_t n;

	MUST(avro_value_get_size(&array, &n));
	cr_assert_leq(n, ARRAY_LEN(v));
	for (size_t i = 0; i < n; i++) {
		MUST(avro_value_get_by_index(&array, i, &item, NULL));
		v[i] = (struct header){get_slice(&item, "key"), get_slice(&item, "value")};
	}
	return headers_encode(a, v, n, &cut);
}

static inline struct origin get_position(avro_value_t value)
{
	avro_value_t record = branch_of(value);

	if (is_null(record))
		return (struct origin){0};
	return (struct origin){get_slice(&record, "topic"),
		(int32_t)get_number(&record, "partition"), get_number(&record, "offset")};
}

static inline struct record_error get_error(avro_value_t value)
{
	avro_value_t record = branch_of(value);

	if (is_null(record))
		return (struct record_error){0};
	return (struct record_error){get_slice(&record, "class"), get_slice(&record, "code"),
		get_slice(&record, "message")};
}

static inline struct record get_record(struct arena *a, const avro_value_t *v)
{
	return (struct record){
		.idempotency_key = get_slice(v, "idempotency_key"),
		.payload = get_slice(v, "payload"),
		.headers = get_headers(a, v),
		.reason = (enum reason)get_number(v, "reason"),
		.attempts = (uint32_t)get_number(v, "attempts"),
		.first_seen_us = get_number(v, "first_seen_utc"),
		.last_seen_us = get_number(v, "last_seen_utc"),
		.due_us = get_number(v, "due_utc"),
		.upstream_attempts = get_number(v, "upstream_attempts"),
		.replays = (uint32_t)get_number(v, "replays"),
		.record_key = get_slice(v, "record_key"),
		.origin = get_position(field(v, "origin")),
		.dead_letter = get_position(field(v, "dead_letter")),
		.error = get_error(field(v, "error")),
		.content = get_content(v),
		.headers_cut = (uint32_t)get_number(v, "headers_cut"),
		.error_cut = (uint32_t)get_number(v, "error_cut"),
	};
}

static inline struct parked get_parked(struct arena *a, const avro_value_t *v)
{
	avro_value_t entry = field(v, "entry");

	return (struct parked){
		.entry = get_record(a, &entry),
		.event = (enum parked_event)get_number(v, "event"),
		.cause = (enum cause)get_number(v, "cause"),
		.at_us = get_number(v, "at_utc"),
		.by = get_slice(v, "by"),
		.note = get_slice(v, "note"),
		.ref = get_slice(v, "ref"),
		.committed = get_slice(v, "committed"),
	};
}

static inline struct oversize get_oversize(avro_value_t value)
{
	avro_value_t record = branch_of(value);

	if (is_null(record))
		return (struct oversize){0};
	return (struct oversize){get_slice(&record, "message"), get_content(&record)};
}

static inline struct inbox get_inbox(struct arena *a, const avro_value_t *v)
{
	return (struct inbox){
		.dead_letter = get_position(field(v, "dead_letter")),
		.seen_us = get_number(v, "seen_utc"),
		.record_key = get_slice(v, "record_key"),
		.payload = get_slice(v, "payload"),
		.headers = get_headers(a, v),
		.headers_cut = (uint32_t)get_number(v, "headers_cut"),
		.oversize = get_oversize(field(v, "oversize")),
	};
}

static inline struct checkpoint get_checkpoint(struct arena *a, const avro_value_t *v)
{
	avro_value_t array = field(v, "sources"), item;
	struct checkpoint c = {
		.partitions = (int32_t)get_number(v, "partitions"),
		.group_id = get_slice(v, "group_id"),
		.key_rule = get_slice(v, "key_rule"),
		.inbox_offset = get_number(v, "inbox_offset"),
	};

	MUST(avro_value_get_size(&array, &c.n_sources));
	c.sources = arena_alloc(a, c.n_sources * sizeof(*c.sources));
	for (size_t i = 0; i < c.n_sources; i++) {
		struct origin p;

		MUST(avro_value_get_by_index(&array, i, &item, NULL));
		p = get_position(item);
		c.sources[i] = (struct source_position){p.topic, p.partition, p.offset};
	}
	return c;
}

/* --- writing an avro-c value by field name --- */

/* The value to fill: of a union null | something, the something. False: it was to be null. */
static inline bool choose(avro_value_t *value, bool present)
{
	avro_value_t branch;

	if (avro_value_get_type(value) != AVRO_UNION)
		return true;
	MUST(avro_value_set_branch(value, present, &branch));
	if (!present)
		MUST(avro_value_set_null(&branch));
	*value = branch;
	return present;
}

static inline void set_slice(const avro_value_t *record, const char *name, struct slice s)
{
	avro_value_t value = field(record, name);
	char text[16 * 1024];

	if (!choose(&value, !slice_is_null(s)))
		return;
	if (avro_value_get_type(&value) == AVRO_BYTES) {
		MUST(avro_value_set_bytes(&value, (void *)s.p, s.n));
		return;
	}
	cr_assert_lt(s.n, sizeof(text));
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	MUST(avro_value_set_string_len(&value, text, s.n + 1));
}

static inline void set_number(const avro_value_t *record, const char *name, int64_t number)
{
	avro_value_t value = field(record, name);

	if (!choose(&value, number >= 0))
		return;
	if (avro_value_get_type(&value) == AVRO_INT64)
		MUST(avro_value_set_long(&value, number));
	else if (avro_value_get_type(&value) == AVRO_ENUM)
		MUST(avro_value_set_enum(&value, (int)number));
	else
		MUST(avro_value_set_int(&value, (int)number));
}

static inline void set_headers(const avro_value_t *record, struct slice headers)
{
	avro_value_t array = field(record, "headers"), item;
	struct header h;
	size_t pos = 0;

	while (headers_next(headers, &pos, &h)) {
		MUST(avro_value_append(&array, &item, NULL));
		set_slice(&item, "key", h.key);
		set_slice(&item, "value", h.value);
	}
}

static inline void set_position(avro_value_t value, struct origin p)
{
	if (!choose(&value, !origin_is_null(p)))
		return;
	set_slice(&value, "topic", p.topic);
	set_number(&value, "partition", p.partition);
	set_number(&value, "offset", p.offset);
}

static inline void set_error(avro_value_t value, const struct record_error *e)
{
	if (!choose(&value, !slice_is_null(e->class)))
		return;
	set_slice(&value, "class", e->class);
	set_slice(&value, "code", e->code);
	set_slice(&value, "message", e->message);
}

static inline void set_content(const avro_value_t *record, uint64_t content)
{
	avro_value_t value = field(record, "content");
	uint64_t big_endian = htobe64(content);

	MUST(avro_value_set_fixed(&value, &big_endian, sizeof(big_endian)));
}

static inline void set_oversize(avro_value_t value, struct oversize o)
{
	if (!choose(&value, !slice_is_null(o.message)))
		return;
	set_content(&value, o.content);
	set_slice(&value, "message", o.message);
}

static inline void set_record(const avro_value_t *v, const struct record *r)
{
	set_slice(v, "idempotency_key", r->idempotency_key);
	set_slice(v, "payload", r->payload);
	set_headers(v, r->headers);
	set_number(v, "reason", r->reason);
	set_number(v, "attempts", r->attempts);
	set_number(v, "first_seen_utc", r->first_seen_us);
	set_number(v, "last_seen_utc", r->last_seen_us);
	set_number(v, "due_utc", r->due_us);
	set_number(v, "upstream_attempts", r->upstream_attempts);
	set_number(v, "replays", r->replays);
	set_slice(v, "record_key", r->record_key);
	set_position(field(v, "origin"), r->origin);
	set_position(field(v, "dead_letter"), r->dead_letter);
	set_error(field(v, "error"), &r->error);
	set_content(v, r->content);
	set_number(v, "headers_cut", r->headers_cut);
	set_number(v, "error_cut", r->error_cut);
}

static inline void set_parked(const avro_value_t *v, const struct parked *p)
{
	avro_value_t entry = field(v, "entry");

	set_record(&entry, &p->entry);
	set_number(v, "event", p->event);
	set_number(v, "cause", p->cause);
	set_number(v, "at_utc", p->at_us);
	set_slice(v, "by", p->by);
	set_slice(v, "note", p->note);
	set_slice(v, "ref", p->ref);
	set_slice(v, "committed", p->committed);
}

static inline void set_inbox(const avro_value_t *v, const struct inbox *i)
{
	set_position(field(v, "dead_letter"), i->dead_letter);
	set_number(v, "seen_utc", i->seen_us);
	set_slice(v, "record_key", i->record_key);
	set_slice(v, "payload", i->payload);
	set_headers(v, i->headers);
	set_number(v, "headers_cut", i->headers_cut);
	set_oversize(field(v, "oversize"), i->oversize);
}

static inline void set_checkpoint(const avro_value_t *v, const struct checkpoint *c)
{
	avro_value_t array = field(v, "sources"), item;

	set_number(v, "partitions", c->partitions);
	set_slice(v, "group_id", c->group_id);
	set_slice(v, "key_rule", c->key_rule);
	set_number(v, "inbox_offset", c->inbox_offset);
	for (size_t i = 0; i < c->n_sources; i++) {
		const struct source_position *s = &c->sources[i];

		MUST(avro_value_append(&array, &item, NULL));
		set_position(item, (struct origin){s->topic, s->partition, s->offset});
	}
}

#endif

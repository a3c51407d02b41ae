#include "dead_letter.h"

#include "dialect.h"
#include "hash.h"
#include "key.h"
#include "payload.h"
#include "utf8.h"

#include <stdio.h>

#define YEAR_2000_MS 946684800000
#define ERROR_CLASS_BYTES 512
#define ERROR_CODE_BYTES 64
/* What an oversize one may keep of its key: with the headers' 32 KiB it fits in the 128 KiB that
 * our topics allow beyond the source's message size. */
#define OVERSIZE_KEY_BYTES 65536

int64_t dead_letter_seen_us(int64_t timestamp_ms, int64_t now_us)
{
	bool sane = timestamp_ms >= YEAR_2000_MS && timestamp_ms <= now_us / 1000;

	return sane ? timestamp_ms * 1000 : now_us;
}

bool key_rule_parse(const char *text, struct key_rule *ret)
{
	static const char *const names[] = {
		[KEY_FROM_AUTO] = "auto",
		[KEY_FROM_KEY] = "key",
		[KEY_FROM_PAYLOAD] = "payload",
	};
	static const char prefix[] = "header:";
	const char *header = text + sizeof(prefix) - 1;
	struct key_rule rule = {0};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i] && strcmp(text, names[i]) == 0) {
			rule.from = (enum key_from)i;
			*ret = rule;
			return true;
		}
	}
	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0 || !*header ||
		strlen(header) >= sizeof(rule.header))
		return false;
	rule.from = KEY_FROM_HEADER;
	snprintf(rule.header, sizeof(rule.header), "%s", header);
	*ret = rule;
	return true;
}

static struct slice find_key(struct arena *a, const struct key_rule *rule,
	const struct dead_letter *d, const struct read_fields *fields)
{
	struct key_parts parts;
	struct slice header;

	switch (rule->from) {
	case KEY_FROM_KEY:
		return d->key;
	case KEY_FROM_HEADER:
		return headers_last(d->headers, rule->header);
	case KEY_FROM_PAYLOAD:
		return read_fields_key(a, fields);
	case KEY_FROM_AUTO:
		break;
	}
	if (key_parse(d->key, &parts))
		return d->key;
	header = headers_last(d->headers, KEY_HEADER);
	return header.n ? header : read_fields_key(a, fields);
}

static const char *no_key(struct arena *a, const struct key_rule *rule)
{
	switch (rule->from) {
	case KEY_FROM_KEY:
		return "no idempotency key: the record has no key";
	case KEY_FROM_HEADER:
		return arena_printf(a, "no idempotency key: no header %s", rule->header);
	case KEY_FROM_PAYLOAD:
		return "no idempotency key: the payload lacks meter_id, read_at or sequence";
	case KEY_FROM_AUTO:
		break;
	}
	return "no idempotency key: the record key is not meter|instant|sequence, there is no "
	       "header " KEY_HEADER ", and the payload lacks meter_id, read_at or sequence";
}

/* NULL, or why it is malformed. */
static const char *decode_read(struct arena *a, const struct decode_rules *rules,
	const struct dead_letter *d, struct meter_read *ret, bool *ret_wait)
{
	struct read_fields fields;
	const char *why = payload_read_fields(
		a, &rules->names, &rules->schemas, d->headers, d->payload, &fields, ret_wait);
	struct slice key;

	if (why)
		return why;
	key = find_key(a, &rules->key, d, &fields);
	if (!key.n)
		return no_key(a, &rules->key);
	if (!key_usable(key))
		return "no idempotency key: the one given is not UTF-8, or holds a NUL";
	if (key.n > KEY_BYTES_MAX)
		return arena_printf(a, "no idempotency key: the one given is longer than %d bytes",
			KEY_BYTES_MAX);
	return read_fields_resolve(a, &fields, key, ret);
}

static struct record new_record(
	const struct dead_letter *d, const struct dialect_facts *facts, int64_t now_us)
{
	return (struct record){
		.payload = d->payload,
		.headers = d->headers,
		.reason = facts->reason,
		.attempts = 1,
		.first_seen_us = d->seen_us,
		.last_seen_us = d->seen_us,
		.due_us = now_us,
		.upstream_attempts = facts->upstream_attempts,
		.record_key = d->key,
		.origin = facts->origin,
		.dead_letter = d->at,
		.headers_cut = d->headers_cut,
	};
}

static void set_error(struct arena *a, struct record *r, const struct record_error *e)
{
	r->error.class = utf8_clean(a, e->class, ERROR_CLASS_BYTES, &r->error_cut);
	r->error.code = utf8_clean(a, e->code, ERROR_CODE_BYTES, &r->error_cut);
	r->error.message = utf8_clean(a, e->message, RECORD_ERROR_MESSAGE_BYTES, &r->error_cut);
}

/* A dead letter of a share group without key and value, which are still where it came from. */
static bool is_pointer(const struct dead_letter *d, const struct dialect_facts *facts)
{
	return facts->pointer && !d->fetched && slice_is_null(d->key) &&
	       slice_is_null(d->payload) && slice_is_null(d->oversize.message);
}

static void set_unfit(struct arena *a, const struct dead_letter *d, enum cause cause,
	struct slice why, struct decoded *ret)
{
	struct record_error error = {.class = slice_str(cause_name(cause)), .message = why};

	ret->unfit = true;
	ret->cause = cause;
	ret->record.idempotency_key =
		key_synthetic(a, arena_cstr(a, d->at.topic), d->at.partition, d->at.offset);
	set_error(a, &ret->record, &error);
}

static size_t total_bytes(const struct dead_letter *d)
{
	return d->key.n + d->payload.n + d->headers.n;
}

/* Null where it fits. */
static struct oversize oversize_of(
	struct arena *a, const struct decode_rules *rules, const struct dead_letter *d)
{
	char sha256[65];

	if (!slice_is_null(d->oversize.message) || total_bytes(d) <= rules->max_bytes)
		return d->oversize;
	hash_sha256_text(d->payload, sha256);
	return (struct oversize){
		.message = slice_str(arena_printf(a,
			"payload of %zu bytes, sha256 %s; with key and headers %zu bytes, at most "
			"%zu fit",
			d->payload.n, sha256, total_bytes(d), rules->max_bytes)),
		.content = hash_content(d->payload),
	};
}

/*
 * What our topics can hold of an oversize one. It is all that an owner sees to whom it is handed
 * over: whoever decodes it decodes this, and cutting it again changes nothing.
 */
static struct dead_letter cut_oversize(const struct dead_letter *d)
{
	struct dead_letter cut = *d;

	cut.payload = SLICE_NULL;
	if (d->key.n > OVERSIZE_KEY_BYTES)
		cut.key = SLICE_NULL;
	if (d->headers.n > (size_t)RECORD_HEADERS_BYTES) {
		cut.headers = SLICE_NULL;
		cut.headers_cut += (uint32_t)d->headers.n;
	}
	return cut;
}

static void decode_whole(struct arena *a, const struct decode_rules *rules,
	const struct dead_letter *d, const struct record_error *error, struct decoded *ret)
{
	const char *why = decode_read(a, rules, d, &ret->read, &ret->wait);

	if (ret->wait)
		return;
	if (why) {
		set_unfit(a, d, CAUSE_MALFORMED, slice_str(why), ret);
		ret->record.content = hash_content(d->payload);
		return;
	}
	ret->record.idempotency_key = ret->read.idempotency_key;
	ret->record.content = meter_read_content(&ret->read);
	set_error(a, &ret->record, error);
}

static void decode_pointer(struct arena *a, const struct dead_letter *d, struct decoded *ret)
{
	const struct origin *o = &ret->record.origin;

	ret->pointer = true;
	set_unfit(a, d, CAUSE_ORIGINAL_GONE,
		slice_str(arena_printf(a, "only a pointer to topic %.*s partition %d offset %lld",
			SLICE_FMT(o->topic), o->partition, (long long)o->offset)),
		ret);
	ret->record.content = hash_content(d->payload);
}

void dead_letter_decode(struct arena *a, const struct decode_rules *rules,
	const struct dead_letter *d, int64_t now_us, struct decoded *ret)
{
	struct oversize oversize = oversize_of(a, rules, d);
	bool whole = slice_is_null(oversize.message);
	struct dead_letter kept = whole ? *d : cut_oversize(d);
	struct dialect_facts facts;

	dialect_read(kept.headers, &facts);
	classify(&rules->classify, &facts);
	*ret = (struct decoded){.record = new_record(&kept, &facts, now_us), .oversize = oversize};
	if (!whole) {
		set_unfit(a, d, CAUSE_OVERSIZE, oversize.message, ret);
		ret->record.content = oversize.content;
	} else if (is_pointer(d, &facts)) {
		decode_pointer(a, d, ret);
	} else {
		decode_whole(a, rules, d, &facts.error, ret);
	}
}

static size_t count_headers(struct slice headers)
{
	struct header h;
	size_t pos = 0, n = 0;

	while (headers_next(headers, &pos, &h))
		n++;
	return n;
}

/* Its own headers, and behind them those of the pointer: as if it had been copied whole. */
struct dead_letter dead_letter_fetched(struct arena *a, const struct dead_letter *pointer,
	struct slice key, struct slice payload, const struct header *headers, size_t n_headers)
{
	size_t n = n_headers + count_headers(pointer->headers), pos = 0;
	struct header *all = arena_alloc(a, n * sizeof(*all));
	struct dead_letter d = *pointer;
	uint32_t cut = 0;

	if (n_headers)
		memcpy(all, headers, n_headers * sizeof(*all));
	for (size_t i = n_headers; i < n; i++)
		headers_next(pointer->headers, &pos, &all[i]);
	d.key = key;
	d.payload = payload;
	d.headers = headers_encode(a, all, n, &cut);
	d.headers_cut += cut;
	d.fetched = true;
	return d;
}

void dead_letter_gone(struct arena *a, const char *why, struct decoded *ret)
{
	struct record_error *e = &ret->record.error;

	e->message = slice_str(arena_printf(a, "%.*s: %s", SLICE_FMT(e->message), why));
	e->message = utf8_clean(a, e->message, RECORD_ERROR_MESSAGE_BYTES, &ret->record.error_cut);
}

struct inbox dead_letter_to_inbox(const struct dead_letter *d, const struct decoded *decoded)
{
	return (struct inbox){
		.dead_letter = d->at,
		.seen_us = d->seen_us,
		.record_key = decoded->record.record_key,
		.payload = decoded->record.payload,
		.headers = decoded->record.headers,
		.headers_cut = decoded->record.headers_cut,
		.oversize = decoded->oversize,
	};
}

struct dead_letter dead_letter_from_inbox(const struct inbox *i)
{
	return (struct dead_letter){
		.at = i->dead_letter,
		.seen_us = i->seen_us,
		.key = i->record_key,
		.payload = i->payload,
		.headers = i->headers,
		.headers_cut = i->headers_cut,
		.oversize = i->oversize,
	};
}

const char *record_decode_read(struct arena *a, const struct decode_rules *rules,
	const struct record *r, struct meter_read *ret, bool *ret_wait)
{
	struct read_fields fields;
	const char *why = payload_read_fields(
		a, &rules->names, &rules->schemas, r->headers, r->payload, &fields, ret_wait);

	return why ? why : read_fields_resolve(a, &fields, r->idempotency_key, ret);
}

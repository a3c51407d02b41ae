#include "meter_read.h"

#include "decimal.h"
#include "hash.h"
#include "instant.h"
#include "key.h"
#include "read_fields.h"

static void add_text(struct buf *b, struct slice s)
{
	buf_add(b, s.p, s.n);
	buf_add_byte(b, '\0');
}

/* Null and empty differ: a read without a quality is not one whose quality is "". */
static void add_optional(struct buf *b, struct slice s)
{
	buf_add_byte(b, slice_is_null(s) ? '-' : '=');
	add_text(b, s);
}

/* schemas/README.md, "Content hash", defines this form. */
uint64_t meter_read_content(const struct meter_read *r)
{
	CLEANUP(buf_free) struct buf b = {0};

	add_text(&b, r->meter_id);
	buf_add_i64(&b, r->read_at_us);
	buf_add_byte(&b, '\0');
	buf_add_i64(&b, r->sequence);
	buf_add_byte(&b, '\0');
	decimal_canonical(r->kwh, &b);
	buf_add_byte(&b, '\0');
	add_optional(&b, r->reading_type);
	add_optional(&b, r->quality);
	return hash_content(slice_of(b.p, b.n));
}

/* parts: what the key says; NULL for an opaque key. Likewise below. */
static const char *resolve_meter(
	const struct read_fields *f, const struct key_parts *parts, struct slice *ret)
{
	if (slice_is_null(f->meter_id) && !parts)
		return "no meter_id in payload or key";
	*ret = slice_is_null(f->meter_id) ? parts->meter_id : f->meter_id;
	if (!ret->n)
		return "meter_id is empty";
	if (parts && !slice_eq(*ret, parts->meter_id))
		return "key and payload disagree on meter_id";
	return NULL;
}

static const char *resolve_instant(
	struct arena *a, const struct read_fields *f, const struct key_parts *parts, int64_t *ret)
{
	const char *why = NULL;

	if (slice_is_null(f->read_at) && !parts)
		return "no read_at in payload or key";
	if (slice_is_null(f->read_at))
		*ret = parts->read_at_us;
	else
		why = instant_parse(f->read_at, ret);
	if (why)
		return arena_printf(a, "read_at is no instant: %s", why);
	if (parts && *ret != parts->read_at_us)
		return "key and payload disagree on read_at";
	return NULL;
}

static const char *resolve_sequence(
	const struct read_fields *f, const struct key_parts *parts, int64_t *ret)
{
	if (slice_is_null(f->sequence) && !parts)
		return "no sequence in payload or key";
	if (slice_is_null(f->sequence))
		*ret = parts->sequence;
	else if (!sequence_parse(f->sequence, ret))
		return "sequence is not an integer from 0 to 9223372036854775807";
	if (parts && *ret != parts->sequence)
		return "key and payload disagree on sequence";
	return NULL;
}

const char *read_fields_resolve(
	struct arena *a, const struct read_fields *f, struct slice key, struct meter_read *ret)
{
	struct key_parts from_key;
	const struct key_parts *parts = key_parse(key, &from_key) ? &from_key : NULL;
	struct meter_read r = {
		.idempotency_key = key,
		.kwh = f->kwh,
		.reading_type = f->reading_type,
		.quality = f->quality,
		.attributes = f->attributes,
	};
	const char *why;

	if (slice_is_null(f->kwh))
		return "no amount";
	if (!decimal_valid(f->kwh))
		return "amount is not a decimal";
	if ((why = resolve_meter(f, parts, &r.meter_id)) ||
		(why = resolve_instant(a, f, parts, &r.read_at_us)) ||
		(why = resolve_sequence(f, parts, &r.sequence)))
		return why;
	*ret = r;
	return NULL;
}

struct slice read_fields_key(struct arena *a, const struct read_fields *f)
{
	size_t m = f->meter_id.n, i = f->read_at.n, s = f->sequence.n;
	uint8_t *p;

	if (slice_is_null(f->meter_id) || slice_is_null(f->read_at) || slice_is_null(f->sequence))
		return SLICE_NULL;
	p = arena_alloc(a, m + i + s + 2);
	memcpy(p, f->meter_id.p, m);
	p[m] = '|';
	memcpy(p + m + 1, f->read_at.p, i);
	p[m + 1 + i] = '|';
	memcpy(p + m + i + 2, f->sequence.p, s);
	return slice_of(p, m + i + s + 2);
}

const char *meter_read_from_json(struct arena *a, const struct read_names *names, struct slice key,
	struct slice payload, struct meter_read *ret)
{
	struct read_fields f;
	const char *why = read_fields_from_json(a, names, payload, &f);

	return why ? why : read_fields_resolve(a, &f, key, ret);
}

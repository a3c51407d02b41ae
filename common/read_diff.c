#include "read_diff.h"

#include "decimal.h"
#include "instant.h"

static bool same_amount(struct slice a, struct slice b)
{
	CLEANUP(buf_free) struct buf x = {0}, y = {0};

	if (!decimal_valid(a) || !decimal_valid(b)) /* NaN in the table */
		return slice_eq(a, b);
	decimal_canonical(a, &x);
	decimal_canonical(b, &y);
	return slice_eq(slice_of(x.p, x.n), slice_of(y.p, y.n));
}

static bool same(const struct meter_read *a, const struct meter_read *b, enum read_field f)
{
	switch (f) {
	case READ_METER_ID:
		return slice_eq(a->meter_id, b->meter_id);
	case READ_READ_AT:
		return a->read_at_us == b->read_at_us;
	case READ_SEQUENCE:
		return a->sequence == b->sequence;
	case READ_KWH:
		return same_amount(a->kwh, b->kwh);
	case READ_READING_TYPE:
		return slice_eq(a->reading_type, b->reading_type);
	case READ_QUALITY:
		return slice_eq(a->quality, b->quality);
	}
	return true;
}

size_t read_diff(const struct meter_read *a, const struct meter_read *b,
	enum read_field ret[static READ_FIELD_COUNT])
{
	size_t n = 0;

	for (int f = 0; f < READ_FIELD_COUNT; f++)
		if (!same(a, b, (enum read_field)f))
			ret[n++] = (enum read_field)f;
	return n;
}

struct slice read_field_text(struct arena *arena, const struct meter_read *r, enum read_field f)
{
	char *text;

	switch (f) {
	case READ_METER_ID:
		return r->meter_id;
	case READ_READ_AT:
		text = arena_alloc(arena, INSTANT_TEXT_BYTES);
		return slice_of(text, instant_format(r->read_at_us, text));
	case READ_SEQUENCE:
		return slice_str(arena_printf(arena, "%lld", (long long)r->sequence));
	case READ_KWH:
		return r->kwh;
	case READ_READING_TYPE:
		return r->reading_type;
	case READ_QUALITY:
		return r->quality;
	}
	return SLICE_NULL;
}

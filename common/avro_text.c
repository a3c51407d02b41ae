#include "avro_text.h"

#include "instant.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

/* 0001-01-01T00:00:00Z, 10000-01-01T00:00:00Z and 24 hours, in microseconds. */
#define FIRST_US (-62135596800000000)
#define END_US 253402300800000000
#define DAY_US 86400000000

enum shape { SHAPE_NONE, SHAPE_INSTANT, SHAPE_LOCAL, SHAPE_DATE, SHAPE_TIME };

static const struct time_type {
	enum shape shape;
	int64_t unit_us; /* 0: nanoseconds */
} time_types[] = {
	[AVRO_LOGICAL_NONE] = {0},
	[AVRO_LOGICAL_DATE] = {SHAPE_DATE, DAY_US},
	[AVRO_LOGICAL_TIME_MILLIS] = {SHAPE_TIME, 1000},
	[AVRO_LOGICAL_TIME_MICROS] = {SHAPE_TIME, 1},
	[AVRO_LOGICAL_TIMESTAMP_MILLIS] = {SHAPE_INSTANT, 1000},
	[AVRO_LOGICAL_TIMESTAMP_MICROS] = {SHAPE_INSTANT, 1},
	[AVRO_LOGICAL_TIMESTAMP_NANOS] = {SHAPE_INSTANT, 0},
	[AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS] = {SHAPE_LOCAL, 1000},
	[AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS] = {SHAPE_LOCAL, 1},
	[AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS] = {SHAPE_LOCAL, 0},
};

bool avro_time(enum avro_logical l, int64_t v, int64_t *ret_us, int *ret_ns)
{
	const struct time_type *t = &time_types[l];
	int64_t us;
	int ns = 0;

	if (t->shape == SHAPE_NONE)
		return false;
	if (t->unit_us) {
		if (__builtin_mul_overflow(v, t->unit_us, &us))
			return false;
	} else {
		us = v / 1000 - (v % 1000 < 0);
		ns = (int)(v - us * 1000);
	}
	if (t->shape == SHAPE_TIME ? us < 0 || us >= DAY_US : us < FIRST_US || us >= END_US)
		return false;
	*ret_us = us;
	*ret_ns = ns;
	return true;
}

#define DATE_CHARS 10 /* "2026-07-17" */

bool avro_time_text(enum avro_logical l, int64_t v, struct buf *out)
{
	enum shape shape = time_types[l].shape;
	char text[INSTANT_TEXT_BYTES];
	const char *from = text;
	int64_t us;
	size_t n;
	int ns;

	if (!avro_time(l, v, &us, &ns))
		return false;
	n = instant_format(us, text) - 1; /* the Z */
	if (shape == SHAPE_DATE)
		n = DATE_CHARS;
	if (shape == SHAPE_TIME) {
		from += DATE_CHARS + 1;
		n -= DATE_CHARS + 1;
	}
	buf_add(out, from, n);
	if (ns)
		buf_printf(out, us % 1000000 ? "%03d" : ".000000%03d", ns);
	if (shape == SHAPE_INSTANT)
		buf_add_byte(out, 'Z');
	return true;
}

static bool add_if_not_finite(double v, struct buf *out)
{
	if (isnan(v))
		buf_add_str(out, "\"NaN\"");
	else if (isinf(v))
		buf_add_str(out, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	return !isfinite(v);
}

/* Every decimal of 15 digits survives a double, and every double 17 digits; 6 and 9 for a float. */

void avro_double_json(double v, struct buf *out)
{
	char text[32];

	if (add_if_not_finite(v, out))
		return;
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_add_str(out, text);
}

void avro_float_json(float v, struct buf *out)
{
	char text[32];

	if (add_if_not_finite((double)v, out))
		return;
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)v);
		if (strtof(text, NULL) == v)
			break;
	}
	buf_add_str(out, text);
}

void avro_uuid_text(const uint8_t bytes[static 16], struct buf *out)
{
	for (int i = 0; i < 16; i++)
		buf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
}

void avro_base64_text(struct slice bytes, struct buf *out)
{
	size_t room = sodium_base64_encoded_len(bytes.n, sodium_base64_VARIANT_ORIGINAL);

	sodium_bin2base64((char *)buf_reserve(out, room), room, bytes.p, bytes.n,
		sodium_base64_VARIANT_ORIGINAL);
	out->n += room - 1; /* its NUL */
}

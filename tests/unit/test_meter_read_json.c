#include <criterion/criterion.h>
#include <jansson.h>

#include "codec_random.h"
#include "meter_read.h"

static const struct read_names ours;

#define KEY "MTR-00000001|2026-07-17T00:00:00+00:00|1"
#define MIDNIGHT_US 1784246400000000
#define REST "\"meter_id\":\"M\",\"read_at\":\"2026-07-17T00:00:00Z\",\"sequence\":1"

/* --- reads that are understood --- */

static const struct {
	const char *key, *payload;
	const char *meter_id;
	int64_t read_at_us, sequence;
	const char *kwh, *reading_type, *quality, *attributes;
} good[] = {
	/* The key gives what the payload lacks; null counts as absent. */
	{KEY, "{\"kwh\": \"12.50\"}", "MTR-00000001", MIDNIGHT_US, 1, .kwh = "12.50"},
	{KEY, "{\"kwh\":1,\"meter_id\":null,\"read_at\":null,\"sequence\":null,\"quality\":null}",
		"MTR-00000001", MIDNIGHT_US, 1, .kwh = "1"},
	{"opaque", "{\"kwh\":\"1\"," REST "}", "M", MIDNIGHT_US, 1, .kwh = "1"},
	/* They agree by value, not by text. */
	{KEY, "{\"kwh\":0,\"read_at\":\"2026-07-17T02:00:00.000+02:00\",\"sequence\":\"01\"}",
		"MTR-00000001", MIDNIGHT_US, 1, .kwh = "0"},
	/* Amounts digit for digit, from numbers too. */
	{KEY, "{\"kwh\":-0.10}", "MTR-00000001", MIDNIGHT_US, 1, .kwh = "-0.10"},
	{KEY, "{\"kwh\":123456789012345678901234567890.1234567890123456789}", "MTR-00000001",
		MIDNIGHT_US, 1, .kwh = "123456789012345678901234567890.1234567890123456789"},
	{KEY, "{\"kwh\":1.250E+1}", "MTR-00000001", MIDNIGHT_US, 1, .kwh = "1.250E+1"},
	{KEY, "{\"kwh\":\"+.5\"}", "MTR-00000001", MIDNIGHT_US, 1, .kwh = "+.5"},
	{"k",
		"{\"kwh\":1,\"meter_id\":\"0042\",\"read_at\":\"1970-01-01T00:00:00Z\","
		"\"sequence\":9223372036854775807}",
		"0042", 0, INT64_MAX, .kwh = "1"},
	/* Verbatim; the empty text is not null. */
	{KEY, "{\"kwh\":1,\"reading_type\":\"1-0:1.8.0*255\",\"quality\":\"\"}", "MTR-00000001",
		MIDNIGHT_US, 1, .kwh = "1", .reading_type = "1-0:1.8.0*255", .quality = ""},
	/* Escapes are undone, in names too. */
	{"Z\xc3\xa4hler|2026-07-17T00:00:00Z|1",
		"{\"\\u006bwh\":\"\\u0031\",\"meter_id\":\"Z\\u00e4hler\",\"quality\":"
		"\"\\ud83d\\ude00\\n\"}",
		"Z\xc3\xa4hler", MIDNIGHT_US, 1, .kwh = "1", .quality = "\xf0\x9f\x98\x80\n"},
	{KEY, " \t\r\n{ \"kwh\" : 1 } \n", "MTR-00000001", MIDNIGHT_US, 1, .kwh = "1"},
	/* All other fields, in order, numbers verbatim. */
	{KEY,
		"{\"unit\":\"kWh\", \"kwh\":1, \"n\": 1.10e-05, \"a\" : [ true, null, {\"b\": {}} "
		", []],"
		"\"s\":\"\\\"\\\\\\/\\u0001\\t\\u00e4\\u007f\", \"\":12345678901234567890, "
		"\"unit\":2}",
		"MTR-00000001", MIDNIGHT_US, 1, .kwh = "1",
		.attributes = "{\"unit\":\"kWh\",\"n\":1.10e-05,\"a\":[true,null,{\"b\":{}},[]],"
			      "\"s\":\"\\\"\\\\/"
			      "\\u0001\\t\xc3\xa4\x7f\",\"\":12345678901234567890,\"unit\":2}"},
	/* Fields count at the top alone. */
	{KEY, "{\"x\":{\"kwh\":2,\"meter_id\":3},\"kwh\":1,\"y\":[{\"kwh\":3}]}", "MTR-00000001",
		MIDNIGHT_US, 1, .kwh = "1",
		.attributes = "{\"x\":{\"kwh\":2,\"meter_id\":3},\"y\":[{\"kwh\":3}]}"},
	{KEY, "{\"KWH\":2,\"kwh\":1,\"kwh \":3}", "MTR-00000001", MIDNIGHT_US, 1, .kwh = "1",
		.attributes = "{\"KWH\":2,\"kwh \":3}"},
};

static void expect_text(struct slice is, const char *expected, const char *field, size_t i)
{
	cr_expect(slice_eq(is, slice_str(expected)), "good[%zu]: %s is %.*s", i, field,
		SLICE_FMT(is));
}

Test(meter_read_json, gives_the_fields_as_they_arrived)
{
	CLEANUP(arena_free) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct meter_read r;
		const char *why = meter_read_from_json(
			&a, &ours, slice_str(good[i].key), slice_str(good[i].payload), &r);

		cr_assert_null(why, "good[%zu]: %s", i, why);
		expect_text(r.idempotency_key, good[i].key, "idempotency_key", i);
		expect_text(r.meter_id, good[i].meter_id, "meter_id", i);
		cr_expect_eq(r.read_at_us, good[i].read_at_us, "good[%zu]", i);
		cr_expect_eq(r.sequence, good[i].sequence, "good[%zu]", i);
		expect_text(r.kwh, good[i].kwh, "kwh", i);
		expect_text(r.reading_type, good[i].reading_type, "reading_type", i);
		expect_text(r.quality, good[i].quality, "quality", i);
		expect_text(r.attributes, good[i].attributes, "attributes", i);
	}
}

/* --- reads that are malformed --- */

static const struct {
	const char *key, *payload, *why; /* how it begins */
} bad[] = {
	{KEY, "", "empty payload"},
	{KEY, " ", "not JSON: parse error: premature EOF"},
	{KEY, "{\"kwh\":1", "not JSON: parse error: premature EOF"},
	{KEY, "kwh=1", "not JSON: lexical error"},
	{KEY, "{'kwh':1}", "not JSON: lexical error"},
	{KEY, "{\"kwh\":1,}", "not JSON: parse error"},
	{KEY, "{\"kwh\":NaN}", "not JSON: lexical error"},
	{KEY, "{\"kwh\":01}", "not JSON: parse error"},
	{KEY, "{\"kwh\":1}/**/", "more bytes after the JSON object"},
	{KEY, "{\"kwh\":1} x", "more bytes after the JSON object"},
	{KEY, "{\"kwh\":1}{\"kwh\":2}", "more bytes after the JSON object"},
	{KEY, "[{\"kwh\":1},{\"kwh\":2}]", "several reads"},
	{KEY, "[]", "several reads"},
	{KEY, "\"kwh\"", "not a JSON object"},
	{KEY, "null", "not a JSON object"},
	{KEY, "true", "not a JSON object"},
	{KEY, "12.50", "not a JSON object"},
	{KEY, "{\"kwh\":1,\"q\":\"\\u0000\"}", "payload holds a NUL"},
	{KEY, "{\"kwh\":1,\"q\":\"\\\\\\u0000\"}", "payload holds a NUL"},
	{KEY, "{\"kwh\":1,\"q\":\"\\ud800\"}", "payload holds half a surrogate pair"},
	{KEY, "{\"kwh\":1,\"q\":\"\\uDBFF\\u0041\"}", "payload holds half a surrogate pair"},
	{KEY, "{\"kwh\":1,\"q\":\"\\udc00\"}", "payload holds half a surrogate pair"},
	{KEY, "{\"kwh\":1,\"q\":\"\xff\"}", "payload is not valid UTF-8"},
	{KEY, "{\"kwh\":1,\"q\":\"\xed\xa0\x80\"}", "payload is not valid UTF-8"},
	{KEY, "{\"kwh\":1,\"q\":\"\xc0\x80\"}", "payload is not valid UTF-8"},
	{KEY, "{}", "no amount"},
	{KEY, "{\"kwh\":null}", "no amount"},
	{KEY, "{\"x\":{\"kwh\":1}}", "no amount"},
	{KEY, "{\"kwh\":\"\"}", "amount is not a decimal"},
	{KEY, "{\"kwh\":\"12,5\"}", "amount is not a decimal"},
	{KEY, "{\"kwh\":\"NaN\"}", "amount is not a decimal"},
	{KEY, "{\"kwh\":\"0x1F\"}", "amount is not a decimal"},
	{KEY, "{\"kwh\":\" 1\"}", "amount is not a decimal"},
	{KEY, "{\"kwh\":1e999999}", "amount is not a decimal"},
	{KEY, "{\"kwh\":true}", "kwh is not a number or string"},
	{KEY, "{\"kwh\":[1]}", "kwh is not a number or string"},
	{KEY, "{\"kwh\":{}}", "kwh is not a number or string"},
	{KEY, "{\"kwh\":1,\"kwh\":1}", "repeated field kwh"},
	{KEY, "{\"kwh\":1,\"\\u006bwh\":1}", "repeated field kwh"},
	{KEY, "{\"kwh\":1,\"quality\":null,\"quality\":\"A\"}", "repeated field quality"},
	{KEY, "{\"kwh\":1,\"meter_id\":1}", "meter_id is not a string"},
	{KEY, "{\"kwh\":1,\"meter_id\":\"\"}", "meter_id is empty"},
	{KEY, "{\"kwh\":1,\"read_at\":1784246400}", "read_at is not a string"},
	{KEY, "{\"kwh\":1,\"quality\":1}", "quality is not a string"},
	{KEY, "{\"kwh\":1,\"reading_type\":false}", "reading_type is not a string"},
	{KEY, "{\"kwh\":1,\"sequence\":false}", "sequence is not a number or string"},
	{KEY, "{\"kwh\":1,\"read_at\":\"2026-07-17T00:00:00\"}",
		"read_at is no instant: no offset"},
	{KEY, "{\"kwh\":1,\"meter_id\":\"MTR-1\"}", "key and payload disagree on meter_id"},
	{KEY, "{\"kwh\":1,\"read_at\":\"2026-07-17T00:00:00+02:00\"}",
		"key and payload disagree on read_at"},
	{KEY, "{\"kwh\":1,\"sequence\":2}", "key and payload disagree on sequence"},
	{"k", "{\"kwh\":1,\"read_at\":\"2026-07-17T00:00:00Z\",\"sequence\":1}",
		"no meter_id in payload or key"},
	{"k", "{\"kwh\":1,\"meter_id\":\"M\",\"sequence\":1}", "no read_at in payload or key"},
	{"k", "{\"kwh\":1,\"meter_id\":\"M\",\"read_at\":\"2026-07-17T00:00:00Z\"}",
		"no sequence in payload or key"},
	{NULL, "{\"kwh\":1}", "no meter_id in payload or key"},
};

Test(meter_read_json, malformed_json_is_refused_with_its_reason)
{
	CLEANUP(arena_free) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct meter_read r = {.sequence = 42};
		const char *why = meter_read_from_json(
			&a, &ours, slice_str(bad[i].key), slice_str(bad[i].payload), &r);

		cr_assert_not_null(why, "%s was taken", bad[i].payload);
		cr_expect(strncmp(why, bad[i].why, strlen(bad[i].why)) == 0, "%s: %s",
			bad[i].payload, why);
		cr_expect_eq(r.sequence, 42, "%s: set although refused", bad[i].payload);
	}
}

Test(meter_read_json, sequence_is_digits_and_no_more)
{
	CLEANUP(arena_free) struct arena a = {0};
	const char *not_integers[] = {"1.0", "1e2", "-1", "-0", "9223372036854775808", "\"\"",
		"\"-1\"", "\"+1\"", "\"1.0\"", "\" 1\"", "\"one\""};

	for (size_t i = 0; i < ARRAY_LEN(not_integers); i++) {
		struct slice payload =
			slice_str(arena_printf(&a, "{\"kwh\":1,\"sequence\":%s}", not_integers[i]));
		struct meter_read r;
		const char *why = meter_read_from_json(&a, &ours, SLICE_LIT(KEY), payload, &r);

		cr_assert_not_null(why, "%s was taken", not_integers[i]);
		cr_expect_str_eq(why, "sequence is not an integer from 0 to 9223372036854775807");
	}
}

Test(meter_read_json, null_and_a_raw_nul_are_refused)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct meter_read r;

	cr_expect_str_eq(
		meter_read_from_json(&a, &ours, SLICE_LIT(KEY), SLICE_NULL, &r), "no payload");
	cr_expect_str_eq(
		meter_read_from_json(&a, &ours, SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":1}\0"), &r),
		"payload holds a NUL");
	/* An escaped backslash before "u0000" is no NUL. */
	cr_expect_null(meter_read_from_json(
		&a, &ours, SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":1,\"q\":\"\\\\u0000\"}"), &r));
}

/* --- bounds --- */

static const char *decode_nested(struct arena *a, size_t levels)
{
	CLEANUP(buf_free) struct buf b = {0};
	struct meter_read r;

	buf_add_str(&b, "{\"kwh\":1,\"x\":");
	for (size_t i = 1; i < levels; i++)
		buf_add_byte(&b, '[');
	for (size_t i = 1; i < levels; i++)
		buf_add_byte(&b, ']');
	buf_add_byte(&b, '}');
	return meter_read_from_json(a, &ours, SLICE_LIT(KEY), slice_of(b.p, b.n), &r);
}

Test(meter_read_json, nesting_is_bounded)
{
	CLEANUP(arena_free) struct arena a = {0};

	cr_expect_null(decode_nested(&a, 64));
	cr_expect_str_eq(decode_nested(&a, 65), "nested deeper than 64 levels");
	cr_expect_str_eq(decode_nested(&a, 1000000), "nested deeper than 64 levels");
}

Test(meter_read_json, memory_is_bounded_by_the_payload)
{
	CLEANUP(arena_free) struct arena a = {0};
	CLEANUP(buf_free) struct buf b = {0};
	struct meter_read r;

	buf_add_str(&b, "{\"kwh\":1");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, ",\"f%d\":\"\\n\\u0001\\\"%d\"", i, i);
	buf_add_byte(&b, '}');
	cr_assert_null(meter_read_from_json(&a, &ours, SLICE_LIT(KEY), slice_of(b.p, b.n), &r));
	cr_expect_leq(r.attributes.n, b.n);
	cr_expect_leq(a.used, b.n + 4096);
}

Test(meter_read_json, a_long_escaped_text_is_kept_whole)
{
	CLEANUP(arena_free) struct arena a = {0};
	CLEANUP(buf_free) struct buf b = {0};
	struct meter_read r;

	buf_add_str(&b, "{\"kwh\":1,\"quality\":\"");
	for (int i = 0; i < 100000; i++)
		buf_add_str(&b, "\\u00e4");
	buf_add_str(&b, "\"}");
	cr_assert_null(meter_read_from_json(&a, &ours, SLICE_LIT(KEY), slice_of(b.p, b.n), &r));
	cr_assert_eq(r.quality.n, 200000);
	for (size_t i = 0; i < r.quality.n; i += 2)
		cr_assert(memcmp(r.quality.p + i, "\xc3\xa4", 2) == 0);
}

/* --- any attributes come out as the same JSON values, by another library --- */

static void random_value(struct random *r, struct buf *b, int depth);

static void random_string(struct random *r, struct buf *b)
{
	static const char *const pieces[] = {"a", "Z", "0", " ", "/", "\\/", "\\\"", "\\\\", "\\n",
		"\\t", "\\b", "\\f", "\\r", "\\u0001", "\\u001f", "\\u007f", "\x7f", "\\u00E9",
		"\xc3\xa9", "\\ud83d\\ude00", "\xf0\x9f\x98\x80", "\xef\xbf\xbf", "{", "]", ","};

	buf_add_byte(b, '"');
	for (size_t n = random_below(r, 6); n; n--)
		buf_add_str(b, pieces[random_below(r, ARRAY_LEN(pieces))]);
	buf_add_byte(b, '"');
}

static void random_members(struct random *r, struct buf *b, int depth, bool names)
{
	for (size_t n = random_below(r, 4), i = 0; i < n; i++) {
		if (i)
			buf_add_str(b, ", ");
		if (names) {
			random_string(r, b);
			buf_add_str(b, " :");
		}
		random_value(r, b, depth + 1);
	}
}

static void random_value(struct random *r, struct buf *b, int depth)
{
	static const char *const scalars[] = {
		"null", "true", "false", "0", "-0", "12.50", "1e3", "-1.5E-7"};

	switch (random_below(r, depth > 5 ? 2 : 4)) {
	case 0:
		buf_add_str(b, scalars[random_below(r, ARRAY_LEN(scalars))]);
		break;
	case 1:
		random_string(r, b);
		break;
	case 2:
		buf_add_byte(b, '[');
		random_members(r, b, depth, false);
		buf_add_byte(b, ']');
		break;
	default:
		buf_add_str(b, "{ ");
		random_members(r, b, depth, true);
		buf_add_byte(b, '}');
		break;
	}
}

static json_t *load(struct slice s)
{
	json_error_t error;
	json_t *j = json_loadb((const char *)s.p, s.n, 0, &error);

	cr_assert_not_null(j, "%s: %.*s", error.text, SLICE_FMT(s));
	return j;
}

Test(meter_read_json, attributes_keep_their_values)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct random r = {.state = 6};

	for (int i = 0; i < 20000; i++) {
		CLEANUP(buf_free) struct buf b = {0};
		struct meter_read read;
		json_t *before, *after;
		const char *why;

		buf_add_str(&b, "{\"kwh\":1,\"x\":");
		random_value(&r, &b, 0);
		buf_add_byte(&b, '}');
		why = meter_read_from_json(&a, &ours, SLICE_LIT(KEY), slice_of(b.p, b.n), &read);
		cr_assert_null(why, "%s: %.*s", why, (int)b.n, (char *)b.p);
		cr_assert_leq(read.attributes.n, b.n);
		before = load(slice_of(b.p, b.n));
		after = load(read.attributes);
		cr_assert(json_equal(json_object_get(before, "x"), json_object_get(after, "x")),
			"%.*s", (int)b.n, (char *)b.p);
		json_decref(before);
		json_decref(after);
		arena_reset(&a);
	}
}

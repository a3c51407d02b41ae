/* Bytes that are not, or not quite, what a writer's schema says. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "avro_fixture.h"
#include "avro_json.h"
#include "codec_random.h"
#include "decimal.h"
#include "utf8.h"

#define RECORD(type)                                                                               \
	"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"x\",\"type\":" type "}]}"
#define ARRAY(type) "{\"type\":\"array\",\"items\":" type "}"
#define BYTE(n) "\"b" #n "\""

/* On a copy in a block of its own, so that a sanitizer sees a read past either end. */
static const char *decode_alone(struct arena *a, const struct avro_schema *schema,
	struct slice bytes, struct read_fields *ret)
{
	AUTO_FREE uint8_t *copy = mem_zalloc(bytes.n);
	const char *why;

	if (bytes.n)
		memcpy(copy, bytes.p, bytes.n);
	why = fields_of(a, schema, slice_of(copy, bytes.n), ret);
	if (!why) {
		cr_assert(
			utf8_text(ret->meter_id) && utf8_text(ret->read_at) && utf8_text(ret->kwh));
		cr_assert(utf8_text(ret->attributes));
	}
	return why;
}

/* --- what was once good --- */

typedef void mangle_fn(const struct avro_schema *schema, struct slice payload);

static void for_every_payload(const char *path, size_t step, mangle_fn *mangle)
{
	struct fixture *f = fixture_open(path);
	struct avro_schema *schema = NULL;
	size_t n = 0;

	while (fixture_next(f)) {
		CLEANUP(arena_free) struct arena a = {0};

		if (strcmp(f->column[0], "schema") == 0) {
			avro_schema_free(schema);
			schema = schema_of(f->column[1]);
		} else if (n++ % step == 0) {
			mangle(schema, unhex(&a, f->column[0]));
		}
	}
	cr_expect_gt(n, step);
	avro_schema_free(schema);
	fixture_close(f);
}

static void for_payloads(mangle_fn *mangle)
{
	for_every_payload(UNIT_DIR "/avro/types.txt", 1, mangle);
	for_every_payload(UNIT_DIR "/avro/reads.txt", 10, mangle);
}

static void truncate_everywhere(const struct avro_schema *schema, struct slice payload)
{
	for (size_t n = 0; n < payload.n; n++) {
		CLEANUP(arena_free) struct arena a = {0};
		struct read_fields fields;
		const char *why = decode_alone(&a, schema, slice_of(payload.p, n), &fields);

		cr_assert(
			why && strstr(why, " at byte "), "%zu of %zu bytes: %s", n, payload.n, why);
	}
}

Test(avro_hostile, every_truncation_of_a_payload_is_refused)
{
	for_payloads(truncate_everywhere);
}

static void flip_every_bit(const struct avro_schema *schema, struct slice payload)
{
	AUTO_FREE uint8_t *copy = mem_zalloc(payload.n);
	CLEANUP(arena_free) struct arena a = {0};

	memcpy(copy, payload.p, payload.n);
	for (size_t bit = 0; bit < 8 * payload.n; bit++) {
		struct read_fields fields;
		const char *why;

		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		why = decode_alone(&a, schema, slice_of(copy, payload.n), &fields);
		cr_assert(!why || strstr(why, " at byte "), "bit %zu: %s", bit, why);
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		arena_reset(&a);
	}
}

Test(avro_hostile, a_payload_with_any_bit_flipped_is_refused_or_is_another_one)
{
	for_payloads(flip_every_bit);
}

static void append_a_byte(const struct avro_schema *schema, struct slice payload)
{
	CLEANUP(arena_free) struct arena a = {0};
	uint8_t *longer = arena_alloc(&a, payload.n + 1);
	struct read_fields fields;
	const char *why;

	memcpy(longer, payload.p, payload.n);
	longer[payload.n] = 0;
	why = decode_alone(&a, schema, slice_of(longer, payload.n + 1), &fields);
	cr_assert(why && strstr(why, "1 bytes too many"), "%s", why);
}

Test(avro_hostile, bytes_left_over_are_refused)
{
	for_payloads(append_a_byte);
}

/* Of every type, and recursive. */
static const char everything[] =
	"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"next\",\"type\":"
	"[\"null\",\"R\",\"int\",\"long\",\"float\",\"double\",\"boolean\",\"bytes\",\"string\","
	"{\"type\":\"array\",\"items\":\"R\"},{\"type\":\"map\",\"values\":\"R\"},"
	"{\"type\":\"fixed\",\"name\":\"F\",\"size\":3},"
	"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}]},"
	"{\"name\":\"kwh\",\"type\":[\"null\","
	"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}]}]}";

Test(avro_hostile, random_bytes_never_crash)
{
	struct avro_schema *schema = schema_of(everything);
	size_t accepted = 0;

	for (uint64_t seed = 0; seed < 50000; seed++) {
		CLEANUP(arena_free) struct arena a = {0};
		struct random random = {seed, &a};
		size_t shift = random_below(&random, 8); /* small numbers get further */
		struct read_fields fields;
		uint8_t bytes[12];
		size_t n = random_below(&random, sizeof(bytes));

		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)((random_next(&random) & 0xff) >> shift);
		accepted += !decode_alone(&a, schema, slice_of(bytes, n), &fields);
	}
	cr_expect_gt(accepted, 100, "%zu", accepted);
	avro_schema_free(schema);
}

/* --- little that says much --- */

static void expect_refused(const char *schema_text, struct slice payload, const char *why)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct avro_schema *schema = schema_of(schema_text);
	struct read_fields fields;
	const char *is = decode_alone(&a, schema, payload, &fields);

	cr_expect(is && strstr(is, why), "%s", is);
	cr_expect_leq(a.used, 4096);
	avro_schema_free(schema);
}

#define TERA "\x80\x80\x80\x80\x80\x40" /* 2^40 as a number */

Test(avro_hostile, a_declared_length_is_not_believed)
{
	expect_refused(RECORD("\"string\""), SLICE_LIT(TERA "ab"),
		"R.x at byte 6: 1099511627776 bytes declared, 2 left");
	expect_refused(RECORD("\"bytes\""), SLICE_LIT("\x01"), "-1 bytes declared, 0 left");
	expect_refused(RECORD("\"bytes\""), SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		"-9223372036854775808 bytes declared");
	expect_refused(RECORD("{\"type\":\"fixed\",\"name\":\"F\",\"size\":2147483647}"),
		SLICE_LIT("ab"), "R.x at byte 0: 2147483647 bytes wanted, 2 left");
}

Test(avro_hostile, a_declared_count_is_not_believed)
{
	expect_refused(
		RECORD(ARRAY("\"long\"")), SLICE_LIT(TERA "\x00"), "items declared, 1 bytes left");
	expect_refused(RECORD("{\"type\":\"map\",\"values\":\"null\"}"), SLICE_LIT("\x06\x00\x00"),
		"3 items declared, 2 bytes left");
	/* Long.MIN_VALUE has no absolute value (AVRO-4292). */
	expect_refused(RECORD(ARRAY("\"int\"")),
		SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
		"9223372036854775808 items declared");
	/* 2^26 nulls in five bytes took avro-c 266 MB. */
	expect_refused(RECORD(ARRAY("\"null\"")), SLICE_LIT("\x80\x80\x80\x40\x00"),
		"67108864 items declared, 1 bytes left");
	expect_refused(RECORD(ARRAY("{\"type\":\"fixed\",\"name\":\"F\",\"size\":0}")),
		SLICE_LIT("\x80\x80\x80\x40\x00"), "67108864 items declared, 1 bytes left");
}

Test(avro_hostile, a_number_that_does_not_end_is_refused)
{
	expect_refused(RECORD("\"long\""), SLICE_LIT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"),
		"more than 64 bits");
	expect_refused(
		RECORD("\"int\""), SLICE_LIT("\x80\x80\x80\x80\x80"), "ends inside a number");
}

static struct buf repeated(struct slice item, size_t n, struct slice after)
{
	struct buf b = {0};

	for (size_t i = 0; i < n; i++)
		buf_add(&b, item.p, item.n);
	buf_add(&b, after.p, after.n);
	return b;
}

#define NODE                                                                                       \
	"{\"type\":\"record\",\"name\":\"Node\",\"fields\":[{\"name\":\"next\",\"type\":["         \
	"\"null\",\"Node\"]}]}"

/* A node in a node, so many times. */
static const char *decode_nested(size_t n)
{
	struct buf payload = repeated(SLICE_LIT("\x02"), n, SLICE_LIT("\x00"));
	struct avro_schema *schema = schema_of(RECORD(NODE));
	static struct arena a;
	struct read_fields fields;
	const char *why;

	arena_reset(&a);
	why = decode_alone(&a, schema, slice_of(payload.p, payload.n), &fields);
	buf_free(&payload);
	avro_schema_free(schema);
	return why;
}

/* The record, the first node and the null in the last one are levels too. */
Test(avro_hostile, depth_is_bounded)
{
	const size_t most = AVRO_VALUE_DEPTH - 3, too_many[] = {most + 1, 1000000};
	const char *why = decode_nested(most);

	cr_expect_null(why, "%s", why);
	for (size_t i = 0; i < ARRAY_LEN(too_many); i++) {
		why = decode_nested(too_many[i]);
		cr_expect(why && strstr(why, "nested deeper than 64 levels"), "%s", why);
	}
}

Test(avro_hostile, a_record_that_holds_itself_has_no_end)
{
	expect_refused(
		"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"r\",\"type\":\"R\"}]}",
		SLICE_LIT(""), "nested deeper than 64 levels");
}

/* Many blocks of as many items of no bytes as one may have. */
Test(avro_hostile, values_of_no_bytes_are_bounded_in_all)
{
	struct buf blocks = repeated(SLICE_LIT("\x80\x80\x08"), 1000, SLICE_LIT("\x00"));
	struct avro_schema *schema = schema_of(RECORD(ARRAY("\"null\"")));
	struct arena a = {0};
	struct read_fields fields;
	const char *why = decode_alone(&a, schema, slice_of(blocks.p, blocks.n), &fields);

	cr_expect(why && strstr(why, "more than 113552 bytes as JSON"), "%s", why);
	arena_free(&a);
	buf_free(&blocks);
	avro_schema_free(schema);
}

/* A thousand nulls to the byte. */
Test(avro_hostile, a_wide_record_of_nulls_is_bounded)
{
	struct buf text = {0}, items = {0};
	struct avro_schema *schema;
	struct arena a = {0};
	struct read_fields fields;
	const char *why;

	buf_add_str(&text, "{\"type\":\"record\",\"name\":\"W\",\"fields\":[{\"name\":\"i\","
			   "\"type\":\"int\"}");
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, ",{\"name\":\"n%d\",\"type\":\"null\"}", i);
	buf_add_str(&text, "]}");
	buf_add_byte(&text, '\0');
	schema = schema_of(arena_printf(&a, RECORD(ARRAY("%s")), (char *)text.p));
	items = repeated(SLICE_LIT("\x02\x00"), 10000, SLICE_LIT("\x00"));
	why = decode_alone(&a, schema, slice_of(items.p, items.n), &fields);
	cr_expect(why && strstr(why, "bytes as JSON"), "%s", why);
	avro_schema_free(schema);
	arena_free(&a);
	buf_free(&text);
	buf_free(&items);
}

/* Long names of short values. */
Test(avro_hostile, what_becomes_long_as_json_is_bounded)
{
	struct buf name = repeated(SLICE_LIT("n"), 500, SLICE_LIT(""));
	struct buf items = {0};
	struct avro_schema *schema;
	struct arena a = {0};
	struct read_fields fields;
	const char *why;

	schema = schema_of(arena_printf(&a,
		RECORD(ARRAY("{\"type\":\"record\",\"name\":\"I\",\"fields\":["
			     "{\"name\":\"%.*s\",\"type\":\"int\"}]}")),
		(int)name.n, (char *)name.p));
	buf_add_str(&items, "\x80\x40"); /* 4096 items */
	for (int i = 0; i < 4096; i++)
		buf_add_byte(&items, 0);
	buf_add_byte(&items, 0);
	why = decode_alone(&a, schema, slice_of(items.p, items.n), &fields);
	cr_expect(
		why && strstr(why, "R.x at byte ") && strstr(why, "more than 131120 bytes as JSON"),
		"%s", why);
	avro_schema_free(schema);
	arena_free(&a);
	buf_free(&name);
	buf_free(&items);
}

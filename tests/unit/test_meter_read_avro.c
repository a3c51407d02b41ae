#include <criterion/criterion.h>
#include <stdlib.h>

#include "avro_fixture.h"

#define KEY "k"
#define RECORD(fields) "{\"type\":\"record\",\"name\":\"a.Read\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define LOGICAL(type, logical) "{\"type\":\"" type "\",\"logicalType\":\"" logical "\"}"
#define DECIMAL "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}"
#define KWH FIELD("kwh", DECIMAL)
#define INNER "{\"type\":\"record\",\"name\":\"Inner\",\"fields\":[" KWH "]}"

static struct arena arena;

static void expect_text(struct slice is, const char *wanted, const char *what)
{
	if (wanted && strcmp(wanted, "\\N") == 0)
		wanted = NULL;
	cr_expect(slice_eq(is, slice_str(wanted)), "%s: %.*s instead of %s", what, SLICE_FMT(is),
		wanted);
}

/* --- by fastavro --- */

Test(meter_read_avro, attributes_of_every_type_are_what_fastavro_reads)
{
	struct fixture *f = fixture_open(UNIT_DIR "/avro/types.txt");
	struct avro_schema *schema = NULL;
	size_t n = 0;

	while (fixture_next(f)) {
		struct read_fields fields;
		const char *why;

		if (strcmp(f->column[0], "schema") == 0) {
			avro_schema_free(schema);
			schema = schema_of(f->column[1]);
			continue;
		}
		why = fields_of(&arena, schema, unhex(&arena, f->column[0]), &fields);
		cr_assert_null(why, "%s: %s", f->column[0], why);
		expect_text(fields.attributes, f->column[1], f->column[0]);
		expect_text(fields.kwh, "1", f->column[0]);
		n++;
	}
	cr_expect_geq(n, 100);
	avro_schema_free(schema);
	fixture_close(f);
	arena_free(&arena);
}

/* column: as make_avro_fixtures.py says of reads.txt. */
static void expect_read(const struct avro_schema *schema, const char *const *column)
{
	struct read_fields fields;
	struct meter_read read;
	const char *why = fields_of(&arena, schema, unhex(&arena, column[0]), &fields);

	cr_assert_null(why, "%s: %s", column[0], why);
	why = read_fields_resolve(&arena, &fields, SLICE_LIT(KEY), &read);
	cr_assert_null(why, "%s: %s", column[0], why);
	expect_text(read.meter_id, column[1], "meter_id");
	cr_expect_eq(read.read_at_us, strtoll(column[2], NULL, 10), "%s", column[0]);
	cr_expect_eq(read.sequence, strtoll(column[3], NULL, 10), "%s", column[0]);
	expect_text(read.kwh, column[4], column[0]);
	expect_text(read.reading_type, column[5], "reading_type");
	expect_text(read.quality, column[6], "quality");
	expect_text(read.attributes, column[7], "attributes");
}

/* METER_DLQ_AVRO_READS: another file of that kind, with more of them. */
Test(meter_read_avro, random_reads_are_digit_for_digit_what_fastavro_reads)
{
	const char *more = getenv("METER_DLQ_AVRO_READS");
	struct fixture *f = fixture_open(more ? more : UNIT_DIR "/avro/reads.txt");
	struct avro_schema *schema = NULL;
	size_t n = 0;

	while (fixture_next(f)) {
		if (strcmp(f->column[0], "schema") == 0) {
			avro_schema_free(schema);
			schema = schema_of(f->column[1]);
			continue;
		}
		expect_read(schema, f->column);
		arena_reset(&arena);
		n++;
	}
	cr_expect_geq(n, 1600);
	avro_schema_free(schema);
	fixture_close(f);
	arena_free(&arena);
}

/* --- what a field may be --- */

/* Where each text is "-" for null. */
static const struct {
	const char *schema;
	struct slice payload;
	const char *fields; /* meter_id read_at sequence kwh reading_type quality attributes */
} good[] = {
	{RECORD(KWH), SLICE_INIT("\x04\x04\xe2"), "- - - 12.50 - - -"},
	{RECORD(FIELD("kwh", "\"string\"")),
		SLICE_INIT("\x08"
			   "1.5E"),
		"- - - 1.5E - - -"},
	{RECORD(FIELD("kwh", "\"int\"")), SLICE_INIT("\x01"), "- - - -1 - - -"},
	{RECORD(FIELD("kwh", "\"long\"")), SLICE_INIT("\x80\x80\x80\x80\x20"),
		"- - - 4294967296 - - -"},
	{RECORD(FIELD("kwh", "[" DECIMAL ",\"null\",\"string\"]")), SLICE_INIT("\x00\x02\xff"),
		"- - - -0.01 - - -"},
	{RECORD(FIELD("kwh", "[" DECIMAL ",\"null\",\"string\"]")),
		SLICE_INIT("\x04\x02"
			   "7"),
		"- - - 7 - - -"},
	{RECORD(FIELD("kwh", "[" DECIMAL ",\"null\",\"string\"]")), SLICE_INIT("\x02"),
		"- - - - - - -"},
	{RECORD(FIELD("kwh", "\"null\"") "," FIELD("meter_id", "\"null\"")), SLICE_INIT(""),
		"- - - - - - -"},
	{RECORD(FIELD("meter_id", "\"string\"") "," KWH),
		SLICE_INIT("\x08"
			   "0042"
			   "\x02\x05"),
		"0042 - - 0.05 - - -"},
	{RECORD(FIELD("meter_id", LOGICAL("string", "uuid"))), SLICE_INIT("\x02u"),
		"u - - - - - -"},
	{RECORD(FIELD("read_at", "\"string\"")),
		SLICE_INIT("\x28"
			   "2026-07-17T00:00:00Z"),
		"- 2026-07-17T00:00:00Z - - - - -"},
	{RECORD(FIELD("read_at", LOGICAL("long", "timestamp-millis"))), SLICE_INIT("\x00"),
		"- 1970-01-01T00:00:00+00:00 - - - - -"},
	{RECORD(FIELD("read_at", LOGICAL("long", "timestamp-millis"))), SLICE_INIT("\x01"),
		"- 1969-12-31T23:59:59.999000+00:00 - - - - -"},
	{RECORD(FIELD("read_at", LOGICAL("long", "timestamp-micros"))), SLICE_INIT("\x02"),
		"- 1970-01-01T00:00:00.000001+00:00 - - - - -"},
	{RECORD(FIELD("read_at", LOGICAL("long", "timestamp-nanos"))), SLICE_INIT("\xcf\x0f"),
		"- 1969-12-31T23:59:59.999999+00:00 - - - - -"},
	{RECORD(FIELD("sequence", "\"int\"") "," FIELD("x", "\"int\"")), SLICE_INIT("\x04\x06"),
		"- - 2 - - - {\"x\":3}"},
	{RECORD(FIELD("sequence", "\"long\"")), SLICE_INIT("\x01"), "- - -1 - - - -"},
	{RECORD(FIELD("sequence", "\"string\"")),
		SLICE_INIT("\x06"
			   "007"),
		"- - 007 - - - -"},
	{RECORD(FIELD("reading_type", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]"
				      "}") "," FIELD("quality", "[\"null\",\"E\"]")),
		SLICE_INIT("\x02\x02\x00"), "- - - - B A -"},
	/* What has no text as a date or time stays a number. */
	{RECORD(FIELD("x", LOGICAL("long", "timestamp-nanos"))), SLICE_INIT("\x02"),
		"- - - - - - {\"x\":\"1970-01-01T00:00:00.000000001Z\"}"},
	{RECORD(FIELD("x", LOGICAL("long", "local-timestamp-nanos"))), SLICE_INIT("\x01"),
		"- - - - - - {\"x\":\"1969-12-31T23:59:59.999999999\"}"},
	{RECORD(FIELD("x", LOGICAL("long", "timestamp-millis"))),
		SLICE_INIT("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		"- - - - - - {\"x\":9223372036854775807}"},
	{RECORD(FIELD("x", LOGICAL("long", "timestamp-micros"))),
		SLICE_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		"- - - - - - {\"x\":-9223372036854775808}"},
	{RECORD(FIELD("x", LOGICAL("int", "date"))), SLICE_INIT("\xff\xff\xff\xff\x0f"),
		"- - - - - - {\"x\":-2147483648}"},
	{RECORD(FIELD("x", LOGICAL("int", "time-millis"))), SLICE_INIT("\x01"),
		"- - - - - - {\"x\":-1}"},
	{RECORD(FIELD("x", LOGICAL("long", "time-micros"))), SLICE_INIT("\x80\x80\xbb\xdd\x83\x05"),
		"- - - - - - {\"x\":86400000000}"},
	{RECORD(FIELD(
		 "x", "{\"type\":\"fixed\",\"name\":\"U\",\"size\":16,\"logicalType\":\"uuid\"}")),
		SLICE_INIT("\x89\x79\x17\x62\x23\x36\x41\x86\x96\x74\x29\x9b\x90\xa8\x02\xe2"),
		"- - - - - - {\"x\":\"89791762-2336-4186-9674-299b90a802e2\"}"},
	/* At the top alone. */
	{RECORD(FIELD("x", INNER)), SLICE_INIT("\x02\x05"),
		"- - - - - - {\"x\":{\"kwh\":\"0.05\"}}"},
	{"[\"null\"," RECORD(KWH) "]", SLICE_INIT("\x02\x02\x05"), "- - - 0.05 - - -"},
	{RECORD(FIELD("Kwh", "\"int\"") "," KWH), SLICE_INIT("\x02\x02\x05"),
		"- - - 0.05 - - {\"Kwh\":1}"},
	{RECORD(""), SLICE_INIT(""), "- - - - - - -"},
};

static struct slice joined(const struct read_fields *f)
{
	const struct slice *const texts[] = {&f->meter_id, &f->read_at, &f->sequence, &f->kwh,
		&f->reading_type, &f->quality, &f->attributes};
	struct buf b = {0};
	struct slice all;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (i)
			buf_add_byte(&b, ' ');
		buf_add_str(&b, slice_is_null(*texts[i]) ? "-" : "");
		buf_add(&b, texts[i]->p, texts[i]->n);
	}
	all = arena_dup(&arena, slice_of(b.p, b.n));
	buf_free(&b);
	return all;
}

Test(meter_read_avro, gives_the_fields_by_their_names)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct avro_schema *schema = schema_of(good[i].schema);
		struct read_fields fields;
		const char *why = fields_of(&arena, schema, good[i].payload, &fields);

		cr_assert_null(why, "good[%zu]: %s", i, why);
		expect_text(joined(&fields), good[i].fields, good[i].schema);
		avro_schema_free(schema);
	}
	arena_free(&arena);
}

static const struct {
	const char *schema;
	struct slice payload;
	const char *why; /* how it begins */
} bad[] = {
	{RECORD(FIELD("kwh", "\"double\"")), SLICE_INIT("\0\0\0\0\0\0\0\0"),
		"a.Read.kwh at byte 0: double holds no exact amount (by schema id 7)"},
	{RECORD(FIELD("x", "\"int\"") "," FIELD("kwh", "[\"null\",\"float\"]")),
		SLICE_INIT("\0\x02\0\0\0\0"), "a.Read.kwh at byte 2: float holds no exact amount"},
	{RECORD(FIELD("kwh", "\"bytes\"")), SLICE_INIT("\x02\x05"),
		"a.Read.kwh at byte 0: bytes without the logical type decimal"},
	{RECORD(FIELD("kwh", "{\"type\":\"fixed\",\"name\":\"F\",\"size\":1}")), SLICE_INIT("\x05"),
		"a.Read.kwh at byte 0: fixed without the logical type decimal"},
	{RECORD(FIELD("kwh", "\"boolean\"")), SLICE_INIT("\x01"),
		"a.Read.kwh at byte 0: boolean is not a decimal, string or integer"},
	{RECORD(FIELD("kwh", LOGICAL("int", "date"))), SLICE_INIT("\x02"),
		"a.Read.kwh at byte 0: date is not a decimal, string or integer"},
	{RECORD(FIELD("kwh", "{\"type\":\"array\",\"items\":\"int\"}")), SLICE_INIT("\x00"),
		"a.Read.kwh at byte 0: array is not a decimal, string or integer"},
	{RECORD(KWH), SLICE_INIT("\x00"), "a.Read.kwh at byte 1: a decimal of no bytes"},
	{RECORD(KWH), SLICE_INIT("\x06\x01\x02"), "a.Read.kwh at byte 1: 3 bytes declared, 2 left"},
	{RECORD(KWH), SLICE_INIT("\x02\x01\x00"), "a.Read.end at byte 2: 1 bytes too many"},
	{RECORD(FIELD("meter_id", "\"long\"")), SLICE_INIT("\x02"),
		"a.Read.meter_id at byte 0: long is not a string"},
	{RECORD(FIELD("meter_id", "\"bytes\"")), SLICE_INIT("\x02m"),
		"a.Read.meter_id at byte 0: bytes is not a string"},
	{RECORD(FIELD("meter_id", "\"string\"")), SLICE_INIT("\x02\xff"),
		"a.Read.meter_id at byte 0: a string that is not UTF-8, or holds a NUL"},
	{RECORD(FIELD("meter_id", "\"string\"")), SLICE_INIT("\x02\x00"),
		"a.Read.meter_id at byte 0: a string that is not UTF-8, or holds a NUL"},
	{RECORD(FIELD("read_at", "\"long\"")), SLICE_INIT("\x02"),
		"a.Read.read_at at byte 0: long is not a string or timestamp"},
	{RECORD(FIELD("read_at", LOGICAL("int", "date"))), SLICE_INIT("\x02"),
		"a.Read.read_at at byte 0: date is not a string or timestamp"},
	{RECORD(FIELD("read_at", LOGICAL("long", "local-timestamp-millis"))), SLICE_INIT("\x02"),
		"a.Read.read_at at byte 0: local-timestamp-millis has no offset"},
	{RECORD(FIELD("read_at", LOGICAL("long", "local-timestamp-micros"))), SLICE_INIT("\x02"),
		"a.Read.read_at at byte 0: local-timestamp-micros has no offset"},
	{RECORD(FIELD("read_at", LOGICAL("long", "timestamp-nanos"))), SLICE_INIT("\x02"),
		"a.Read.read_at at byte 1: timestamp-nanos finer than a microsecond"},
	{RECORD(FIELD("read_at", LOGICAL("long", "timestamp-millis"))),
		SLICE_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		"a.Read.read_at at byte 10: timestamp-millis outside the years 0001 to 9999"},
	{RECORD(FIELD("read_at", LOGICAL("long", "timestamp-micros"))),
		SLICE_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		"a.Read.read_at at byte 10: timestamp-micros outside the years 0001 to 9999"},
	{RECORD(FIELD("sequence", "\"double\"")), SLICE_INIT("\0\0\0\0\0\0\0\0"),
		"a.Read.sequence at byte 0: double is not an integer or string"},
	{RECORD(FIELD("quality", "\"int\"")), SLICE_INIT("\x02"),
		"a.Read.quality at byte 0: int is not a string"},
	{RECORD(FIELD("quality", "[\"null\",\"string\"]")), SLICE_INIT("\x04"),
		"a.Read.quality at byte 0: 2 is not within 0 to 1"},
	{RECORD(FIELD("x", "\"boolean\"")), SLICE_INIT("\x02"),
		"a.Read.x at byte 1: a boolean of 2"},
	{RECORD(FIELD("x", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}")),
		SLICE_INIT("\x02"), "a.Read.x at byte 0: 1 is not within 0 to 0"},
	{RECORD(FIELD("x", "\"int\"")), SLICE_INIT("\x80\x80\x80\x80\x10"),
		"a.Read.x at byte 0: 2147483648 is not within"},
	{"{\"type\":\"array\",\"items\":" RECORD(KWH) "}", SLICE_INIT("\x02\x02\x05\x00"),
		"several reads"},
	{"[\"null\",{\"type\":\"array\",\"items\":\"null\"}]", SLICE_INIT("\x02\x00"),
		"several reads"},
	{"\"string\"", SLICE_INIT("\x02m"), "not an Avro record, but string"},
	{"{\"type\":\"map\",\"values\":\"string\"}", SLICE_INIT("\x00"),
		"not an Avro record, but map"},
	{"[\"null\"," RECORD(KWH) "]", SLICE_INIT("\x00"), "not an Avro record, but null"},
	{"[\"null\"," RECORD(KWH) "]", SLICE_INIT("\x04"),
		"payload.body at byte 0: 2 is not within 0 to 1"},
	{"[]", SLICE_INIT("\x00"), "payload.body at byte 0: 0 is not within 0 to -1"},
};

Test(meter_read_avro, what_is_malformed_is_told_with_its_field_and_place)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct avro_schema *schema = schema_of(bad[i].schema);
		struct read_fields fields;
		const char *why = fields_of(&arena, schema, bad[i].payload, &fields);

		cr_expect(why && strncmp(why, bad[i].why, strlen(bad[i].why)) == 0, "bad[%zu]: %s",
			i, why);
		avro_schema_free(schema);
	}
	arena_free(&arena);
}

Test(meter_read_avro, places_count_from_the_payloads_first_byte)
{
	const struct slice payload = SLICE_LIT("\x00\x00\x00\x00\x07\x06\x01");
	const struct framing framing = {
		FRAMING_SCHEMA, {.number = 7}, slice_of(payload.p + 5, payload.n - 5)};
	struct avro_schema *schema = schema_of(RECORD(KWH));
	static const struct read_names ours;
	struct read_fields fields;

	cr_expect_str_eq(read_fields_from_avro(&arena, &ours, schema, &framing, payload, &fields),
		"a.Read.kwh at byte 6: 3 bytes declared, 1 left (by schema id 7)");
	avro_schema_free(schema);
	arena_free(&arena);
}

/* --- evolution: whatever the writer's schema was, fields count by name --- */

Test(meter_read_avro, fields_may_be_added_removed_and_moved)
{
	struct avro_schema *v1 = schema_of(
		RECORD(KWH "," FIELD("meter_id", "\"string\"") "," FIELD("old", "\"int\"")));
	struct avro_schema *v2 = schema_of(
		RECORD(FIELD("new", "\"boolean\"") "," FIELD("meter_id", "\"string\"") "," KWH));
	struct read_fields fields;

	cr_assert_null(fields_of(&arena, v1, SLICE_LIT("\x02\x05\x02m\x02"), &fields));
	expect_text(joined(&fields), "m - - 0.05 - - {\"old\":1}", "v1");
	cr_assert_null(fields_of(&arena, v2, SLICE_LIT("\x01\x02m\x02\x05"), &fields));
	expect_text(joined(&fields), "m - - 0.05 - - {\"new\":true}", "v2");
	avro_schema_free(v1);
	avro_schema_free(v2);
	arena_free(&arena);
}

#define ALIASED(name, type, alias)                                                                 \
	"{\"name\":\"" name "\",\"type\":" type ",\"aliases\":[\"x\",\"" alias "\"]}"

Test(meter_read_avro, a_renamed_field_is_known_by_its_alias)
{
	struct avro_schema *schema = schema_of(RECORD(ALIASED("energy", DECIMAL, "kwh")));
	struct read_fields fields;

	cr_assert_null(fields_of(&arena, schema, SLICE_LIT("\x02\x05"), &fields));
	expect_text(joined(&fields), "- - - 0.05 - - -", "alias");
	avro_schema_free(schema);
	arena_free(&arena);
}

Test(meter_read_avro, an_alias_gives_way_to_a_name)
{
	struct avro_schema *schema = schema_of(RECORD(ALIASED("energy", "\"int\"", "kwh") "," KWH));
	struct read_fields fields;

	cr_assert_null(fields_of(&arena, schema, SLICE_LIT("\x02\x02\x05"), &fields));
	expect_text(joined(&fields), "- - - 0.05 - - {\"energy\":1}", "name");
	avro_schema_free(schema);
	arena_free(&arena);
}

Test(meter_read_avro, two_fields_of_one_alias_are_refused)
{
	struct avro_schema *schema =
		schema_of(RECORD(ALIASED("in", DECIMAL, "kwh") "," ALIASED("out", DECIMAL, "kwh")));
	struct read_fields fields;

	cr_expect_str_eq(fields_of(&arena, schema, SLICE_LIT("\x02\x05\x02\x05"), &fields),
		"a.Read.out at byte 2: another field has been called that too (by schema id 7)");
	avro_schema_free(schema);
	arena_free(&arena);
}

Test(meter_read_avro, names_may_be_configured)
{
	const struct slice payload = SLICE_LIT("\x02\x05\x02");
	const struct framing framing = {FRAMING_SCHEMA, {.number = 7}, payload};
	struct read_names names = {{[READ_KWH] = SLICE_LIT("energy")}};
	struct avro_schema *schema =
		schema_of(RECORD(FIELD("energy", DECIMAL) "," FIELD("kwh", "\"int\"")));
	struct read_fields fields;

	cr_assert_null(read_fields_from_avro(&arena, &names, schema, &framing, payload, &fields));
	expect_text(joined(&fields), "- - - 0.05 - - {\"kwh\":1}", "configured");
	avro_schema_free(schema);
	arena_free(&arena);
}

/* --- our own schema --- */

Test(meter_read_avro, our_own_schema_of_a_read_is_read)
{
	CLEANUP(buf_free) struct buf text = {0};
	FILE *file = fopen(SCHEMAS_DIR "/avro/meter_read.avsc", "r");
	struct avro_schema *schema;
	struct read_fields fields;
	int c;

	cr_assert(file);
	while ((c = getc(file)) != EOF)
		buf_add_byte(&text, (uint8_t)c);
	fclose(file);
	buf_add_byte(&text, '\0');
	schema = schema_of((char *)text.p);
	cr_assert_null(fields_of(&arena, schema,
		SLICE_LIT("\x08"
			  "0042"
			  "\x00\x02\x08\x00\xbe\xbc\x20\x00\x02\x02"
			  "A"),
		&fields));
	expect_text(joined(&fields), "0042 1970-01-01T00:00:00+00:00 1 12.500000 - A -", "ours");
	avro_schema_free(schema);
	arena_free(&arena);
}

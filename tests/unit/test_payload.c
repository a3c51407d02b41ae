/* From the bytes of a dead letter to its read, whatever its encoding, and where schemas come from.
 */
#include <criterion/criterion.h>

#include "avro_fixture.h"
#include "dead_letter.h"
#include "payload.h"

#define KEY "M|2026-07-17T00:00:00+00:00|1"
#define NOW_US 1784246400000000
/* kwh 12.50 */
#define AVRO                                                                                       \
	"\x00\x00\x00\x00\x07"                                                                     \
	"\x04\x04\xe2"
#define SCHEMA                                                                                     \
	"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"kwh\",\"type\":"              \
	"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}}]}"

static struct arena arena;

/* A source with one answer. */
struct fake {
	struct schema_answer answer;
	struct schema_ref asked;
	int asks;
};

static struct schema_answer fake_find(void *ctx, const struct schema_ref *ref)
{
	struct fake *f = ctx;

	f->asked = *ref;
	f->asks++;
	return f->answer;
}

static const char *fields_by(
	struct fake *f, struct slice payload, struct read_fields *ret, bool *ret_wait)
{
	static const struct read_names ours;
	const struct schema_source schemas = {fake_find, f};

	return payload_read_fields(&arena, &ours, &schemas, SLICE_NULL, payload, ret, ret_wait);
}

Test(payload, json_needs_no_schema)
{
	struct fake f = {0};
	struct read_fields fields;
	bool wait = true;

	cr_assert_null(fields_by(&f, SLICE_LIT("{\"kwh\":\"1\"}"), &fields, &wait));
	cr_expect(slice_eq(fields.kwh, SLICE_LIT("1")));
	cr_expect_eq(f.asks, 0);
	cr_expect_not(wait);
	cr_expect_str_eq(fields_by(&f, SLICE_LIT(""), &fields, &wait), "empty payload");
	cr_expect_str_eq(fields_by(&f, SLICE_NULL, &fields, &wait), "no payload");
	arena_free(&arena);
}

Test(payload, avro_is_read_by_the_schema_that_its_frame_names)
{
	struct avro_schema *schema = schema_of(SCHEMA);
	struct fake f = {.answer = {.state = SCHEMA_FOUND, .avro = schema}};
	struct read_fields fields;
	bool wait = true;

	cr_assert_null(fields_by(&f, SLICE_LIT(AVRO), &fields, &wait));
	cr_expect(slice_eq(fields.kwh, SLICE_LIT("12.50")));
	cr_expect_not(wait);
	cr_expect_eq(f.asks, 1);
	cr_expect_eq(f.asked.kind, SCHEMA_BY_ID);
	cr_expect_eq(f.asked.number, 7);
	avro_schema_free(schema);
	arena_free(&arena);
}

Test(payload, behind_a_frame_there_may_be_json)
{
	struct fake f = {.answer = {.state = SCHEMA_IS_JSON}};
	struct read_fields fields;
	bool wait;

	cr_assert_null(
		fields_by(&f, SLICE_LIT("\x00\x00\x00\x00\x07{\"kwh\":1.50}"), &fields, &wait));
	cr_expect(slice_eq(fields.kwh, SLICE_LIT("1.50")));
	arena_free(&arena);
}

Test(payload, an_unknown_schema_is_the_reads_own_failure)
{
	struct fake f = {.answer = {.state = SCHEMA_UNKNOWN, .why = "not in the registry"}};
	struct read_fields fields;
	bool wait = true;

	cr_expect_str_eq(
		fields_by(&f, SLICE_LIT(AVRO), &fields, &wait), "schema id 7: not in the registry");
	cr_expect_not(wait);
	f.answer.why = NULL;
	cr_expect_str_eq(fields_by(&f, SLICE_LIT(AVRO), &fields, &wait), "schema id 7: unknown");
	arena_free(&arena);
}

Test(payload, a_broken_frame_is_the_reads_own_failure_and_asks_nobody)
{
	struct fake f = {.answer = {.state = SCHEMA_AWAY}};
	struct read_fields fields;
	bool wait = true;

	cr_expect_str_eq(fields_by(&f, SLICE_LIT("\x00\x00"), &fields, &wait),
		"the payload ends inside its schema id");
	cr_expect_not(wait);
	cr_expect_eq(f.asks, 0);
}

Test(payload, of_a_schema_that_is_away_nobody_says_that_it_is_malformed)
{
	struct fake f = {.answer = {.state = SCHEMA_AWAY}};
	struct read_fields fields;
	bool wait = false;

	cr_expect_str_eq(
		fields_by(&f, SLICE_LIT(AVRO), &fields, &wait), "schema id 7 is not to be had now");
	cr_expect(wait);
	arena_free(&arena);
}

/* --- dead letters and entries --- */

static struct dead_letter letter(struct slice payload)
{
	return (struct dead_letter){
		.at = {SLICE_LIT("t"), 3, 14},
		.seen_us = NOW_US,
		.key = SLICE_LIT(KEY),
		.payload = payload,
	};
}

static struct decode_rules rules_by(struct fake *f)
{
	return (struct decode_rules){.schemas = {fake_find, f}, .max_bytes = SIZE_MAX};
}

Test(payload, a_dead_letter_in_avro_has_the_content_of_the_same_in_json)
{
	struct avro_schema *schema = schema_of(SCHEMA);
	struct fake f = {.answer = {.state = SCHEMA_FOUND, .avro = schema}};
	struct decode_rules rules = rules_by(&f);
	struct dead_letter avro = letter(SLICE_LIT(AVRO));
	struct dead_letter json = letter(SLICE_LIT("{\"kwh\":12.5}"));
	struct decoded from_avro, from_json;
	struct meter_read again;
	bool wait;

	dead_letter_decode(&arena, &rules, &avro, NOW_US, &from_avro);
	dead_letter_decode(&arena, &rules, &json, NOW_US, &from_json);
	cr_assert_not(from_avro.unfit || from_avro.wait);
	cr_expect(slice_eq(from_avro.read.kwh, SLICE_LIT("12.50")));
	cr_expect(slice_eq(from_avro.record.idempotency_key, SLICE_LIT(KEY)));
	cr_expect_eq(from_avro.record.content, from_json.record.content);
	cr_assert_null(record_decode_read(&arena, &rules, &from_avro.record, &again, &wait));
	cr_expect_eq(meter_read_content(&again), from_json.record.content);
	avro_schema_free(schema);
	arena_free(&arena);
}

Test(payload, the_key_of_a_dead_letter_may_come_out_of_avro)
{
	struct avro_schema *schema = schema_of(
		"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"meter_id\",\"type\":"
		"\"string\"},"
		"{\"name\":\"read_at\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-"
		"millis\"}},"
		"{\"name\":\"sequence\",\"type\":\"int\"},{\"name\":\"kwh\",\"type\":\"int\"}]}");
	struct fake f = {.answer = {.state = SCHEMA_FOUND, .avro = schema}};
	struct decode_rules rules = rules_by(&f);
	struct dead_letter d = letter(SLICE_LIT("\x00\x00\x00\x00\x07"
						"\x02M"
						"\x80\xd0\xfb\xd5\xed\x67"
						"\x02"
						"\x0a"));
	struct decoded got;

	d.key = SLICE_LIT("M");
	dead_letter_decode(&arena, &rules, &d, NOW_US, &got);
	cr_assert_not(got.unfit || got.wait, "%.*s", SLICE_FMT(got.record.error.message));
	cr_expect(slice_eq(got.record.idempotency_key, SLICE_LIT(KEY)), "%.*s",
		SLICE_FMT(got.record.idempotency_key));
	avro_schema_free(schema);
	arena_free(&arena);
}

Test(payload, a_dead_letter_waits_for_a_schema_that_is_away)
{
	struct fake f = {.answer = {.state = SCHEMA_AWAY}};
	struct decode_rules rules = rules_by(&f);
	struct dead_letter d = letter(SLICE_LIT(AVRO));
	struct decoded got;

	dead_letter_decode(&arena, &rules, &d, NOW_US, &got);
	cr_expect(got.wait);
	cr_expect_not(got.unfit);
	arena_free(&arena);
}

Test(payload, an_entry_waits_for_a_schema_that_is_away)
{
	struct fake f = {.answer = {.state = SCHEMA_AWAY}};
	struct decode_rules rules = rules_by(&f);
	struct record r = {.idempotency_key = SLICE_LIT(KEY), .payload = SLICE_LIT(AVRO)};
	struct meter_read read;
	bool wait = false;

	cr_expect_not_null(record_decode_read(&arena, &rules, &r, &read, &wait));
	cr_expect(wait);
	arena_free(&arena);
}

Test(payload, without_a_registry_a_framed_payload_is_malformed)
{
	struct decode_rules rules = {.max_bytes = SIZE_MAX};
	struct dead_letter d = letter(SLICE_LIT(AVRO));
	struct decoded got;

	dead_letter_decode(&arena, &rules, &d, NOW_US, &got);
	cr_expect(got.unfit);
	cr_expect_eq(got.cause, CAUSE_MALFORMED);
	cr_expect(slice_eq(got.record.error.message,
		SLICE_LIT("schema id 7: no schema registry is configured")));
	arena_free(&arena);
}

Test(payload, an_oversize_one_asks_for_no_schema)
{
	struct fake f = {.answer = {.state = SCHEMA_AWAY}};
	struct decode_rules rules = rules_by(&f);
	struct dead_letter d = letter(SLICE_LIT(AVRO));
	struct decoded got;

	rules.max_bytes = 4;
	dead_letter_decode(&arena, &rules, &d, NOW_US, &got);
	cr_expect_eq(f.asks, 0);
	cr_expect_eq(got.cause, CAUSE_OVERSIZE);
	cr_expect_not(got.wait);
	arena_free(&arena);
}

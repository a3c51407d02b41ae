/* Dead letters of other programs, from record to entry. */
#include <criterion/criterion.h>

#include "dead_letter.h"
#include "dialect_headers.h"
#include "hash.h"

#define KEY "MTR-00000001|2026-07-17T00:00:00+00:00|1"
#define WHOLE                                                                                      \
	"{\"meter_id\":\"MTR-1\",\"read_at\":\"2026-07-17T00:00:00Z\",\"sequence\":1,\"kwh\":1.5}"
#define KEY_OF_WHOLE "MTR-1|2026-07-17T00:00:00Z|1"
#define NOW_US 1784250000000000

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(dead_letter_foreign, .fini = free_arena);

static const struct decode_rules rules = {.max_bytes = 1048588};

static struct dead_letter dead_letter(struct slice key, struct slice payload, struct slice headers)
{
	return (struct dead_letter){
		.at = {SLICE_LIT("meter-reads-dlt"), 3, 77},
		.seen_us = NOW_US,
		.key = key,
		.payload = payload,
		.headers = headers,
	};
}

static struct decoded decode(const struct decode_rules *by, const struct dead_letter *d)
{
	struct decoded ret;

	dead_letter_decode(&arena, by, d, NOW_US, &ret);
	return ret;
}

static struct decoded decode_of(struct slice key, struct slice payload, struct slice headers)
{
	struct dead_letter d = dead_letter(key, payload, headers);

	return decode(&rules, &d);
}

/* --- what becomes of headers --- */

static struct slice spring_headers(void)
{
	return HEADERS(&arena, H("traceparent", "00-4bf9-01"),
		H("kafka_dlt-exception-fqcn", SPRING_LISTENER_FAILED),
		H("kafka_dlt-exception-cause-fqcn",
			"com.fasterxml.jackson.core.JsonParseException"),
		H("kafka_dlt-exception-message", "Unexpected character"),
		H("retry_topic-attempts", "\0\0\0\4"), SPRING_ORIGIN);
}

Test(dead_letter_foreign, becomes_an_entry_with_origin_error_attempts_and_reason)
{
	struct slice headers = spring_headers();
	struct decoded got = decode_of(SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":1}"), headers);
	const struct record *r = &got.record;

	cr_assert_not(got.unfit);
	expect_text(r->origin.topic, "meter-reads", "topic");
	cr_expect_eq(r->origin.partition, 3);
	cr_expect_eq(r->origin.offset, 42);
	expect_text(r->error.class, "com.fasterxml.jackson.core.JsonParseException", "class");
	expect_text(r->error.message, "Unexpected character", "message");
	cr_expect_eq(r->reason, REASON_PERMANENT_4XX);
	cr_expect_eq(r->upstream_attempts, 4);
	cr_expect_eq(r->attempts, 1, "what others counted is not ours");
	cr_expect_eq(r->first_seen_us, NOW_US, "their times are not ours");
	cr_expect(slice_eq(r->headers, headers));
}

Test(dead_letter_foreign, is_classified_by_the_configuration_first)
{
	struct classify_rule busy = {SLICE_INIT("JsonParseException"), REASON_RETRIES_EXHAUSTED};
	struct decode_rules by = rules;
	struct dead_letter d =
		dead_letter(SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":1}"), spring_headers());

	by.classify = (struct classify_rules){&busy, 1};
	cr_expect_eq(decode(&by, &d).record.reason, REASON_RETRIES_EXHAUSTED);
}

Test(dead_letter_foreign, texts_that_are_no_utf8_are_made_so_and_cut)
{
	struct slice headers = HEADERS(&arena, H("__streams.errors.exception", "a.\xff\0"),
		H("__streams.errors.message", "\xc3("));
	struct decoded got = decode_of(SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":1}"), headers);

	cr_expect(slice_eq(got.record.error.class, SLICE_LIT("a.\xef\xbf\xbd\xef\xbf\xbd")));
	cr_expect(slice_eq(got.record.error.message, SLICE_LIT("\xef\xbf\xbd(")));
}

/* --- sources keyed by meter --- */

static const struct {
	const char *key, *header;
	const char *payload;
	const char *wanted; /* NULL: malformed */
} keyed_by_meter[] = {
	{"MTR-1", NULL, WHOLE, KEY_OF_WHOLE}, {"MTR-1", KEY_OF_WHOLE, WHOLE, KEY_OF_WHOLE},
	{"MTR-00000001", KEY, "{\"kwh\":1}", KEY}, {"MTR-1", NULL, "{\"kwh\":1}", NULL},
	{"\"MTR-1\"", NULL, WHOLE, KEY_OF_WHOLE}, /* a JSON converter's key */
	{"MTR|1", NULL, WHOLE, KEY_OF_WHOLE},	  /* a bar does not make it a key */
	{"MTR-1|2026-07-17T00:00:00|1", NULL, WHOLE, KEY_OF_WHOLE}, /* no offset, no key */
	{"\xff\xfe", NULL, WHOLE, KEY_OF_WHOLE}, {"", NULL, WHOLE, KEY_OF_WHOLE},
	{NULL, NULL, WHOLE, KEY_OF_WHOLE}, {NULL, KEY, "{\"kwh\":1}", KEY},
	{"3", NULL, WHOLE, KEY_OF_WHOLE}, /* Karafka before 2.5: the partition */
};

Test(dead_letter_foreign, keyed_by_meter_has_its_idempotency_key_from_header_or_payload)
{
	for (size_t i = 0; i < ARRAY_LEN(keyed_by_meter); i++) {
		struct header h = {
			SLICE_INIT("idempotency-key"), slice_str(keyed_by_meter[i].header)};
		struct decoded got = decode_of(slice_str(keyed_by_meter[i].key),
			slice_str(keyed_by_meter[i].payload), headers_of(&arena, &h, 1));

		cr_expect_eq(got.unfit, !keyed_by_meter[i].wanted, "keyed_by_meter[%zu]: %.*s", i,
			SLICE_FMT(got.record.error.message));
		if (!got.unfit)
			expect_text(got.record.idempotency_key, keyed_by_meter[i].wanted, "key");
		cr_expect(slice_eq(got.record.record_key, slice_str(keyed_by_meter[i].key)));
	}
}

Test(dead_letter_foreign, a_key_of_64_kib_is_kept_beside_the_one_from_the_payload)
{
	struct slice key = slice_of(memset(arena_alloc(&arena, 65536), 'k', 65536), 65536);
	struct decoded got = decode_of(key, SLICE_LIT(WHOLE), SLICE_NULL);

	cr_assert_not(got.unfit);
	expect_text(got.record.idempotency_key, KEY_OF_WHOLE, "key");
	cr_expect(slice_eq(got.record.record_key, key));
}

Test(dead_letter_foreign, a_tombstone_is_malformed_whatever_wrote_it)
{
	struct decoded got = decode_of(SLICE_LIT(KEY), SLICE_NULL, spring_headers());

	cr_assert(got.unfit);
	cr_expect_eq(got.cause, CAUSE_MALFORMED);
	expect_text(got.record.error.message, "no payload", "message");
	cr_expect(slice_is_null(got.record.payload));
	expect_text(got.record.origin.topic, "meter-reads", "topic");
}

/* --- names of fields --- */

Test(dead_letter_foreign, fields_are_read_by_their_names_at_intake_and_at_replay)
{
	static const char *const items[] = {"kwh:energy", "meter_id:mp"};
	struct decode_rules by = rules;
	struct dead_letter d = dead_letter(SLICE_LIT("MTR-1"),
		SLICE_LIT("{\"mp\":\"MTR-1\",\"read_at\":\"2026-07-17T00:00:00Z\",\"sequence\":1,"
			  "\"energy\":\"12.50\"}"),
		SLICE_NULL);
	struct decoded got;
	struct meter_read again;
	bool wait = false;

	cr_assert_eq(read_names_parse((char *const *)items, 2, &by.names, NULL), 0);
	got = decode(&by, &d);
	cr_assert_not(got.unfit, "%.*s", SLICE_FMT(got.record.error.message));
	expect_text(got.record.idempotency_key, KEY_OF_WHOLE, "key");
	expect_text(got.read.kwh, "12.50", "kwh");
	expect_text(got.read.meter_id, "MTR-1", "meter_id");
	cr_assert_null(record_decode_read(&arena, &by, &got.record, &again, &wait));
	cr_expect_eq(meter_read_content(&again), got.record.content);
	cr_expect(decode(&rules, &d).unfit, "by our own names it has no amount");
}

/* --- pointers --- */

static struct slice pointer_headers(void)
{
	return HEADERS(&arena, H("__dlq.errors.topic", "meter-reads"),
		H("__dlq.errors.partition", "3"), H("__dlq.errors.offset", "42"),
		H("__dlq.errors.group", "readers"), H("__dlq.errors.delivery.count", "5"),
		H("__dlq.errors.message", "Offset delivery count exceeded the threshold."));
}

Test(dead_letter_foreign, a_pointer_says_where_the_read_is_and_is_parked)
{
	struct slice headers = pointer_headers();
	struct decoded got = decode_of(SLICE_NULL, SLICE_NULL, headers);

	cr_assert(got.pointer);
	expect_text(got.record.origin.topic, "meter-reads", "topic");
	cr_expect_eq(got.record.origin.partition, 3);
	cr_expect_eq(got.record.origin.offset, 42);
	cr_expect_eq(got.record.upstream_attempts, 5);
	cr_expect(got.unfit);
	cr_expect_eq(got.cause, CAUSE_ORIGINAL_GONE);
	expect_text(got.record.idempotency_key, "meter-reads-dlt-3-77", "key");
	expect_text(got.record.error.class, "original_gone", "class");
	expect_text(got.record.error.message,
		"only a pointer to topic meter-reads partition 3 offset 42", "message");
	cr_expect(slice_eq(got.record.headers, headers));
	cr_expect_eq(got.record.content, hash_content(SLICE_NULL));
}

Test(dead_letter_foreign, a_pointer_that_was_followed_is_the_read_with_the_headers_of_both)
{
	struct dead_letter pointer = dead_letter(SLICE_NULL, SLICE_NULL, pointer_headers());
	const struct header own[] = {{SLICE_LIT("traceparent"), SLICE_LIT("00-1")}};
	struct dead_letter d = dead_letter_fetched(
		&arena, &pointer, SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":\"12.50\"}"), own, 1);
	struct decoded got = decode(&rules, &d);
	struct header first;
	size_t pos = 0;

	cr_assert_not(got.pointer);
	cr_assert_not(got.unfit);
	expect_text(got.read.kwh, "12.50", "kwh");
	expect_text(got.record.idempotency_key, KEY, "key");
	cr_expect_eq(got.record.origin.offset, 42);
	cr_expect_eq(got.record.dead_letter.offset, 77);
	cr_expect_eq(got.record.upstream_attempts, 5);
	cr_assert(headers_next(got.record.headers, &pos, &first));
	expect_text(first.key, "traceparent", "the first header");
	expect_text(headers_last(got.record.headers, "__dlq.errors.group"), "readers", "group");
}

Test(dead_letter_foreign, an_original_without_key_and_value_makes_no_pointer_again)
{
	struct dead_letter pointer = dead_letter(SLICE_NULL, SLICE_NULL, pointer_headers());
	struct dead_letter d =
		dead_letter_fetched(&arena, &pointer, SLICE_NULL, SLICE_NULL, NULL, 0);
	struct decoded got = decode(&rules, &d);

	cr_expect_not(got.pointer);
	cr_expect_eq(got.cause, CAUSE_MALFORMED);
}

Test(dead_letter_foreign, a_pointer_to_nothing_says_why_there_is_nothing)
{
	struct decoded got = decode_of(SLICE_NULL, SLICE_NULL, pointer_headers());

	dead_letter_gone(&arena, "retention has taken it", &got);
	cr_expect(got.unfit);
	cr_expect_eq(got.cause, CAUSE_ORIGINAL_GONE);
	expect_text(got.record.error.message,
		"only a pointer to topic meter-reads partition 3 offset 42: retention has taken it",
		"message");
}

Test(dead_letter_foreign, only_null_key_and_value_of_a_share_group_make_a_pointer)
{
	cr_expect_not(decode_of(SLICE_LIT(KEY), SLICE_NULL, pointer_headers()).pointer);
	cr_expect_not(decode_of(SLICE_LIT(""), SLICE_NULL, pointer_headers()).pointer);
	cr_expect_not(decode_of(SLICE_NULL, SLICE_LIT(""), pointer_headers()).pointer);
	cr_expect_not(decode_of(SLICE_NULL, SLICE_LIT(WHOLE), pointer_headers()).pointer);
	cr_expect_not(decode_of(SLICE_NULL, SLICE_NULL, spring_headers()).pointer);
	cr_expect_not(decode_of(SLICE_NULL, SLICE_NULL, SLICE_NULL).pointer);
	cr_expect_eq(decode_of(SLICE_NULL, SLICE_NULL,
			     HEADERS(&arena, H("__dlq.errors.topic", "t"),
				     H("__dlq.errors.offset", "x")))
			     .cause,
		CAUSE_MALFORMED, "nobody can fetch from nowhere");
}

Test(dead_letter_foreign, a_record_that_a_share_group_copied_is_a_read)
{
	struct decoded got = decode_of(SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":1}"), pointer_headers());

	cr_assert_not(got.unfit);
	expect_text(got.record.idempotency_key, KEY, "key");
	expect_text(got.record.origin.topic, "meter-reads", "topic");
}

Test(dead_letter_foreign, what_a_pointer_led_to_is_decoded_like_any_other)
{
	struct dead_letter d = dead_letter(SLICE_LIT("MTR-1"), SLICE_LIT("{\"kwh\":1}"),
		HEADERS(&arena, H("idempotency-key", "MTR-1|2026-07-17T00:00:00Z|1"),
			H("__dlq.errors.topic", "meter-reads"), H("__dlq.errors.partition", "3"),
			H("__dlq.errors.offset", "42")));
	struct decoded got;

	d.fetched = true;
	got = decode(&rules, &d);
	cr_assert_not(got.unfit || got.pointer);
	expect_text(got.record.idempotency_key, KEY_OF_WHOLE, "key");
	expect_text(got.record.dead_letter.topic, "meter-reads-dlt", "topic");
	/* A record without anything in it leads nowhere again. */
	d.key = d.payload = SLICE_NULL;
	got = decode(&rules, &d);
	cr_assert_not(got.pointer);
	cr_expect_eq(got.cause, CAUSE_MALFORMED);
}

Test(dead_letter_foreign, a_pointer_is_one_to_the_owner_of_its_key_too)
{
	struct dead_letter d = dead_letter(SLICE_NULL, SLICE_NULL, pointer_headers()), at_owner;
	struct decoded got = decode(&rules, &d);
	struct inbox in = dead_letter_to_inbox(&d, &got);

	at_owner = dead_letter_from_inbox(&in);
	cr_expect(decode(&rules, &at_owner).pointer);
	/* What is oversize was handed over without its payload, and is no pointer for that. */
	at_owner.oversize.message = SLICE_LIT("payload of 9 bytes");
	cr_expect_not(decode(&rules, &at_owner).pointer);
	cr_expect_eq(decode(&rules, &at_owner).cause, CAUSE_OVERSIZE);
}

/* --- times --- */

Test(dead_letter_foreign, kafka_timestamps_that_cannot_be_are_the_arrival)
{
	cr_expect_eq(dead_letter_seen_us(1784246400, NOW_US), NOW_US, "seconds");
	cr_expect_eq(dead_letter_seen_us(1784246400000000, NOW_US), NOW_US, "microseconds");
	cr_expect_eq(dead_letter_seen_us(4102444800000, NOW_US), NOW_US, "the year 2100");
	cr_expect_eq(dead_letter_seen_us(-1, NOW_US), NOW_US, "none");
	cr_expect_eq(dead_letter_seen_us(1784246400000, NOW_US), 1784246400000000);
}

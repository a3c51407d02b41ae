#include <criterion/criterion.h>

#include "dead_letter.h"
#include "hash.h"
#include "key.h"

#define KEY "MTR-00000001|2026-07-17T00:00:00+00:00|1"
#define WHOLE                                                                                      \
	"{\"meter_id\":\"M\",\"read_at\":\"2026-07-17T00:00:00Z\",\"sequence\":\"01\",\"kwh\":1}"
#define KEY_OF_WHOLE "M|2026-07-17T00:00:00Z|01"
#define NOW_US 1784250000000000
#define SEEN_US 1784249000000000

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(dead_letter, .fini = free_arena);

static const struct decode_rules rules = {.max_bytes = 1048588};

static struct dead_letter dead_letter(struct slice key, struct slice payload)
{
	return (struct dead_letter){
		.at = {SLICE_LIT("meter-reads.dead-letter"), 3, 77},
		.seen_us = SEEN_US,
		.key = key,
		.payload = payload,
	};
}

static struct slice headers(const struct header *v, size_t n)
{
	uint32_t cut;

	return headers_encode(&arena, v, n, &cut);
}
#define HEADERS(...)                                                                               \
	headers((const struct header[]){__VA_ARGS__},                                              \
		sizeof((const struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define H(name, text)                                                                              \
	{                                                                                          \
		SLICE_INIT(name), SLICE_INIT(text)                                                 \
	}

static struct decoded decode(const struct decode_rules *by, const struct dead_letter *d)
{
	struct decoded ret;

	dead_letter_decode(&arena, by, d, NOW_US, &ret);
	return ret;
}

static void expect_slice(struct slice is, const char *expected, const char *what)
{
	cr_expect(slice_eq(is, slice_str(expected)), "%s is %.*s", what, SLICE_FMT(is));
}

/* --- small ones --- */

Test(dead_letter, seen_is_the_timestamp_where_that_is_sane)
{
	int64_t now = NOW_US + 999; /* within a millisecond */

	cr_expect_eq(dead_letter_seen_us(NOW_US / 1000 - 5, now), NOW_US - 5000);
	cr_expect_eq(dead_letter_seen_us(NOW_US / 1000, now), NOW_US);
	cr_expect_eq(dead_letter_seen_us(946684800000, now), 946684800000000);
	cr_expect_eq(dead_letter_seen_us(946684799999, now), now);
	cr_expect_eq(dead_letter_seen_us(NOW_US / 1000 + 1, now), now);
	cr_expect_eq(dead_letter_seen_us(-1, now), now);
	cr_expect_eq(dead_letter_seen_us(0, now), now);
	cr_expect_eq(dead_letter_seen_us(INT64_MAX, now), now);
	cr_expect_eq(dead_letter_seen_us(INT64_MIN, now), now);
}

Test(dead_letter, key_rule_is_one_of_four)
{
	char longest[8 + 255] = "header:", too_long[8 + 256] = "header:";
	struct key_rule rule;

	cr_expect(key_rule_parse("auto", &rule) && rule.from == KEY_FROM_AUTO);
	cr_expect(key_rule_parse("key", &rule) && rule.from == KEY_FROM_KEY);
	cr_expect(key_rule_parse("payload", &rule) && rule.from == KEY_FROM_PAYLOAD);
	cr_expect(key_rule_parse("header:x-key", &rule) && rule.from == KEY_FROM_HEADER);
	cr_expect_str_eq(rule.header, "x-key");
	memset(longest + 7, 'h', 255);
	memset(too_long + 7, 'h', 256);
	cr_expect(key_rule_parse(longest, &rule) && strlen(rule.header) == 255);
	cr_expect(!key_rule_parse(too_long, &rule));
	cr_expect(!key_rule_parse("header:", &rule));
	cr_expect(!key_rule_parse("header", &rule));
	cr_expect(!key_rule_parse("Auto", &rule));
	cr_expect(!key_rule_parse("", &rule));
}

/* --- a good read --- */

Test(dead_letter, becomes_a_new_entry)
{
	struct dead_letter d = dead_letter(SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":\"12.50\"}"));
	struct decoded got;

	d.headers = HEADERS(H("traceparent", "00-1-01"), H("dlq-reason", "poison"),
		H("dlq-error-class", "Timeout"), H("dlq-error-code", "503"));
	d.headers_cut = 9;
	got = decode(&rules, &d);
	cr_assert(!got.unfit);
	expect_slice(got.record.idempotency_key, KEY, "key");
	expect_slice(got.record.payload, "{\"kwh\":\"12.50\"}", "payload");
	cr_expect(slice_eq(got.record.headers, d.headers));
	cr_expect_eq(got.record.reason, REASON_POISON);
	cr_expect_eq(got.record.attempts, 1);
	cr_expect_eq(got.record.first_seen_us, SEEN_US);
	cr_expect_eq(got.record.last_seen_us, SEEN_US);
	cr_expect_eq(got.record.due_us, NOW_US);
	cr_expect_eq(got.record.upstream_attempts, -1);
	cr_expect_eq(got.record.replays, 0);
	expect_slice(got.record.record_key, KEY, "record key");
	cr_expect(origin_is_null(got.record.origin));
	expect_slice(got.record.dead_letter.topic, "meter-reads.dead-letter", "topic");
	cr_expect_eq(got.record.dead_letter.partition, 3);
	cr_expect_eq(got.record.dead_letter.offset, 77);
	expect_slice(got.record.error.class, "Timeout", "class");
	expect_slice(got.record.error.code, "503", "code");
	cr_expect(slice_is_null(got.record.error.message));
	cr_expect_eq(got.record.content, 0xedb11c8155cc33a6); /* schemas/README.md, example 1 */
	cr_expect_eq(got.record.headers_cut, 9);
	cr_expect_eq(got.record.error_cut, 0);
	expect_slice(got.read.meter_id, "MTR-00000001", "meter_id");
}

Test(dead_letter, error_texts_are_cut_at_a_character_and_made_utf8)
{
	struct dead_letter d = dead_letter(SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":1}"));
	char text[RECORD_ERROR_MESSAGE_BYTES + 10], class[600];
	struct decoded got;

	memset(text, 'x', sizeof(text));
	memcpy(text + RECORD_ERROR_MESSAGE_BYTES - 1, "\xc3\xa4", 2);
	memset(class, 'c', sizeof(class));
	d.headers = HEADERS({SLICE_INIT("dlq-error-message"), {(uint8_t *)text, sizeof(text)}},
		{SLICE_INIT("dlq-error-class"), {(uint8_t *)class, sizeof(class)}},
		H("dlq-error-code", "\xff\0"));
	got = decode(&rules, &d);
	cr_assert(!got.unfit);
	cr_expect_eq(got.record.error.message.n, RECORD_ERROR_MESSAGE_BYTES - 1);
	cr_expect_eq(got.record.error.class.n, 512);
	cr_expect_eq(got.record.error_cut, 11 + 88);
	expect_slice(got.record.error.code, "\xef\xbf\xbd\xef\xbf\xbd", "code");
}

Test(dead_letter, an_entry_decodes_again_for_its_replay)
{
	struct dead_letter d =
		dead_letter(SLICE_LIT(KEY), SLICE_LIT("{\"kwh\":\"12.50\",\"a\":1}"));
	struct decoded got = decode(&rules, &d);
	struct meter_read read;
	bool wait;

	cr_assert_null(record_decode_read(&arena, &rules, &got.record, &read, &wait));
	cr_expect_eq(meter_read_content(&read), got.record.content);
	expect_slice(read.idempotency_key, KEY, "key");
	expect_slice(read.attributes, "{\"a\":1}", "attributes");
	got.record.payload = SLICE_NULL;
	cr_expect_str_eq(
		record_decode_read(&arena, &rules, &got.record, &read, &wait), "no payload");
}

/* --- where the key comes from --- */

static struct slice key_header(const char *text)
{
	return headers(
		(const struct header[]){
			H("idempotency-key", "older"),
			{SLICE_INIT("idempotency-key"), slice_str(text)},
		},
		2);
}

static const struct {
	const char *rule, *record_key, *header, *payload;
	const char *key; /* NULL: none */
} keys[] = {
	{"auto", KEY, "h", "{\"kwh\":1}", KEY},
	{"auto", "MTR-1", "h", WHOLE, "h"},
	{"auto", NULL, "h", WHOLE, "h"},
	{"auto", "MTR-1", NULL, WHOLE, KEY_OF_WHOLE},
	{"auto", "MTR-1", "", WHOLE, KEY_OF_WHOLE},
	{"auto", NULL, NULL, WHOLE, KEY_OF_WHOLE},
	{"auto", "MTR-00000001|2026-07-17T00:00:00|1", NULL, "{\"kwh\":1}", NULL},
	{"auto", NULL, NULL, "{\"kwh\":1}", NULL},
	{"auto", "\xff|2026-07-17T00:00:00Z|1", "h", WHOLE, NULL},
	{"key", KEY, "h", "{\"kwh\":1}", KEY},
	{"key", "MTR-1", "h", WHOLE, "MTR-1"},
	{"key", NULL, "h", WHOLE, NULL},
	{"key", "", "h", WHOLE, NULL},
	{"key", "\xff", "h", WHOLE, NULL},
	{"header:idempotency-key", KEY, "h", WHOLE, "h"},
	{"header:idempotency-key", KEY, NULL, WHOLE, NULL},
	{"header:idempotency-key", KEY, "", WHOLE, NULL},
	{"header:other", KEY, "h", WHOLE, NULL},
	{"payload", KEY, "h", WHOLE, KEY_OF_WHOLE},
	{"payload", KEY, "h", "{\"kwh\":1}", NULL},
};

Test(dead_letter, idempotency_key_comes_from_where_the_rule_says)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct dead_letter d =
			dead_letter(slice_str(keys[i].record_key), slice_str(keys[i].payload));
		struct decode_rules by = rules;
		struct decoded got;

		cr_assert(key_rule_parse(keys[i].rule, &by.key));
		d.headers = key_header(keys[i].header);
		got = decode(&by, &d);
		cr_expect_eq(got.unfit, !keys[i].key, "keys[%zu]: %.*s", i,
			SLICE_FMT(got.record.error.message));
		if (keys[i].key)
			expect_slice(got.record.idempotency_key, keys[i].key, keys[i].rule);
		else
			cr_expect(memcmp(got.record.error.message.p, "no idempotency key", 18) == 0,
				"keys[%zu]: %.*s", i, SLICE_FMT(got.record.error.message));
	}
}

/* --- what is unfit --- */

static void expect_unfit(const struct dead_letter *d, const char *message)
{
	struct decoded got = decode(&rules, d);

	cr_assert(got.unfit, "%s", message);
	cr_expect_eq(got.cause, CAUSE_MALFORMED);
	expect_slice(got.record.idempotency_key, "meter-reads.dead-letter-3-77", "key");
	cr_expect(slice_eq(got.record.payload, d->payload));
	cr_expect(slice_eq(got.record.record_key, d->key));
	cr_expect(slice_eq(got.record.headers, d->headers));
	cr_expect_eq(got.record.content, hash_content(d->payload));
	expect_slice(got.record.error.class, "malformed", "class");
	cr_expect(slice_is_null(got.record.error.code));
	expect_slice(got.record.error.message, message, "message");
	cr_expect_eq(got.record.reason, REASON_PERMANENT_4XX);
	cr_expect_eq(got.record.attempts, 1);
}

Test(dead_letter, malformed_ones_keep_their_bytes_under_a_synthetic_key)
{
	static const struct {
		struct slice key, payload;
		const char *message;
	} v[] = {
		{SLICE_INIT(KEY), {NULL, 0}, "no payload"},
		{SLICE_INIT(KEY), SLICE_INIT(""), "empty payload"},
		{{NULL, 0}, {NULL, 0}, "no payload"},
		{SLICE_INIT(KEY), SLICE_INIT("\0"), "the payload ends inside its schema id"},
		{SLICE_INIT(KEY), SLICE_INIT("{}\0"), "payload holds a NUL"},
		{SLICE_INIT(KEY), SLICE_INIT("[1,2]"), "several reads"},
		{SLICE_INIT("\xff"), SLICE_INIT("\xff"), "payload is not valid UTF-8"},
		{SLICE_INIT(KEY), SLICE_INIT("{\"kwh\":1,\"sequence\":2}"),
			"key and payload disagree on sequence"},
		{SLICE_INIT(KEY), SLICE_INIT("{\"kwh\":\"x\"}"), "amount is not a decimal"},
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct dead_letter d = dead_letter(v[i].key, v[i].payload);

		d.headers = HEADERS(H("dlq-reason", "permanent_4xx"), H("dlq-error-code", "400"));
		expect_unfit(&d, v[i].message);
	}
}

static struct dead_letter sized(size_t key, size_t payload)
{
	uint8_t *p = arena_alloc(&arena, key + payload);

	memset(p, 'k', key);
	memset(p + key, 'p', payload);
	return dead_letter(slice_of(p, key), slice_of(p + key, payload));
}

Test(dead_letter, oversize_ones_leave_size_and_sha256)
{
	struct dead_letter d = sized(100, rules.max_bytes);
	struct decoded got;
	char sha256[65];

	d.headers = HEADERS(H("dlq-reason", "poison"));
	got = decode(&rules, &d);
	cr_assert(got.unfit);
	cr_expect_eq(got.cause, CAUSE_OVERSIZE);
	cr_expect(slice_is_null(got.record.payload));
	expect_slice(got.record.idempotency_key, "meter-reads.dead-letter-3-77", "key");
	cr_expect_eq(got.record.content, hash_content(d.payload));
	cr_expect(slice_eq(got.record.record_key, d.key));
	cr_expect(slice_eq(got.record.headers, d.headers));
	cr_expect_eq(got.record.reason, REASON_POISON);
	expect_slice(got.record.error.class, "oversize", "class");
	hash_sha256_text(d.payload, sha256);
	cr_expect_not_null(strstr(arena_cstr(&arena, got.record.error.message), sha256));
	cr_expect_not_null(
		strstr(arena_cstr(&arena, got.record.error.message), "payload of 1048588 bytes"));
}

Test(dead_letter, oversize_is_the_total_of_key_payload_and_headers)
{
	struct slice one = HEADERS(H("h", "v"));
	struct dead_letter fits = sized(40, rules.max_bytes - 40 - one.n);
	struct dead_letter too_large = sized(41, rules.max_bytes - 40 - one.n);

	fits.headers = too_large.headers = one;
	cr_expect_eq(decode(&rules, &fits).cause, CAUSE_MALFORMED);
	cr_expect_eq(decode(&rules, &too_large).cause, CAUSE_OVERSIZE);
}

/* As large as it may be, with a key so long. */
static struct dead_letter largest(size_t key_bytes)
{
	static const char instant[] = "|2026-07-17T00:00:00Z|1",
			  json[] = "{\"kwh\":1,\"note\":\"\"}";
	struct slice said = HEADERS(H("dlq-reason", "permanent_4xx"), H("dlq-error-code", "400"));
	int meter = (int)(key_bytes - strlen(instant));
	int note = (int)(rules.max_bytes - key_bytes - said.n - strlen(json));
	struct dead_letter d =
		dead_letter(slice_str(arena_printf(&arena, "%*s%s", meter, "M", instant)),
			slice_str(arena_printf(&arena, "{\"kwh\":1,\"note\":\"%*s\"}", note, "")));

	d.headers = said;
	return d;
}

Test(dead_letter, an_entry_of_the_longest_key_fits_our_topics_and_a_longer_key_is_malformed)
{
	struct dead_letter d = largest(KEY_BYTES_MAX);
	struct decoded got = decode(&rules, &d);
	struct parked parked = {.entry = got.record, .cause = CAUSE_CONFLICT};
	size_t ours = rules.max_bytes + 128 * 1024, key_bytes = KEY_BYTES_MAX + 17;

	cr_assert_not(got.unfit, "%.*s", SLICE_FMT(got.record.error.message));
	parked.committed = slice_of(d.payload.p, PARKED_COMMITTED_BYTES);
	parked.entry.error.message = slice_of(d.payload.p, RECORD_ERROR_MESSAGE_BYTES);
	cr_expect_lt(parked_encode(&arena, &parked).n + key_bytes, ours - 16 * 1024);
	d = largest(KEY_BYTES_MAX + 1);
	expect_unfit(&d, "no idempotency key: the one given is longer than 32768 bytes");
	got = decode(&rules, &d);
	cr_expect_lt(record_encode(&arena, &got.record).n, ours - 64 * 1024);
}

Test(dead_letter, what_is_left_of_an_oversize_one_fits_our_topics)
{
	struct dead_letter d = sized(65 * 1024, rules.max_bytes);
	struct decoded got;

	got = decode(&rules, &d);
	cr_expect_eq(got.cause, CAUSE_OVERSIZE);
	cr_expect(slice_is_null(got.record.record_key));
	d = sized(64 * 1024, rules.max_bytes);
	cr_expect(slice_eq(decode(&rules, &d).record.record_key, d.key));
}

/* Ours never get that long; those in an inbox record may be anybody's. */
Test(dead_letter, an_oversize_one_drops_headers_beyond_their_bound)
{
	static const uint8_t begin[] = {2, 2, 'h', 2, 0x80, 0xF1, 4}; /* one of 40,000 bytes */
	CLEANUP(buf_free) struct buf b = {0};
	struct dead_letter d = sized(1, rules.max_bytes);
	struct decoded got;

	buf_add(&b, begin, sizeof(begin));
	memset(buf_reserve(&b, 40000), 'v', 40000);
	b.n += 40000;
	buf_add_byte(&b, 0);
	d.headers = slice_of(b.p, b.n);
	d.headers_cut = 5;
	cr_assert_eq(headers_last(d.headers, "h").n, 40000);
	got = decode(&rules, &d);
	cr_expect_eq(got.cause, CAUSE_OVERSIZE);
	cr_expect_eq(got.record.headers.n, 0);
	cr_expect_eq(got.record.headers_cut, b.n + 5);
}

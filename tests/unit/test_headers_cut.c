/* Headers beyond their bound: what is left out, and that the rest travels unchanged. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "codec_random.h"
#include "dialect_headers.h"
#include "utf8.h"

#define TRACE_BYTES 8192

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(headers_cut, .fini = free_arena);

/* --- helpers --- */

struct list {
	struct header v[10000];
	size_t n;
};
static struct list sent, kept;
static uint32_t cut;

static void add(const char *name, struct slice value)
{
	cr_assert_lt(sent.n, ARRAY_LEN(sent.v));
	sent.v[sent.n++] = (struct header){slice_str(name), value};
}

static struct slice filled(char c, size_t n)
{
	return slice_of(memset(arena_alloc(&arena, n), c, n), n);
}

static size_t bytes(const struct list *l)
{
	size_t total = 0;

	for (size_t i = 0; i < l->n; i++)
		total += l->v[i].key.n + l->v[i].value.n;
	return total;
}

static struct slice encode(void)
{
	struct slice encoded = headers_encode(&arena, sent.v, sent.n, &cut);
	size_t pos = 0;

	for (kept.n = 0; headers_next(encoded, &pos, &kept.v[kept.n]); kept.n++)
		;
	cr_assert_leq(encoded.n, RECORD_HEADERS_BYTES);
	cr_assert_eq(cut, bytes(&sent) - bytes(&kept));
	return encoded;
}

static size_t count(const struct list *l, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += slice_eq(l->v[i].key, slice_str(name));
	return n;
}

static struct slice first(const char *name)
{
	size_t i = 0;

	while (i < kept.n && !slice_eq(kept.v[i].key, slice_str(name)))
		i++;
	return i < kept.n ? kept.v[i].value : SLICE_NULL;
}

static struct slice last(const char *name)
{
	struct slice value = SLICE_NULL;

	for (size_t i = 0; i < kept.n; i++)
		if (slice_eq(kept.v[i].key, slice_str(name)))
			value = kept.v[i].value;
	return value;
}

static bool is_trace(struct slice name)
{
	return name.n >= 5 && memcmp(name.p + name.n - 5, "trace", 5) == 0;
}

/* Whether k may be what is left of h: all of it, or the beginning of a trace. */
static bool is_left_of(const struct header *k, const struct header *h)
{
	bool shorter = is_trace(k->key) && k->value.n && k->value.n < h->value.n;

	if (!slice_eq(k->key, h->key))
		return false;
	return slice_eq(k->value, h->value) ||
	       (shorter && memcmp(k->value.p, h->value.p, k->value.n) == 0);
}

/* What is kept stands in the order in which it was sent, with whole values but for traces. */
static void expect_the_rest_unchanged(void)
{
	size_t at = 0;

	for (size_t i = 0; i < kept.n; i++) {
		while (at < sent.n && !is_left_of(&kept.v[i], &sent.v[at]))
			at++;
		cr_assert_lt(at, sent.n, "header %zu", i);
		at++;
	}
}

/* --- growth: a record that was dead-lettered 50 times --- */

static struct slice numbered(const char *what, int pass)
{
	return slice_str(arena_printf(&arena, "%s-%d", what, pass));
}

static struct slice trace(int pass)
{
	struct slice s = filled('t', TRACE_BYTES);
	int n = snprintf((char *)s.p, 16, "trace %d", pass);

	((uint8_t *)s.p)[n] = '\n';
	return s;
}

static void add_cloud_stream_pass(int pass)
{
	add("x-original-topic", numbered("topic", pass));
	add("x-original-partition", SLICE_LIT("\0\0\0\3"));
	add("x-original-offset", SLICE_LIT("\0\0\0\0\0\0\0\x2a"));
	add("x-original-timestamp", SLICE_LIT("\0\0\x01\x9f\x6d\x5f\x74\0"));
	add("x-original-timestamp-type", SLICE_LIT("CREATE_TIME"));
	add("x-exception-fqcn", numbered("a.b.Class", pass));
	add("x-exception-message", filled('m', 600));
	add("x-exception-stacktrace", trace(pass));
}

static void add_connect_pass(int pass)
{
	add("__connect.errors.topic", numbered("topic", pass));
	add("__connect.errors.partition", SLICE_LIT("3"));
	add("__connect.errors.offset", SLICE_LIT("42"));
	add("__connect.errors.connector.name", SLICE_LIT("meter-sink"));
	add("__connect.errors.task.id", SLICE_LIT("0"));
	add("__connect.errors.stage", SLICE_LIT("TASK_PUT"));
	add("__connect.errors.class.name", SLICE_LIT("com.acme.MeterSink"));
	add("__connect.errors.exception.class.name", numbered("a.b.Class", pass));
	add("__connect.errors.exception.message", SLICE_NULL);
	add("__connect.errors.exception.stacktrace", trace(pass));
}

static struct dialect_facts grow(void (*add_pass)(int pass), const char *trace_name)
{
	struct slice encoded;

	sent.n = 0;
	add("idempotency-key", SLICE_LIT("MTR-1|2026-07-17T00:00:00Z|1"));
	add("traceparent", SLICE_LIT("00-4bf9-01"));
	add("baggage", SLICE_LIT("route=7"));
	for (int pass = 1; pass <= 50; pass++)
		add_pass(pass);
	encoded = encode();
	expect_the_rest_unchanged();
	expect_text(first("idempotency-key"), "MTR-1|2026-07-17T00:00:00Z|1", "key");
	expect_text(first("traceparent"), "00-4bf9-01", "traceparent");
	expect_text(first("baggage"), "route=7", "baggage");
	if (count(&kept, trace_name))
		cr_expect(memcmp(last(trace_name).p, "trace 50\n", 9) == 0);
	return facts_of(encoded);
}

Test(headers_cut, growth_leaves_the_true_origin_the_newest_error_and_its_trace)
{
	struct dialect_facts f = grow(add_connect_pass, "__connect.errors.exception.stacktrace");

	expect_text(f.origin.topic, "topic-1", "topic");
	expect_text(f.error.class, "a.b.Class-50", "class");
	/* All else fits beside one trace and a part of another. */
	cr_expect_eq(count(&kept, "__connect.errors.topic"), 50);
	cr_expect_eq(last("__connect.errors.exception.stacktrace").n, TRACE_BYTES);
	cr_expect_eq(count(&kept, "__connect.errors.exception.stacktrace"), 2);
	cr_expect(first("__connect.errors.exception.stacktrace").n < TRACE_BYTES);
}

Test(headers_cut, growth_beyond_the_traces_leaves_out_what_is_between_oldest_and_newest)
{
	struct dialect_facts f = grow(add_cloud_stream_pass, "x-exception-stacktrace");

	expect_text(f.origin.topic, "topic-1", "topic");
	expect_text(f.error.class, "a.b.Class-50", "class");
	cr_expect_eq(f.error.message.n, 600);
	cr_expect(slice_eq(last("x-original-topic"), SLICE_LIT("topic-50")));
	cr_expect_gt(count(&kept, "x-original-topic"), 30);
	cr_expect_lt(count(&kept, "x-exception-message"), 50);
}

Test(headers_cut, growth_by_the_same_header_ten_thousand_times_leaves_the_others)
{
	sent.n = 0;
	add("traceparent", SLICE_LIT("00-4bf9-01"));
	while (sent.n < ARRAY_LEN(sent.v) - 1)
		add("x-exception-fqcn", SLICE_LIT("a.b.Class"));
	add("dlq-reason", SLICE_LIT("poison"));
	encode();
	expect_the_rest_unchanged();
	expect_text(first("traceparent"), "00-4bf9-01", "traceparent");
	expect_text(last("dlq-reason"), "poison", "reason");
	cr_expect_gt(count(&kept, "x-exception-fqcn"), 1000);
}

/* --- which one goes --- */

Test(headers_cut, a_trace_longer_than_the_bound_is_cut_at_a_character)
{
	struct slice long_trace = filled('t', 70000);

	for (size_t i = 0; i + 1 < long_trace.n; i += 2)
		memcpy((uint8_t *)long_trace.p + i, "\xc3\xa4", 2);
	for (size_t name = 0; name < 2; name++) {
		sent.n = 0;
		add(name ? "a" : "ab", SLICE_LIT("1"));
		add("kafka_dlt-exception-stacktrace", long_trace);
		add("dlq-reason", SLICE_LIT("poison"));
		encode();
		cr_expect_eq(kept.n, 3);
		expect_the_rest_unchanged();
		cr_expect_gt(kept.v[1].value.n, 32000);
		cr_expect(utf8_valid(kept.v[1].value));
	}
}

Test(headers_cut, a_trace_of_bytes_that_are_no_characters_is_cut_all_the_same)
{
	sent.n = 0;
	add("exception-stack", filled('\x80', 70000));
	encode();
	cr_expect_eq(kept.n, 1);
	cr_expect_gt(kept.v[0].value.n, 32000);
}

Test(headers_cut, a_rest_too_small_for_a_trace_is_left_alone)
{
	sent.n = 0;
	add("a", filled('a', RECORD_HEADERS_BYTES - 200));
	add("__streams.errors.stacktrace", filled('t', 1000));
	encode();
	cr_expect_eq(kept.n, 1);
	cr_expect_eq(cut, 1000 + strlen("__streams.errors.stacktrace"));
}

/* A part of a serialized Java object would be of no use, and could break its reader. */
Test(headers_cut, serialized_exceptions_are_left_out_whole)
{
	sent.n = 0;
	add("springDeserializerExceptionValue", filled('\xac', 40000));
	add("kafka_dlt-exception-fqcn", SLICE_LIT("a.b.C"));
	encode();
	cr_expect_eq(kept.n, 1);
	cr_expect_eq(cut, 40000 + strlen("springDeserializerExceptionValue"));
}

Test(headers_cut, what_is_read_is_kept_before_what_nobody_knows)
{
	static const char *const known[] = {"dlq-reason", "idempotency-key", "__value_schema_id",
		"traceparent", "tracestate", "kafka_dlt-original-topic", "retry_topic-attempts"};

	sent.n = 0;
	for (int i = 0; i < 200; i++)
		add(arena_printf(&arena, "unknown-%d", i), filled('u', 1000));
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		add(known[i], SLICE_LIT("value"));
	encode();
	expect_the_rest_unchanged();
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		expect_text(last(known[i]), "value", known[i]);
	cr_expect_gt(kept.n, ARRAY_LEN(known) + 25);
	expect_text(slice_of(kept.v[0].key.p, kept.v[0].key.n), "unknown-0", "the first");
}

Test(headers_cut, null_and_empty_values_are_kept_as_they_are)
{
	sent.n = 0;
	add("null", SLICE_NULL);
	add("kafka_dlt-exception-stacktrace", filled('t', 70000));
	add("empty", SLICE_LIT(""));
	add("kafka_dlt-exception-stacktrace", SLICE_LIT(""));
	add("kafka_dlt-exception-stacktrace", SLICE_NULL);
	encode();
	cr_assert_eq(kept.n, 5);
	cr_expect(slice_is_null(kept.v[0].value));
	cr_expect(!slice_is_null(kept.v[2].value) && !kept.v[2].value.n);
	cr_expect(!slice_is_null(kept.v[3].value) && !kept.v[3].value.n);
	cr_expect(slice_is_null(kept.v[4].value));
}

/* --- any headers --- */

static void add_random(struct random *r, size_t max_bytes)
{
	static const char *const names[] = {"a", "b", "traceparent", "dlq-reason", "dlq-error-code",
		"kafka_dlt-original-topic", "kafka_dlt-exception-stacktrace",
		"x-exception-stacktrace", "", "c"};
	const char *name = names[random_below(r, ARRAY_LEN(names))];
	size_t n = random_below(r, max_bytes);

	add(name, random_below(r, 10) ? filled((char)random_below(r, 256), n) : SLICE_NULL);
}

Test(headers_cut, what_fits_travels_unchanged)
{
	struct random r = {.state = 3};

	for (int i = 0; i < 2000; i++) {
		for (sent.n = 0; sent.n < 1 + (size_t)i % 30;)
			add_random(&r, 1000);
		encode();
		cr_assert_eq(cut, 0);
		cr_assert_eq(kept.n, sent.n);
		expect_the_rest_unchanged();
		arena_reset(&arena);
	}
}

Test(headers_cut, of_what_does_not_fit_the_rest_travels_unchanged)
{
	struct random r = {.state = 4};

	for (int i = 0; i < 2000; i++) {
		for (sent.n = 0; sent.n < 20 + (size_t)i % 30;)
			add_random(&r, 20000);
		encode();
		cr_assert_gt(kept.n, 0);
		expect_the_rest_unchanged();
		arena_reset(&arena);
	}
}

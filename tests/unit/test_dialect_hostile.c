/* Whatever headers say: facts that hold, and no byte read that is not theirs (ASan). */
#include <criterion/criterion.h>

#include "codec_random.h"
#include "dialect_headers.h"

/* Those that are read as something else than bytes stand first. */
static const char *const names[] = {"kafka_dlt-original-partition", "kafka_dlt-original-offset",
	"kafka_dlt-original-timestamp", "kafka_original-partition", "kafka_original-offset",
	"kafka_original-timestamp", "kafka_deliveryAttempt", "retry_topic-attempts",
	"retry_topic-original-timestamp", "retry_topic-backoff-timestamp", "x-original-partition",
	"x-original-offset", "x-original-timestamp", "__connect.errors.partition",
	"__connect.errors.offset", "__connect.errors.task.id", "__streams.errors.partition",
	"__streams.errors.offset", "__dlq.errors.partition", "__dlq.errors.offset",
	"__dlq.errors.delivery.count", "dead-letter-partition", "dead-letter-offset",
	"source_partition", "source_offset", "source_attempts", "original-partition",
	"original-offset", "attempts", "failed-at", "kafka_dlt-original-topic",
	"kafka_original-topic", "x-original-topic", "__connect.errors.topic",
	"__streams.errors.topic", "__dlq.errors.topic", "dead-letter-topic", "source_topic",
	"original-destination", "dlq-reason", "dlq-error-class", "dlq-error-code",
	"dlq-error-message", "kafka_dlt-exception-fqcn", "kafka_dlt-exception-cause-fqcn",
	"kafka_dlt-exception-message", "kafka_dlt-exception-stacktrace",
	"kafka_dlt-key-exception-fqcn", "kafka_dlt-key-exception-message",
	"springDeserializerExceptionKey", "springDeserializerExceptionValue", "x-exception-fqcn",
	"x-exception-message", "__connect.errors.stage", "__connect.errors.exception.class.name",
	"__connect.errors.exception.message", "__streams.errors.exception",
	"__streams.errors.message", "__dlq.errors.message", "dead-letter-exception-class-name",
	"dead-letter-cause-class-name", "dead-letter-reason", "dead-letter-cause", "exception-type",
	"exception-message", "exception-stack", "idempotency-key", "traceparent", "x-", "kafka_",
	"dlq-", ""};

static bool within(struct slice part, struct slice whole)
{
	return !part.p || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static void check(struct slice headers, const struct dialect_facts *f)
{
	bool error = !slice_is_null(f->error.class);

	cr_assert(within(f->origin.topic, headers));
	cr_assert(within(f->wrapper, headers));
	cr_assert(within(f->stage, headers));
	cr_assert(within(f->error.code, headers));
	cr_assert(within(f->error.message, headers));
	cr_assert(
		within(f->error.class, headers) || slice_eq(f->error.class, SLICE_LIT("unknown")));
	cr_assert(error || (slice_is_null(f->error.code) && slice_is_null(f->error.message)));
	cr_assert(f->reason_given || f->reason == REASON_RETRIES_EXHAUSTED);
	cr_assert(f->upstream_attempts >= -1 && f->upstream_attempts <= INT32_MAX);
	cr_assert(f->written_us == DIALECT_NO_TIME || f->written_us >= 0);
	cr_assert(f->failed_us == DIALECT_NO_TIME || f->failed_us >= 0);
	if (origin_is_null(f->origin)) {
		cr_assert_not(f->pointer);
		return;
	}
	cr_assert(topic_name_valid(f->origin.topic));
	cr_assert(f->origin.partition >= 0 && f->origin.offset >= 0);
}

/* In memory of their own size, so that a sanitizer sees a read beyond them. The facts outlive it.
 */
static struct dialect_facts read_and_check(struct arena *a, const struct header *v, size_t n)
{
	struct slice encoded = headers_of(a, v, n);
	AUTO_FREE uint8_t *p = mem_realloc(NULL, encoded.n);
	struct dialect_facts f;

	memcpy(p, encoded.p, encoded.n);
	dialect_read(slice_of(p, encoded.n), &f);
	check(slice_of(p, encoded.n), &f);
	return facts_of(encoded);
}

Test(dialect_hostile, values_of_any_length_are_read_or_say_nothing)
{
	static const uint8_t fills[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '0', '9', ' ', ':', '/'};
	CLEANUP(arena_free) struct arena a = {0};
	uint8_t value[40];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (size_t fill = 0; fill < ARRAY_LEN(fills); fill++) {
			for (size_t n = 0; n <= sizeof(value); n++) {
				struct header h = {slice_str(names[i]), slice_of(value, n)};

				memset(value, fills[fill], n);
				read_and_check(&a, &h, 1);
			}
		}
		arena_reset(&a);
	}
}

Test(dialect_hostile, a_header_of_any_name_says_nothing_by_null)
{
	CLEANUP(arena_free) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct header null = {slice_str(names[i]), SLICE_NULL};

		cr_assert_str_eq(read_and_check(&a, &null, 1).dialect, "unknown", "%s", names[i]);
	}
}

static struct slice random_value(struct random *r, struct arena *a)
{
	static const char *const values[] = {"meter-reads", "3", "42", "-1", "99999999999999999999",
		"kafka://topic/t", "kafka://topic/", "..", "a b", "a.b.C: text", ": ", "poison",
		"VALUE_CONVERTER", "2147483648", "9223372036854775807", "9223372036854775808"};
	size_t n = random_below(r, 12);
	uint8_t *p;

	if (random_below(r, 2))
		return slice_str(values[random_below(r, ARRAY_LEN(values))]);
	if (random_below(r, 6) == 0)
		return SLICE_NULL;
	p = arena_alloc(a, n);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)random_below(r, 256);
	return slice_of(p, n);
}

static size_t headers_of_many(struct random *r, struct arena *a, struct header *v, size_t max)
{
	static const struct header origins[][3] = {
		{H("__dlq.errors.topic", "t"), H("__dlq.errors.partition", "3"),
			H("__dlq.errors.offset", "42")},
		{H("dead-letter-topic", "t"), H("dead-letter-partition", "3"),
			H("dead-letter-offset", "42")},
	};
	const struct header *origin = origins[random_below(r, ARRAY_LEN(origins))];
	size_t n = random_below(r, max - 3), at = random_below(r, n + 1);

	for (size_t h = 0; h < n; h++)
		v[h] = (struct header){
			slice_str(names[random_below(r, ARRAY_LEN(names))]), random_value(r, a)};
	if (random_below(r, 2))
		return n;
	memmove(v + at + 3, v + at, (n - at) * sizeof(*v));
	memcpy(v + at, origin, sizeof(*origins));
	return n + 3;
}

Test(dialect_hostile, any_headers_in_any_order_give_facts_that_hold)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct random r = {.state = 11};
	int origins = 0, errors = 0, pointers = 0;

	for (int i = 0; i < 20000; i++) {
		struct header v[24];
		size_t n = headers_of_many(&r, &a, v, ARRAY_LEN(v));
		struct dialect_facts f = read_and_check(&a, v, n);

		origins += !origin_is_null(f.origin);
		errors += !slice_is_null(f.error.class);
		pointers += f.pointer;
		arena_reset(&a);
	}
	cr_assert_gt(origins, 2000);
	cr_assert_gt(errors, 2000);
	cr_assert_gt(pointers, 500);
	cr_assert_lt(origins, 18000);
}

Test(dialect_hostile, ten_thousand_headers_still_give_the_true_origin_and_the_newest_error)
{
	static struct header v[10000];
	const struct header first[] = {SPRING_ORIGIN};
	const struct header last[] = {H("kafka_dlt-exception-fqcn", "a.Last")};
	CLEANUP(arena_free) struct arena a = {0};
	struct dialect_facts f;

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		v[i] = (struct header)H("kafka_dlt-original-topic", "another");
	memcpy(v, first, sizeof(first));
	memcpy(v + ARRAY_LEN(v) - 1, last, sizeof(last));
	f = read_and_check(&a, v, ARRAY_LEN(v));
	expect_text(f.origin.topic, "meter-reads", "topic");
	cr_assert_eq(f.origin.offset, 42);
	expect_text(f.error.class, "a.Last", "class");
}

/* --- values that are not what their names say --- */

static struct dialect_facts with_origin(
	struct arena *a, struct header topic, struct header partition, struct header offset)
{
	const struct header v[] = {topic, partition, offset};

	return facts_of(headers_of(a, v, ARRAY_LEN(v)));
}

Test(dialect_hostile, an_origin_that_cannot_be_one_is_none)
{
	static const struct {
		struct header topic, partition, offset;
	} v[] = {
		{H("__connect.errors.topic", ""), H("__connect.errors.partition", "3"),
			H("__connect.errors.offset", "1")},
		{H_NULL("__connect.errors.topic"), H("__connect.errors.partition", "3"),
			H("__connect.errors.offset", "1")},
		{H("__connect.errors.topic", "a topic"), H("__connect.errors.partition", "3"),
			H("__connect.errors.offset", "1")},
		{H("__connect.errors.topic", ".."), H("__connect.errors.partition", "3"),
			H("__connect.errors.offset", "1")},
		{H("__connect.errors.topic", "t\0"), H("__connect.errors.partition", "3"),
			H("__connect.errors.offset", "1")},
		{H("__connect.errors.topic", "t"), H("__connect.errors.partition", "-1"),
			H("__connect.errors.offset", "1")},
		{H("__connect.errors.topic", "t"), H("__connect.errors.partition", "2147483648"),
			H("__connect.errors.offset", "1")},
		{H("__connect.errors.topic", "t"), H("__connect.errors.partition", "3"),
			H("__connect.errors.offset", "9223372036854775808")},
		{H("__connect.errors.topic", "t"), H("__connect.errors.partition", "3"),
			H("__connect.errors.offset", "-1")},
		{H("__connect.errors.topic", "t"), H("__connect.errors.partition", "3"),
			H_NULL("__connect.errors.offset")},
		{H("__connect.errors.topic", "t"), H("__connect.errors.partition", "\0\0\0\3"),
			H("__connect.errors.offset", "1")},
		{H("kafka_dlt-original-topic", "t"),
			H("kafka_dlt-original-partition", "\xff\xff\xff\xff"),
			H("kafka_dlt-original-offset", "\0\0\0\0\0\0\0\1")},
		{H("kafka_dlt-original-topic", "t"), H("kafka_dlt-original-partition", "\0\0\3"),
			H("kafka_dlt-original-offset", "\0\0\0\0\0\0\0\1")},
		{H("kafka_dlt-original-topic", "t"), H("kafka_dlt-original-partition", "\0\0\0\3"),
			H("kafka_dlt-original-offset", "\x80\0\0\0\0\0\0\1")},
		{H("kafka_dlt-original-topic", "t"), H("kafka_dlt-original-partition", "\0\0\0\3"),
			H("kafka_dlt-original-offset", "\0\0\0\0\0\0\0\0\1")},
		{H("original-destination", "http://elsewhere/t"), H("original-partition", "3"),
			H("original-offset", "1")},
	};
	CLEANUP(arena_free) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		cr_expect(origin_is_null(
				  with_origin(&a, v[i].topic, v[i].partition, v[i].offset).origin),
			"v[%zu]", i);
}

/* Of two origins that are each half known no third one is made. */
Test(dialect_hostile, an_origin_is_of_one_pass_only)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct slice headers = HEADERS(&a, H("__connect.errors.topic", "first"),
		H_NULL("__connect.errors.partition"), H("__connect.errors.offset", "1"),
		H("__connect.errors.topic", "second"), H("__connect.errors.partition", "3"),
		H("__connect.errors.offset", "2"));

	cr_assert(origin_is_null(facts_of(headers).origin));
}

Test(dialect_hostile, numbers_written_by_hand_as_text_are_read_too)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct slice headers = HEADERS(&a, H("kafka_dlt-original-topic", "t"),
		H("kafka_dlt-original-partition", "1234"),
		H("kafka_dlt-original-offset", "12345678"), H("retry_topic-attempts", "12"));
	struct dialect_facts f = facts_of(headers);

	cr_expect_eq(f.origin.partition, 1234);
	cr_expect_eq(f.origin.offset, 12345678);
	cr_expect_eq(f.upstream_attempts, 12);
}

Test(dialect_hostile, times_that_cannot_be_are_none)
{
	static const struct header v[] = {
		H("kafka_dlt-original-timestamp", "\xff\xff\xff\xff\xff\xff\xff\xff"), /* -1 */
		H("kafka_dlt-original-timestamp", "\x7f\xff\xff\xff\xff\xff\xff\xff"),
		H("kafka_dlt-original-timestamp", "\x80\0\0\0\0\0\0\0"),
		H("retry_topic-original-timestamp", "\xff"),
		H("retry_topic-original-timestamp", "\0\1\1\1\1\1\1\1\1"),
		H_NULL("retry_topic-original-timestamp"),
		H("failed-at", "253402300800000"),
		H("failed-at", "2026-07-17T00:00:00Z"),
	};
	CLEANUP(arena_free) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct dialect_facts f = facts_of(headers_of(&a, &v[i], 1));

		cr_expect_eq(f.written_us, DIALECT_NO_TIME, "v[%zu]", i);
		cr_expect_eq(f.failed_us, DIALECT_NO_TIME, "v[%zu]", i);
	}
	/* The year 2100 and 1970 can. */
	cr_expect_eq(
		facts_of(HEADERS(&a, H("failed-at", "4102444800000"))).failed_us, 4102444800000000);
	cr_expect_eq(
		facts_of(HEADERS(&a, H("retry_topic-original-timestamp", "\1"))).written_us, 1000);
}

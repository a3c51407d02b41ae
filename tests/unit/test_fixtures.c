/*
 * Dead letters that the real programs wrote (tests/fixtures), from their bytes to what is
 * understood of them. METER_DLQ_FIXTURES: another folder than that of the recorded ones.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>

#include "dead_letter.h"
#include "dialect_headers.h"

#define NOW_US 4102444800000000	    /* 2100-01-01: after every fixture */
#define WRITTEN_US 1784246400000000 /* of the first read; the others follow second by second */
#define SECOND_US 1000000
#define PARTITION 3

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(fixtures, .fini = free_arena);

/* --- what was recorded --- */

static struct slice bytes_of(const json_t *base64)
{
	size_t length = json_string_length(base64), n = 0;
	uint8_t *p;

	if (json_is_null(base64))
		return SLICE_NULL;
	p = arena_alloc(&arena, length + 1);
	cr_assert_eq(sodium_base642bin(p, length + 1, json_string_value(base64), length, NULL, &n,
			     NULL, sodium_base64_VARIANT_ORIGINAL),
		0);
	return slice_of(p, n);
}

static struct slice headers_in(const json_t *list)
{
	size_t n = json_array_size(list);
	struct header *v = arena_alloc(&arena, n * sizeof(*v));
	uint32_t cut;

	for (size_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(list, i);

		v[i].key = slice_str(json_string_value(json_array_get(pair, 0)));
		v[i].value = bytes_of(json_array_get(pair, 1));
	}
	return headers_encode(&arena, v, n, &cut);
}

static struct dead_letter dead_letter_in(const json_t *record)
{
	int64_t timestamp_ms = json_integer_value(json_object_get(record, "timestamp"));
	int partition = (int)json_integer_value(json_object_get(record, "partition"));

	return (struct dead_letter){
		.at = {slice_str(json_string_value(json_object_get(record, "topic"))), partition,
			77},
		.seen_us = dead_letter_seen_us(timestamp_ms, NOW_US),
		.key = bytes_of(json_object_get(record, "key")),
		.payload = bytes_of(json_object_get(record, "value")),
		.headers = headers_in(json_object_get(record, "headers")),
	};
}

static json_t *load(const char *program)
{
	const char *folder = getenv("METER_DLQ_FIXTURES");
	json_error_t error;
	char path[512];
	json_t *json;

	snprintf(path, sizeof(path), "%s/%s.json", folder ? folder : UNIT_DIR "/../fixtures/data",
		program);
	json = json_load_file(path, 0, &error);
	cr_assert(json, "%s: %s", path, error.text);
	return json;
}

/* --- what is to be understood --- */

/* In the order of the fixture: the dead letters of each topic in the order of their reads. */
struct wanted {
	const char *class, *wrapper, *message, *stage;
	int64_t attempts;
	const char *key; /* the read's; NULL: there is none in it, so it is parked for cause */
	enum cause cause;
	enum reason reason;
	bool pointer;
};

struct program {
	const char *name, *dialect, *source;
	int reads;	    /* that it was given: their dead letters come again in each topic */
	bool says_written;  /* when the original was written, in a header */
	bool keeps_written; /* as the timestamp of the dead letter: that is our time of failure */
	const struct wanted *wanted;
	size_t n;
};

static void check_facts(
	const struct program *p, const struct wanted *w, int read, const struct dead_letter *d)
{
	const struct expected e = {
		.dialect = p->dialect,
		.class = w->class,
		.wrapper = w->wrapper,
		.message = w->message,
		.stage = w->stage,
		.topic = p->source,
		.partition = PARTITION,
		.offset = read,
		.attempts = w->attempts,
		.written_us = p->says_written ? WRITTEN_US + read * SECOND_US : 0,
		.pointer = strcmp(p->dialect, "share_group") == 0,
	};

	expect(facts_of(d->headers), &e);
}

static void check_decoded(const struct wanted *w, const struct dead_letter *d)
{
	static const struct decode_rules rules = {.max_bytes = 1048588};
	struct decoded got;

	dead_letter_decode(&arena, &rules, d, NOW_US, &got);
	cr_expect_eq(got.pointer, w->pointer);
	cr_expect_eq(got.unfit, !w->key, "%.*s", SLICE_FMT(got.record.error.message));
	if (w->key)
		expect_text(got.record.idempotency_key, w->key, "key");
	else
		cr_expect_eq(got.cause, w->cause, "cause is %s", cause_name(got.cause));
	cr_expect_eq(got.record.reason, w->reason, "reason is %s", reason_name(got.record.reason));
	cr_expect_eq(got.record.attempts, 1);
	cr_expect_eq(got.record.upstream_attempts, w->attempts ? w->attempts : -1);
	cr_expect(slice_eq(got.record.payload, d->payload));
	cr_expect(slice_eq(got.record.headers, d->headers));
}

static void check(const struct program *p)
{
	json_t *fixture = load(p->name), *records = json_object_get(fixture, "records");

	cr_assert_eq(json_array_size(records), p->n, "%zu records", json_array_size(records));
	for (size_t i = 0; i < p->n; i++) {
		int read = (int)i % p->reads;
		int64_t written_us = WRITTEN_US + read * SECOND_US;
		struct dead_letter d = dead_letter_in(json_array_get(records, i));

		check_facts(p, &p->wanted[i], read, &d);
		check_decoded(&p->wanted[i], &d);
		cr_expect_eq(d.seen_us == written_us, p->keeps_written, "seen at %lld",
			(long long)d.seen_us);
		cr_expect_lt(d.seen_us, NOW_US);
		cr_log_info("%s %zu", p->name, i);
	}
	json_decref(fixture);
}

#define CHECK(name_, dialect_, source_, reads_, ...)                                               \
	check(&(struct program){.name = (name_),                                                   \
		.dialect = (dialect_),                                                             \
		.source = (source_),                                                               \
		.reads = (reads_),                                                                 \
		.wanted = wanted,                                                                  \
		.n = ARRAY_LEN(wanted),                                                            \
		__VA_ARGS__})

#define KEY(meter) meter "|2026-07-17T00:00:00+00:00|1"
#define KEY_OF_WHOLE(meter) meter "|2026-07-17T00:15:00Z|2"

#define MALFORMED .cause = CAUSE_MALFORMED
#define PERMANENT .reason = REASON_PERMANENT_4XX
#define ILLEGAL_STATE "java.lang.IllegalStateException"
#define ILLEGAL_ARGUMENT "java.lang.IllegalArgumentException"
#define REFUSED "HTTP 422 Unprocessable Entity: no such meter"

/* --- Kafka Connect --- */

#define DATA_EXCEPTION "org.apache.kafka.connect.errors.DataException"
#define PUT .stage = "TASK_PUT"
#define CONNECT_TIMEOUT ILLEGAL_STATE, .message = "commit failed", PUT

Test(fixtures, connect_says_stage_and_error_of_conversion_transformation_and_put)
{
	static const struct wanted wanted[] = {
		{CONNECT_TIMEOUT, .key = KEY("connect-TIMEOUT")},
		{ILLEGAL_ARGUMENT, .message = REFUSED, PUT, .key = KEY_OF_WHOLE("connect-REFUSED"),
			PERMANENT},
		{ILLEGAL_STATE, PUT, .key = KEY("connect-SILENT")},
		{DATA_EXCEPTION,
			.message = "Converting byte[] to Kafka Connect data failed due to "
				   "serialization error: ",
			.stage = "VALUE_CONVERTER", MALFORMED, PERMANENT},
		{ILLEGAL_STATE, PUT, MALFORMED},
		{CONNECT_TIMEOUT, .key = KEY_OF_WHOLE("connect-TIMEOUT")},
		{DATA_EXCEPTION, .message = "Value (one) was out of range for requested data type",
			.stage = "TRANSFORMATION", .key = KEY("connect-CAST"), PERMANENT},
		/* A second sink could not put them either: the origin stays, the error is its. */
		{CONNECT_TIMEOUT, .key = KEY("connect-TIMEOUT")},
		{ILLEGAL_ARGUMENT, .message = REFUSED, PUT, .key = KEY_OF_WHOLE("connect-REFUSED"),
			PERMANENT},
		{ILLEGAL_STATE, PUT, .key = KEY("connect-SILENT")},
		{ILLEGAL_STATE, PUT, MALFORMED},
		{ILLEGAL_STATE, PUT, MALFORMED},
		{ILLEGAL_STATE, PUT, .key = KEY_OF_WHOLE("connect-TIMEOUT")},
		{ILLEGAL_STATE, PUT, .key = KEY("connect-CAST")},
	};

	CHECK("connect", "connect", "connect.reads", 7, .keeps_written = true);
}

/* --- Kafka Streams --- */

Test(fixtures, streams_says_the_error_of_deserialization_and_processing)
{
	static const struct wanted wanted[] = {
		{ILLEGAL_STATE, .message = "commit failed", .key = KEY("streams-TIMEOUT")},
		{ILLEGAL_ARGUMENT, .message = REFUSED, .key = KEY_OF_WHOLE("streams-REFUSED"),
			PERMANENT},
		{ILLEGAL_STATE, .key = KEY("streams-SILENT")},
		{"org.apache.kafka.common.errors.SerializationException",
			.message = "com.fasterxml.jackson.core.io.JsonEOFException: Unexpected "
				   "end-of-input within/between Object entries\n at [Source: "
				   "REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` "
				   "disabled); line: 1, column: 9]",
			MALFORMED, PERMANENT},
		{ILLEGAL_STATE, MALFORMED},
		{ILLEGAL_STATE, .message = "commit failed", .key = KEY_OF_WHOLE("streams-TIMEOUT")},
	};

	CHECK("streams", "streams", "streams.reads", 6, .keeps_written = true);
}

/* --- Spring Kafka --- */

#define LISTENER .wrapper = SPRING_LISTENER_FAILED
#define DESERIALIZATION "org.springframework.kafka.support.serializer.DeserializationException"
#define SPRING_TIMEOUT ILLEGAL_STATE, LISTENER, .message = "Listener failed; commit failed"
#define SPRING_REFUSED ILLEGAL_ARGUMENT, LISTENER, .message = "Listener failed; " REFUSED
#define SPRING_SILENT ILLEGAL_STATE, LISTENER, .message = "Listener failed; "

Test(fixtures, spring_says_the_cause_and_its_wrapper)
{
	static const struct wanted wanted[] = {
		{SPRING_TIMEOUT, .attempts = 3, .key = KEY("spring-TIMEOUT")},
		{SPRING_REFUSED, .attempts = 3, .key = KEY_OF_WHOLE("spring-REFUSED"), PERMANENT},
		{SPRING_SILENT, .attempts = 3, .key = KEY("spring-SILENT")},
		{DESERIALIZATION, .wrapper = DESERIALIZATION, .message = "failed to deserialize",
			.attempts = 1, MALFORMED, PERMANENT},
		{SPRING_SILENT, .attempts = 3, MALFORMED},
		{SPRING_TIMEOUT, .attempts = 3, .key = KEY_OF_WHOLE("spring-TIMEOUT")},
		/* A listener to the dead letters failed, too: origin and time are still the first,
		 * the error is the newest. */
		{SPRING_REFUSED, .attempts = 3, .key = KEY("spring-TIMEOUT"), PERMANENT},
	};

	CHECK("spring", "spring", "spring.reads", 6, .says_written = true);
}

/* retry_topic-attempts counts what comes next, too: that of the dead-letter topic, after three. */
Test(fixtures, spring_retry_topics_say_the_last_error_and_the_attempts)
{
	static const struct wanted wanted[] = {
		{SPRING_TIMEOUT, .attempts = 4, .key = KEY("spring-retry-TIMEOUT")},
		{SPRING_REFUSED, .attempts = 4, .key = KEY_OF_WHOLE("spring-retry-REFUSED"),
			PERMANENT},
		{SPRING_SILENT, .attempts = 4, .key = KEY("spring-retry-SILENT")},
		{SPRING_SILENT, .attempts = 4, MALFORMED},
		{SPRING_SILENT, .attempts = 4, MALFORMED},
		{SPRING_TIMEOUT, .attempts = 4, .key = KEY_OF_WHOLE("spring-retry-TIMEOUT")},
	};

	CHECK("spring-retry", "spring", "spring.retried", 6, .says_written = true);
}

/* --- share groups --- */

#define REJECTED "unknown", .message = "Offset rejected by client.", .attempts = 1
#define EXHAUSTED                                                                                  \
	"unknown", .message = "Offset delivery count exceeded the threshold.", .attempts = 2
#define POINTER .cause = CAUSE_ORIGINAL_GONE, .pointer = true

Test(fixtures, share_groups_say_how_often_they_delivered_and_point_to_the_read_or_copy_it)
{
	static const struct wanted wanted[] = {
		{EXHAUSTED, POINTER},
		{REJECTED, POINTER},
		{REJECTED, POINTER},
		{REJECTED, POINTER},
		{REJECTED, POINTER},
		{REJECTED, POINTER},
		/* copies, without the headers of the original */
		{EXHAUSTED, .key = KEY("share-TIMEOUT")},
		{REJECTED, .key = KEY_OF_WHOLE("share-REFUSED")},
		{REJECTED, .key = KEY("share-SILENT")},
		{REJECTED, MALFORMED},
		{REJECTED, MALFORMED},
		{REJECTED, .key = KEY_OF_WHOLE("share-TIMEOUT")},
	};

	CHECK("share", "share_group", "share.reads", 6);
}

/* dialect_headers.h: headers for the tests of what reads them. */
#ifndef TESTS_DIALECT_HEADERS_H
#define TESTS_DIALECT_HEADERS_H

#include <criterion/criterion.h>

#include "codec.h"
#include "dialect.h"

/* value: a literal; a NUL in it counts. */
#define H(name, value)                                                                             \
	{                                                                                          \
		SLICE_INIT(name), SLICE_INIT(value)                                                \
	}
#define H_NULL(name)                                                                               \
	{                                                                                          \
		SLICE_INIT(name),                                                                  \
		{                                                                                  \
			NULL, 0                                                                    \
		}                                                                                  \
	}

#define HEADERS(arena, ...)                                                                        \
	headers_of(arena, (const struct header[]){__VA_ARGS__},                                    \
		sizeof((const struct header[]){__VA_ARGS__}) / sizeof(struct header))

static inline struct slice headers_of(struct arena *a, const struct header *v, size_t n)
{
	uint32_t cut;

	return headers_encode(a, v, n, &cut);
}

static inline struct dialect_facts facts_of(struct slice headers)
{
	struct dialect_facts f;

	dialect_read(headers, &f);
	return f;
}

/* NULL and 0: nothing is said. */
struct expected {
	const char *dialect;
	const char *reason;
	const char *class, *wrapper, *code, *message, *stage;
	const char *topic;
	int32_t partition;
	int64_t offset;
	int64_t attempts;
	int64_t written_us, failed_us;
	bool pointer;
};

static inline void expect_text(struct slice is, const char *wanted, const char *what)
{
	cr_expect(slice_eq(is, slice_str(wanted)), "%s is %.*s, not %s", what, SLICE_FMT(is),
		wanted ? wanted : "null");
}

static inline void expect_number(int64_t is, int64_t wanted, int64_t nothing, const char *what)
{
	cr_expect_eq(is, wanted ? wanted : nothing, "%s is %lld", what, (long long)is);
}

static inline void expect(struct dialect_facts f, const struct expected *e)
{
	cr_expect_str_eq(f.dialect, e->dialect);
	cr_expect_eq(f.reason_given, e->reason != NULL);
	cr_expect_str_eq(reason_name(f.reason), e->reason ? e->reason : "retries_exhausted");
	expect_text(f.error.class, e->class, "class");
	expect_text(f.wrapper, e->wrapper, "wrapper");
	expect_text(f.error.code, e->code, "code");
	expect_text(f.error.message, e->message, "message");
	expect_text(f.stage, e->stage, "stage");
	expect_text(f.origin.topic, e->topic, "topic");
	cr_expect_eq(f.origin.partition, e->partition, "partition is %d", f.origin.partition);
	cr_expect_eq(f.origin.offset, e->offset, "offset is %lld", (long long)f.origin.offset);
	expect_number(f.upstream_attempts, e->attempts, -1, "attempts");
	expect_number(f.written_us, e->written_us, DIALECT_NO_TIME, "written");
	expect_number(f.failed_us, e->failed_us, DIALECT_NO_TIME, "failed");
	cr_expect_eq(f.pointer, e->pointer);
}

/* What Spring Kafka 3's recoverer adds to a record of meter-reads, partition 3, offset 42. */
#define SPRING_ORIGIN                                                                              \
	H("kafka_dlt-original-topic", "meter-reads"),                                              \
		H("kafka_dlt-original-partition", "\0\0\0\3"),                                     \
		H("kafka_dlt-original-offset", "\0\0\0\0\0\0\0\x2a"),                              \
		H("kafka_dlt-original-timestamp", "\0\0\x01\x9f\x6d\x5f\x74\0"),                   \
		H("kafka_dlt-original-timestamp-type", "CREATE_TIME"),                             \
		H("kafka_dlt-original-consumer-group", "ingestion")
#define SPRING_LISTENER_FAILED "org.springframework.kafka.listener.ListenerExecutionFailedException"
#define SPRING_ORIGINAL_US 1784246400000000 /* 2026-07-17T00:00:00Z */

/* What Kafka Connect adds; message: a header. */
#define CONNECT_PASS(topic, partition, offset, stage, class, message)                              \
	H("__connect.errors.topic", topic), H("__connect.errors.partition", partition),            \
		H("__connect.errors.offset", offset),                                              \
		H("__connect.errors.connector.name", "meter-sink"),                                \
		H("__connect.errors.task.id", "0"), H("__connect.errors.stage", stage),            \
		H("__connect.errors.class.name", "org.apache.kafka.connect.json.JsonConverter"),   \
		H("__connect.errors.exception.class.name", class), message,                        \
		H("__connect.errors.exception.stacktrace", "at ...")

#endif

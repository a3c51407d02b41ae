/* Dead letters as other programs write them, byte for byte and in their order. */
#include <criterion/criterion.h>

#include "dialect_headers.h"

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(dialect_programs, .fini = free_arena);

#define FACTS(...) facts_of(HEADERS(&arena, __VA_ARGS__))

/* --- Kafka Connect --- */

Test(dialect_programs, connect_says_origin_stage_and_error)
{
	expect(FACTS(CONNECT_PASS("meter-reads", "3", "42", "VALUE_CONVERTER",
		       "org.apache.kafka.connect.errors.DataException",
		       H("__connect.errors.exception.message", "Converting byte[] failed"))),
		&(struct expected){.dialect = "connect",
			.class = "org.apache.kafka.connect.errors.DataException",
			.message = "Converting byte[] failed",
			.stage = "VALUE_CONVERTER",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42});
}

Test(dialect_programs, connect_appends_and_the_newest_error_may_have_a_null_text)
{
	expect(FACTS(CONNECT_PASS("meter-reads", "3", "42", "VALUE_CONVERTER", "a.First",
			     H("__connect.errors.exception.message", "first")),
		       CONNECT_PASS("meter-sink-dlq", "0", "7", "TASK_PUT", "a.Second",
			       H_NULL("__connect.errors.exception.message"))),
		&(struct expected){.dialect = "connect",
			.class = "a.Second",
			.stage = "TASK_PUT",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42});
}

Test(dialect_programs, connect_may_say_a_stage_without_an_error)
{
	expect(FACTS(H("__connect.errors.stage", "TRANSFORMATION")),
		&(struct expected){.dialect = "connect", .stage = "TRANSFORMATION"});
}

/* --- Kafka Streams --- */

Test(dialect_programs, streams_says_origin_and_error)
{
	expect(FACTS(H("__streams.errors.exception",
			     "org.apache.kafka.common.errors.SerializationException"),
		       H("__streams.errors.message", "Size of data is not 8"),
		       H("__streams.errors.stacktrace", "at ..."),
		       H("__streams.errors.topic", "meter-reads"),
		       H("__streams.errors.partition", "3"), H("__streams.errors.offset", "42")),
		&(struct expected){.dialect = "streams",
			.class = "org.apache.kafka.common.errors.SerializationException",
			.message = "Size of data is not 8",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42});
}

Test(dialect_programs, an_exception_that_printed_itself_is_class_and_text)
{
	struct dialect_facts f = FACTS(H("__streams.errors.exception", "a.b.C: text: more"));
	struct dialect_facts known = FACTS(H("__streams.errors.exception", "a.b.C: text"),
		H("__streams.errors.message", "the message"));
	struct dialect_facts bare = FACTS(H("__streams.errors.exception", "a.b.C: "));

	expect_text(f.error.class, "a.b.C", "class");
	expect_text(f.error.message, "text: more", "message");
	expect_text(known.error.class, "a.b.C", "class");
	expect_text(known.error.message, "the message", "message");
	expect_text(bare.error.class, "a.b.C", "class");
	expect_text(bare.error.message, NULL, "message");
	expect_text(FACTS(H("__streams.errors.exception", "no class: text")).error.class,
		"no class: text", "class");
	expect_text(FACTS(H("__streams.errors.exception", "Meter::Error")).error.class,
		"Meter::Error", "class");
	expect_text(
		FACTS(H("__streams.errors.exception", ": text")).error.class, ": text", "class");
}

/* --- share groups --- */

#define SHARE_GROUP_ORIGIN(topic)                                                                  \
	H("__dlq.errors.topic", topic), H("__dlq.errors.partition", "3"),                          \
		H("__dlq.errors.offset", "42"), H("__dlq.errors.group", "readers")

Test(dialect_programs, share_group_says_origin_and_deliveries_and_is_a_pointer)
{
	expect(FACTS(SHARE_GROUP_ORIGIN("meter-reads"), H("__dlq.errors.delivery.count", "5"),
		       H("__dlq.errors.message", "Offset delivery count exceeded the threshold.")),
		&(struct expected){.dialect = "share_group",
			.class = "unknown",
			.message = "Offset delivery count exceeded the threshold.",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42,
			.attempts = 5,
			.pointer = true});
}

Test(dialect_programs, share_group_may_name_the_topic_by_its_id)
{
	struct dialect_facts f = FACTS(SHARE_GROUP_ORIGIN("iNK4yCGLSdWq-x3HRbXYYw"));

	cr_expect(f.pointer);
	expect_text(f.origin.topic, "iNK4yCGLSdWq-x3HRbXYYw", "topic");
}

/* A pointer is one to where the share group read: not to where others had it from before. */
Test(dialect_programs, share_group_headers_behind_an_older_origin_are_no_pointer)
{
	struct dialect_facts f = FACTS(SPRING_ORIGIN, SHARE_GROUP_ORIGIN("meter-reads-dlt"));

	cr_expect_not(f.pointer);
	expect_text(f.origin.topic, "meter-reads", "topic");
	cr_expect_not(
		FACTS(H("__dlq.errors.topic", "t"), H("__dlq.errors.partition", "3")).pointer);
}

/* --- others --- */

/* It puts its headers before those that were there. */
Test(dialect_programs, smallrye_begins_with_the_newest_error_and_ends_with_the_true_origin)
{
	expect(FACTS(H("dead-letter-exception-class-name", "java.lang.RuntimeException"),
		       H("dead-letter-reason", "second"),
		       H("dead-letter-cause-class-name", "java.net.SocketTimeoutException"),
		       H("dead-letter-cause", "Read timed out"),
		       H("dead-letter-topic", "dead-letter-topic-reads"),
		       H("dead-letter-partition", "0"), H("dead-letter-offset", "7"),
		       H("dead-letter-exception-class-name", "a.First"),
		       H("dead-letter-reason", "first"), H("dead-letter-topic", "meter-reads"),
		       H("dead-letter-partition", "3"), H("dead-letter-offset", "42"),
		       H("traceparent", "x")),
		&(struct expected){.dialect = "smallrye",
			.class = "java.net.SocketTimeoutException",
			.wrapper = "java.lang.RuntimeException",
			.message = "Read timed out",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42});
}

Test(dialect_programs, karafka_says_origin_and_attempts)
{
	static const struct expected e = {.dialect = "karafka",
		.topic = "meter-reads",
		.partition = 3,
		.offset = 42,
		.attempts = 2};

	expect(FACTS(H("source_topic", "meter-reads"), H("source_partition", "3"),
		       H("source_offset", "42"), H("source_consumer_group", "ingestion"),
		       H("source_attempts", "2"),
		       H("source_trace_id", "6f5d2b1c-0a39-4b8e-9d70-0d9a1c2e3f40")),
		&e);
	/* before 2.5 */
	expect(FACTS(H("original_topic", "meter-reads"), H("original_partition", "3"),
		       H("original_offset", "42"), H("original_consumer_group", "ingestion"),
		       H("original_key", "MTR-1"), H("original_attempts", "2")),
		&e);
}

Test(dialect_programs, wolverine_says_origin_error_attempts_and_time)
{
	expect(FACTS(H("attempts", "3"), H("exception-type", "System.FormatException"),
		       H("exception-message", "not a meter"), H("exception-stack", "at Acme..."),
		       H("failed-at", "1784250000123"),
		       H("original-destination", "kafka://topic/meter-reads"),
		       H("original-partition", "3"), H("original-offset", "42")),
		&(struct expected){.dialect = "wolverine",
			.class = "System.FormatException",
			.message = "not a meter",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42,
			.attempts = 3,
			.failed_us = 1784250000123000});
}

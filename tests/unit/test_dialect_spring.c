/* Dead letters as Spring Kafka and Spring Cloud Stream write them, byte for byte. */
#include <criterion/criterion.h>

#include "dialect_headers.h"

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(dialect_spring, .fini = free_arena);

#define FACTS(...) facts_of(HEADERS(&arena, __VA_ARGS__))

Test(dialect_spring, says_origin_cause_and_wrapper)
{
	expect(FACTS(H("traceparent", "00-4bf9-01"),
		       H("kafka_dlt-exception-fqcn", SPRING_LISTENER_FAILED),
		       H("kafka_dlt-exception-cause-fqcn", "com.acme.meter.UnknownMeterException"),
		       H("kafka_dlt-exception-message", "Listener failed"),
		       H("kafka_dlt-exception-stacktrace", "at com.acme..."), SPRING_ORIGIN),
		&(struct expected){.dialect = "spring",
			.class = "com.acme.meter.UnknownMeterException",
			.wrapper = SPRING_LISTENER_FAILED,
			.message = "Listener failed",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42,
			.written_us = SPRING_ORIGINAL_US});
}

/* Of a key and a value that cannot be deserialized the value's exception is written last. */
Test(dialect_spring, says_that_key_or_value_cannot_be_deserialized)
{
	static const char class[] =
		"org.springframework.kafka.support.serializer.DeserializationException";
	struct dialect_facts key = FACTS(
		H("springDeserializerExceptionKey", "\xac\xed\0\5sr\0?org.springframework"),
		H("kafka_dlt-key-exception-fqcn",
			"org.springframework.kafka.support.serializer.DeserializationException"),
		H("kafka_dlt-key-exception-message", "failed to deserialize"),
		H("kafka_dlt-key-exception-stacktrace", "at ..."), SPRING_ORIGIN);
	struct dialect_facts both = FACTS(H("kafka_dlt-key-exception-fqcn", "a.Key"),
		H("kafka_dlt-exception-fqcn", "a.Value"),
		H("kafka_dlt-exception-message", "value"));

	expect_text(key.error.class, class, "class");
	expect_text(key.error.message, "failed to deserialize", "message");
	expect_text(key.origin.topic, "meter-reads", "topic");
	expect_text(both.error.class, "a.Value", "class");
	expect_text(both.error.message, "value", "message");
}

#define RETRY_PASS(topic, partition, offset, attempts)                                             \
	H("kafka_original-topic", topic), H("kafka_original-partition", partition),                \
		H("kafka_original-offset", offset),                                                \
		H("kafka_original-timestamp", "\0\0\x01\x9f\x6d\x5f\x74\0"),                       \
		H("kafka_original-timestamp-type", "CREATE_TIME"),                                 \
		H("retry_topic-attempts", attempts),                                               \
		H("retry_topic-original-timestamp", "\x01\x9f\x6d\x5f\x74\0"),                     \
		H("retry_topic-backoff-timestamp", "\x01\x9f\x6d\x5f\x88\x13")

/* original-* are added on every pass, exception-* replaced: those of the last stand at the end. */
Test(dialect_spring, retry_topics_begin_with_the_true_origin_and_end_with_the_last_attempt)
{
	expect(FACTS(H("kafka_deliveryAttempt", "\0\0\0\1"),
		       RETRY_PASS("meter-reads", "\0\0\0\3", "\0\0\0\0\0\0\0\x2a", "\0\0\0\2"),
		       RETRY_PASS("meter-reads-retry-1000", "\0\0\0\1", "\0\0\0\0\0\0\0\x7",
			       "\0\0\0\3"),
		       H("kafka_exception-fqcn", SPRING_LISTENER_FAILED),
		       H("kafka_exception-cause-fqcn", "java.net.ConnectException"),
		       H("kafka_exception-message", "Listener failed"),
		       H("kafka_exception-stacktrace", "at ..."),
		       RETRY_PASS("meter-reads-retry-2000", "\0\0\0\0", "\0\0\0\0\0\0\0\x9",
			       "\0\0\0\4")),
		&(struct expected){.dialect = "spring",
			.class = "java.net.ConnectException",
			.wrapper = SPRING_LISTENER_FAILED,
			.message = "Listener failed",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42,
			.attempts = 4,
			.written_us = SPRING_ORIGINAL_US});
}

Test(dialect_spring, attempts_are_one_byte_or_four)
{
	cr_expect_eq(FACTS(H("retry_topic-attempts", "\5")).upstream_attempts, 5);
	cr_expect_eq(FACTS(H("retry_topic-attempts", "2")).upstream_attempts, 0x32);
	cr_expect_eq(FACTS(H("retry_topic-attempts", "\0\0\1\0")).upstream_attempts, 256);
	cr_expect_eq(FACTS(H("kafka_deliveryAttempt", "\0\0\0\3")).upstream_attempts, 3);
	cr_expect_eq(FACTS(H("kafka_deliveryAttempt", "\3")).upstream_attempts, -1);
}

/* A new exception without a cause leaves the header of the old one's where it was. */
Test(dialect_spring, headers_of_an_older_exception_do_not_describe_the_new_one)
{
	expect(FACTS(H("kafka_dlt-exception-cause-fqcn", "a.b.ValidationException"),
		       H("kafka_dlt-exception-message", "too long"),
		       H("kafka_dlt-exception-fqcn", "java.util.concurrent.TimeoutException"),
		       H("kafka_dlt-exception-stacktrace", "at ...")),
		&(struct expected){
			.dialect = "spring", .class = "java.util.concurrent.TimeoutException"});
}

#define CLOUD_STREAM_PASS(topic, partition, offset, class, message)                                \
	H("x-original-topic", topic), H("x-original-partition", partition),                        \
		H("x-original-offset", offset),                                                    \
		H("x-original-timestamp", "\0\0\x01\x9f\x6d\x5f\x74\0"),                           \
		H("x-original-timestamp-type", "CREATE_TIME"), H("x-exception-fqcn", class),       \
		H("x-exception-message", message), H("x-exception-stacktrace", "at ...")

Test(dialect_spring, cloud_stream_appends_everything)
{
	expect(FACTS(CLOUD_STREAM_PASS("meter-reads", "\0\0\0\3", "\0\0\0\0\0\0\0\x2a",
			     "org.springframework.messaging.MessageHandlingException", "first"),
		       CLOUD_STREAM_PASS("error.meter-reads.ingestion", "\0\0\0\0",
			       "\0\0\0\0\0\0\0\1",
			       "org.springframework.messaging.MessagingException", "second")),
		&(struct expected){.dialect = "spring",
			.class = "org.springframework.messaging.MessagingException",
			.message = "second",
			.topic = "meter-reads",
			.partition = 3,
			.offset = 42,
			.written_us = SPRING_ORIGINAL_US});
}

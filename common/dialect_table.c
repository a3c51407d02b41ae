/*
 * What is written by whom, as of the sources of: Spring Kafka 2.7 to 4
 * (DeadLetterPublishingRecoverer, RetryTopicHeaders) and Spring Cloud Stream
 * (KafkaMessageChannelBinder); Kafka Connect (DeadLetterQueueReporter); Kafka Streams, KIP-1034
 * (ExceptionHandlerUtils); share groups, KIP-1191 (ShareGroupDLQStateManager); SmallRye
 * (KafkaDeadLetterQueue); Karafka (strategies/dlq/default.rb); Wolverine
 * (DeadLetterQueueConstants). Their other headers travel unread.
 */
#include "dialect_table.h"

#include "mem.h"

const struct dialect dialects[DIALECT_COUNT] = {
	[DIALECT_NATIVE] = {"native"},
	[DIALECT_SPRING] = {"spring", .class_begins = true},
	[DIALECT_CONNECT] = {"connect"},
	[DIALECT_STREAMS] = {"streams"},
	[DIALECT_SHARE_GROUP] = {"share_group"},
	[DIALECT_SMALLRYE] = {"smallrye", .prepends = true},
	[DIALECT_KARAFKA] = {"karafka"},
	[DIALECT_WOLVERINE] = {"wolverine"},
};

#define WHOLE SLICE_INIT("") /* the prefix is the name */

static const struct dialect_row native[] = {
	{SLICE_INIT("reason"), FACT_REASON, AS_TEXT},
	{SLICE_INIT("error-class"), FACT_CLASS, AS_TEXT},
	{SLICE_INIT("error-code"), FACT_CODE, AS_TEXT},
	{SLICE_INIT("error-message"), FACT_MESSAGE, AS_TEXT},
};

static const struct dialect_row keep[] = {
	{WHOLE, FACT_KEEP, AS_TEXT},
};

/* Behind kafka_dlt-, kafka_ (retry topics, older versions) and x- (Spring Cloud Stream). */
static const struct dialect_row spring[] = {
	{SLICE_INIT("original-topic"), FACT_TOPIC, AS_TEXT},
	{SLICE_INIT("original-partition"), FACT_PARTITION, AS_INT32},
	{SLICE_INIT("original-offset"), FACT_OFFSET, AS_INT64},
	{SLICE_INIT("original-timestamp"), FACT_WRITTEN, AS_INT64},
	{SLICE_INIT("exception-fqcn"), FACT_CLASS, AS_TEXT},
	{SLICE_INIT("exception-cause-fqcn"), FACT_CAUSE, AS_TEXT},
	{SLICE_INIT("exception-message"), FACT_MESSAGE, AS_TEXT},
	{SLICE_INIT("exception-stacktrace"), FACT_TRACE, AS_TEXT},
	{SLICE_INIT("key-exception-fqcn"), FACT_CLASS, AS_TEXT},
	{SLICE_INIT("key-exception-message"), FACT_MESSAGE, AS_TEXT},
	{SLICE_INIT("key-exception-stacktrace"), FACT_TRACE, AS_TEXT},
	{SLICE_INIT("deliveryAttempt"), FACT_ATTEMPTS, AS_INT32},
};

static const struct dialect_row spring_retry[] = {
	{SLICE_INIT("attempts"), FACT_ATTEMPTS, AS_INT8 | AS_INT32},
	{SLICE_INIT("original-timestamp"), FACT_WRITTEN, AS_MINIMAL},
};

/* Java serialization, with a trace and the bytes in it: never parsed. */
static const struct dialect_row spring_deserializer[] = {
	{SLICE_INIT("Key"), FACT_BLOB, AS_TEXT},
	{SLICE_INIT("Value"), FACT_BLOB, AS_TEXT},
};

static const struct dialect_row connect[] = {
	{SLICE_INIT("topic"), FACT_TOPIC, AS_TEXT},
	{SLICE_INIT("partition"), FACT_PARTITION, AS_TEXT},
	{SLICE_INIT("offset"), FACT_OFFSET, AS_TEXT},
	{SLICE_INIT("stage"), FACT_STAGE, AS_TEXT},
	{SLICE_INIT("exception.class.name"), FACT_CLASS, AS_TEXT},
	{SLICE_INIT("exception.message"), FACT_MESSAGE, AS_TEXT},
	{SLICE_INIT("exception.stacktrace"), FACT_TRACE, AS_TEXT},
};

static const struct dialect_row streams[] = {
	{SLICE_INIT("topic"), FACT_TOPIC, AS_TEXT},
	{SLICE_INIT("partition"), FACT_PARTITION, AS_TEXT},
	{SLICE_INIT("offset"), FACT_OFFSET, AS_TEXT},
	{SLICE_INIT("exception"), FACT_CLASS, AS_TEXT},
	{SLICE_INIT("message"), FACT_MESSAGE, AS_TEXT},
	{SLICE_INIT("stacktrace"), FACT_TRACE, AS_TEXT},
};

static const struct dialect_row share_group[] = {
	{SLICE_INIT("topic"), FACT_TOPIC, AS_TEXT},
	{SLICE_INIT("partition"), FACT_PARTITION, AS_TEXT},
	{SLICE_INIT("offset"), FACT_OFFSET, AS_TEXT},
	{SLICE_INIT("delivery.count"), FACT_ATTEMPTS, AS_TEXT},
	{SLICE_INIT("message"), FACT_MESSAGE, AS_TEXT},
};

static const struct dialect_row smallrye[] = {
	{SLICE_INIT("topic"), FACT_TOPIC, AS_TEXT},
	{SLICE_INIT("partition"), FACT_PARTITION, AS_TEXT},
	{SLICE_INIT("offset"), FACT_OFFSET, AS_TEXT},
	{SLICE_INIT("exception-class-name"), FACT_CLASS, AS_TEXT},
	{SLICE_INIT("cause-class-name"), FACT_CAUSE, AS_TEXT},
	{SLICE_INIT("reason"), FACT_MESSAGE, AS_TEXT},
	{SLICE_INIT("cause"), FACT_CAUSE_MESSAGE, AS_TEXT},
};

/* Behind source_, and behind original_ before Karafka 2.5. */
static const struct dialect_row karafka[] = {
	{SLICE_INIT("topic"), FACT_TOPIC, AS_TEXT},
	{SLICE_INIT("partition"), FACT_PARTITION, AS_TEXT},
	{SLICE_INIT("offset"), FACT_OFFSET, AS_TEXT},
	{SLICE_INIT("attempts"), FACT_ATTEMPTS, AS_TEXT},
};

static const struct dialect_row wolverine_exception[] = {
	{SLICE_INIT("type"), FACT_CLASS, AS_TEXT},
	{SLICE_INIT("message"), FACT_MESSAGE, AS_TEXT},
	{SLICE_INIT("stack"), FACT_TRACE, AS_TEXT},
};

static const struct dialect_row wolverine_original[] = {
	{SLICE_INIT("destination"), FACT_TOPIC, AS_TEXT},
	{SLICE_INIT("partition"), FACT_PARTITION, AS_TEXT},
	{SLICE_INIT("offset"), FACT_OFFSET, AS_TEXT},
};

static const struct dialect_row wolverine_failed[] = {
	{WHOLE, FACT_FAILED, AS_TEXT},
};

static const struct dialect_row wolverine_attempts[] = {
	{WHOLE, FACT_ATTEMPTS, AS_TEXT},
};

/* The first prefix that fits decides, so a longer one stands before its beginning. */
static const struct family {
	struct slice prefix;
	enum dialect_id by;
	const struct dialect_row *rows;
	size_t n;
} families[] = {
#define FAMILY(prefix, by, rows)                                                                   \
	{                                                                                          \
		SLICE_INIT(prefix), by, rows, ARRAY_LEN(rows)                                      \
	}
	FAMILY("dlq-", DIALECT_NATIVE, native),
	FAMILY("idempotency-key", DIALECT_NATIVE, keep),
	FAMILY("__value_schema_id", DIALECT_NATIVE, keep),
	FAMILY("traceparent", DIALECT_NATIVE, keep),
	FAMILY("tracestate", DIALECT_NATIVE, keep),
	FAMILY("kafka_dlt-", DIALECT_SPRING, spring),
	FAMILY("kafka_", DIALECT_SPRING, spring),
	FAMILY("x-", DIALECT_SPRING, spring),
	FAMILY("retry_topic-", DIALECT_SPRING, spring_retry),
	FAMILY("springDeserializerException", DIALECT_SPRING, spring_deserializer),
	FAMILY("__connect.errors.", DIALECT_CONNECT, connect),
	FAMILY("__streams.errors.", DIALECT_STREAMS, streams),
	FAMILY("__dlq.errors.", DIALECT_SHARE_GROUP, share_group),
	FAMILY("dead-letter-", DIALECT_SMALLRYE, smallrye),
	FAMILY("source_", DIALECT_KARAFKA, karafka),
	FAMILY("original_", DIALECT_KARAFKA, karafka),
	FAMILY("exception-", DIALECT_WOLVERINE, wolverine_exception),
	FAMILY("original-", DIALECT_WOLVERINE, wolverine_original),
	FAMILY("failed-at", DIALECT_WOLVERINE, wolverine_failed),
	FAMILY("attempts", DIALECT_WOLVERINE, wolverine_attempts),
#undef FAMILY
};

static const struct family *family_find(struct slice name)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		struct slice prefix = families[i].prefix;

		if (name.n >= prefix.n && name.p[0] == prefix.p[0] &&
			memcmp(name.p, prefix.p, prefix.n) == 0)
			return &families[i];
	}
	return NULL;
}

const struct dialect_row *dialect_row_find(struct slice name, enum dialect_id *ret_by)
{
	const struct family *f = family_find(name);

	for (size_t i = 0; f && i < f->n; i++) {
		struct slice suffix = slice_of(name.p + f->prefix.n, name.n - f->prefix.n);

		if (slice_eq(suffix, f->rows[i].suffix)) {
			*ret_by = f->by;
			return &f->rows[i];
		}
	}
	return NULL;
}

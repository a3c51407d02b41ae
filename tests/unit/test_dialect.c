/* What headers say, by whom, and which of them count. */
#include <criterion/criterion.h>

#include "dialect_headers.h"

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(dialect, .fini = free_arena);

#define FACTS(...) facts_of(HEADERS(&arena, __VA_ARGS__))

static const struct expected nothing = {.dialect = "unknown"};

/* --- nobody --- */

Test(dialect, without_headers_nothing_is_said)
{
	expect(facts_of(SLICE_NULL), &nothing);
	expect(facts_of(headers_of(&arena, NULL, 0)), &nothing);
}

Test(dialect, unknown_headers_say_nothing)
{
	expect(FACTS(H("traceparent", "00-4bf9-01"), H("idempotency-key", "k"),
		       H("dlq-reaso", "poison"), H("dlq-reasons", "poison"),
		       H("DLQ-REASON", "poison"), H("", "poison"), H("kafka_dlt-", "x"),
		       H("x-request-id", "7"), H("attemptss", "3"), H("failed-at-all", "1")),
		&nothing);
}

/* --- native --- */

Test(dialect, native_headers_give_reason_and_error)
{
	expect(FACTS(H("traceparent", "x"), H("dlq-reason", "permanent_4xx"),
		       H("dlq-error-class", "HttpError"), H("dlq-error-code", "422"),
		       H("dlq-error-message", "unknown meter")),
		&(struct expected){.dialect = "native",
			.reason = "permanent_4xx",
			.class = "HttpError",
			.code = "422",
			.message = "unknown meter"});
}

Test(dialect, every_reason_is_known_by_its_name)
{
	cr_expect_eq(FACTS(H("dlq-reason", "retries_exhausted")).reason, REASON_RETRIES_EXHAUSTED);
	cr_expect(FACTS(H("dlq-reason", "retries_exhausted")).reason_given);
	cr_expect_eq(FACTS(H("dlq-reason", "permanent_4xx")).reason, REASON_PERMANENT_4XX);
	cr_expect_eq(FACTS(H("dlq-reason", "poison")).reason, REASON_POISON);
}

Test(dialect, an_unknown_reason_is_none)
{
	expect(FACTS(H("dlq-reason", "because")), &nothing);
	expect(FACTS(H("dlq-reason", "poison ")), &nothing);
	expect(FACTS(H("dlq-reason", "")), &nothing);
	expect(FACTS(H_NULL("dlq-reason")), &nothing);
}

Test(dialect, the_last_of_repeated_headers_counts)
{
	struct dialect_facts f = FACTS(H("dlq-error-code", "503"), H("dlq-reason", "poison"),
		H("dlq-error-code", "404"), H("dlq-reason", "permanent_4xx"),
		H("dlq-reason", "because"), H_NULL("dlq-reason"));

	cr_expect_eq(f.reason, REASON_PERMANENT_4XX);
	expect_text(f.error.code, "404", "code");
}

Test(dialect, an_error_without_a_class_is_still_one)
{
	expect_text(FACTS(H("dlq-error-code", "503")).error.class, "unknown", "class");
	expect_text(FACTS(H("dlq-error-message", "x")).error.class, "unknown", "class");
}

/* --- several of them on one record --- */

Test(dialect, each_program_that_dead_lettered_a_record_is_told_from_the_others)
{
	struct dialect_facts f = FACTS(H("kafka_dlt-exception-fqcn", "a.First"),
		H("kafka_dlt-exception-message", "first"), SPRING_ORIGIN,
		H("retry_topic-attempts", "\0\0\0\4"),
		CONNECT_PASS("meter-reads-dlt", "0", "1", "TASK_PUT", "a.Second",
			H_NULL("__connect.errors.exception.message")));

	expect(f, &(struct expected){.dialect = "connect",
			  .class = "a.Second",
			  .stage = "TASK_PUT",
			  .topic = "meter-reads",
			  .partition = 3,
			  .offset = 42,
			  .attempts = 4,
			  .written_us = SPRING_ORIGINAL_US});
}

Test(dialect, a_reason_of_ours_goes_with_the_error_of_another)
{
	struct dialect_facts f = FACTS(
		H("kafka_dlt-exception-fqcn", "a.First"), SPRING_ORIGIN, H("dlq-reason", "poison"));

	cr_expect_str_eq(f.dialect, "spring");
	cr_expect(f.reason_given);
	cr_expect_eq(f.reason, REASON_POISON);
	expect_text(f.error.class, "a.First", "class");
}

#include <criterion/criterion.h>

#include "codec.h"
#include "dialect.h"

static struct arena arena;

static struct dialect_facts facts_of(const struct header *v, size_t n)
{
	struct dialect_facts f;
	uint32_t cut;

	dialect_read(headers_encode(&arena, v, n, &cut), &f);
	return f;
}
#define FACTS(...)                                                                                 \
	facts_of((const struct header[]){__VA_ARGS__},                                             \
		sizeof((const struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define H(name, text)                                                                              \
	{                                                                                          \
		SLICE_INIT(name), SLICE_INIT(text)                                                 \
	}
#define H_NULL(name)                                                                               \
	{                                                                                          \
		SLICE_INIT(name),                                                                  \
		{                                                                                  \
			NULL, 0                                                                    \
		}                                                                                  \
	}

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(dialect, .fini = free_arena);

static void expect_nothing_said(struct dialect_facts f)
{
	cr_expect_str_eq(f.dialect, "unknown");
	cr_expect_eq(f.reason, REASON_RETRIES_EXHAUSTED);
	cr_expect(slice_is_null(f.error.class));
	cr_expect(slice_is_null(f.error.code));
	cr_expect(slice_is_null(f.error.message));
	cr_expect(origin_is_null(f.origin));
	cr_expect_eq(f.upstream_attempts, -1);
}

Test(dialect, without_headers_nothing_is_said)
{
	struct dialect_facts f;

	dialect_read(SLICE_NULL, &f);
	expect_nothing_said(f);
	expect_nothing_said(facts_of(NULL, 0));
}

Test(dialect, unknown_headers_say_nothing)
{
	expect_nothing_said(FACTS(H("traceparent", "00-4bf9-01"), H("dlq-reaso", "poison"),
		H("dlq-reasons", "poison"), H("DLQ-REASON", "poison"), H("", "poison")));
}

Test(dialect, native_headers_give_reason_and_error)
{
	struct dialect_facts f = FACTS(H("traceparent", "x"), H("dlq-reason", "permanent_4xx"),
		H("dlq-error-class", "HttpError"), H("dlq-error-code", "422"),
		H("dlq-error-message", "unknown meter"));

	cr_expect_str_eq(f.dialect, "native");
	cr_expect_eq(f.reason, REASON_PERMANENT_4XX);
	cr_expect(slice_eq(f.error.class, SLICE_LIT("HttpError")));
	cr_expect(slice_eq(f.error.code, SLICE_LIT("422")));
	cr_expect(slice_eq(f.error.message, SLICE_LIT("unknown meter")));
	cr_expect(origin_is_null(f.origin));
	cr_expect_eq(f.upstream_attempts, -1);
}

Test(dialect, every_reason_is_known_by_its_name)
{
	cr_expect_eq(FACTS(H("dlq-reason", "retries_exhausted")).reason, REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(FACTS(H("dlq-reason", "permanent_4xx")).reason, REASON_PERMANENT_4XX);
	cr_expect_eq(FACTS(H("dlq-reason", "poison")).reason, REASON_POISON);
}

Test(dialect, an_unknown_reason_is_the_one_that_is_retried)
{
	cr_expect_eq(FACTS(H("dlq-reason", "because")).reason, REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(FACTS(H("dlq-reason", "poison ")).reason, REASON_RETRIES_EXHAUSTED);
}

Test(dialect, the_last_of_repeated_headers_counts)
{
	struct dialect_facts f = FACTS(H("dlq-error-code", "503"), H("dlq-reason", "poison"),
		H("dlq-error-code", "404"), H("dlq-reason", "permanent_4xx"));

	cr_expect_eq(f.reason, REASON_PERMANENT_4XX);
	cr_expect(slice_eq(f.error.code, SLICE_LIT("404")));
}

Test(dialect, null_and_empty_values_say_nothing)
{
	struct dialect_facts f = FACTS(H("dlq-reason", "poison"), H_NULL("dlq-reason"),
		H("dlq-reason", ""), H_NULL("dlq-error-class"), H("dlq-error-message", ""));

	cr_expect_eq(f.reason, REASON_POISON);
	cr_expect(slice_is_null(f.error.class));
	cr_expect(slice_is_null(f.error.message));
	expect_nothing_said(FACTS(H_NULL("dlq-reason")));
}

Test(dialect, an_error_without_a_class_is_still_one)
{
	cr_expect(slice_eq(FACTS(H("dlq-error-code", "503")).error.class, SLICE_LIT("unknown")));
	cr_expect(slice_eq(FACTS(H("dlq-error-message", "x")).error.class, SLICE_LIT("unknown")));
}

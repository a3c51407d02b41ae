/* Why, and what to do. */
#include <criterion/criterion.h>

#include "advice.h"
#include "classify.h"
#include "mem.h"

#define LIVE(class_, code_)                                                                        \
	{                                                                                          \
		.class = SLICE_INIT(class_), .code = SLICE_INIT(code_)                             \
	}
#define PARKED(cause_, class_, code_)                                                              \
	{                                                                                          \
		.parked = true, .cause = (cause_), .class = SLICE_INIT(class_),                    \
		.code = SLICE_INIT(code_)                                                          \
	}

static const struct {
	struct advice_subject subject;
	const char *why, *next;
} table[] = {
	/* The longest SQLSTATE decides, and the code before the class. */
	{LIVE("postgres", "23503"), "unknown meter", "load the master data"},
	{LIVE("postgres", "23514"), "CHECK constraint", "change the constraint"},
	{LIVE("postgres", "23P01"), "a constraint of the table", "repair data"},
	{LIVE("org.postgresql.util.PSQLException", "22003"), "out of its column's range", "widen"},
	{LIVE("postgres", "22P02"), "does not fit its column", "widen"},
	{LIVE("postgres", "42501"), "lacks a right", "GRANT meter_read_writer"},
	{LIVE("postgres", "99999"), "Postgres refused it", "repair it"},
	{LIVE("java.net.SocketTimeoutException", "503"), "the service failed", "tried again"},
	{LIVE("HttpClientErrorException", "404"), "does not know", "load the master data"},
	{LIVE("HttpClientErrorException", "422"), "refuses the read for good", "higher sequence"},
	{LIVE("HttpClientErrorException", "429"), "asked too often", "tried again"},
	{LIVE("java.net.SocketTimeoutException", ""), "waited too long", "tried again"},
	{LIVE("com.acme.Odd", ""), "program that dead-lettered it failed", "repair that program"},
	{{.parked = false}, "does not say why", "dlq-error-class"},
	/* The cause, where it says more. */
	{PARKED(CAUSE_CONFLICT, "postgres", "23514"), "other content is committed", "compare both"},
	{PARKED(CAUSE_MALFORMED, "malformed", ""), "cannot be understood", "payload.fields"},
	{PARKED(CAUSE_POISON_CAP, "postgres", "23503"), "unknown meter",
		"load the master data, then have its dead letter read again"},
	{LIVE("postgres", "23503"), "unknown meter", "load the master data; it is tried again"},
	{PARKED(CAUSE_POISON_CAP, "postgres", "22003"), "column's range",
		"read again (README, \"Replaying a dead-letter topic\"); or put a corrected read"},
	/* What is tried again while it is live must be read again once it is parked ... */
	{PARKED(CAUSE_POISON_CAP, "java.net.SocketTimeoutException", ""), "waited too long",
		"have its dead letter read again"},
	{PARKED(CAUSE_POISON_CAP, "", ""), "poison.cap attempts", "stats --parked --by error"},
	{PARKED(CAUSE_EXPIRED, "", ""), "expire.after", "have its dead letter read again"},
	/* ... and what is permanent is not, whatever its error is. */
	{PARKED(CAUSE_PERMANENT, "HttpClientErrorException", "404"), "does not know",
		"it stays parked"},
	{PARKED(CAUSE_PERMANENT, "", ""), "says that it can never go through", "higher sequence"},
};

Test(advice, is_by_cause_then_sqlstate_then_status_then_class)
{
	CLEANUP(arena_free) struct arena arena = {0};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct advice_subject s = table[i].subject;

		if (!s.class.n)
			s.class = SLICE_NULL;
		struct advice a = advice_for(&arena, &s);

		cr_expect(strstr(a.why, table[i].why), "%zu: %s", i, a.why);
		cr_expect(strstr(a.next, table[i].next), "%zu: %s", i, a.next);
	}
}

Test(advice, says_something_about_every_cause_and_every_sqlstate_class)
{
	CLEANUP(arena_free) struct arena arena = {0};

	for (int cause = 0; cause < CAUSE_COUNT; cause++) {
		struct advice_subject s = {.parked = true, .cause = (enum cause)cause};
		struct advice a = advice_for(&arena, &s);

		cr_expect(*a.why && *a.next, "%s", cause_name((enum cause)cause));
	}
	for (int class = 0; class < 100; class ++) {
		char code[6] = {(char)('0' + class / 10), (char)('0' + class % 10), '0', '0', '1'};
		struct advice_subject s = {.class = SLICE_LIT("postgres"), .code = slice_str(code)};
		struct advice a = advice_for(&arena, &s);

		cr_expect(*a.why && *a.next, "%s", code);
	}
}

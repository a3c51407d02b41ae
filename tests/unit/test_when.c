#include "when.h"

#include <criterion/criterion.h>

#define NOW INT64_C(1784246400000000) /* 2026-07-17T00:00:00Z */
#define HOUR INT64_C(3600000000)

static int64_t when(const char *text)
{
	CLEANUP(arena_free) struct arena arena = {0};
	int64_t us = -1;
	const char *why = when_parse(&arena, text, NOW, &us);

	cr_assert_null(why, "%s: %s", text, why);
	return us;
}

Test(when, an_instant_has_an_offset)
{
	cr_assert_eq(when("2026-07-17T02:00:00+02:00"), NOW);
	cr_assert_eq(when("2026-07-17T00:00:00.5Z"), NOW + 500000);
}

Test(when, a_date_is_its_beginning_in_utc)
{
	cr_assert_eq(when("2026-07-17"), NOW);
	cr_assert_eq(when("2026-07-16"), NOW - 24 * HOUR);
}

Test(when, an_age_counts_back_from_now)
{
	cr_assert_eq(when("90s"), NOW - 90000000);
	cr_assert_eq(when("30m"), NOW - HOUR / 2);
	cr_assert_eq(when("12h"), NOW - 12 * HOUR);
	cr_assert_eq(when("3d"), NOW - 72 * HOUR);
	cr_assert_eq(when("0d"), NOW);
}

Test(when, anything_else_is_refused_in_words)
{
	static const char *const bad[] = {"", "d", "3", "-3d", "3 d", "3y", "2026-07-17T00:00:00",
		"2026-13-01", "2026-07-1", "yesterday", "99999999999999999999d", "9999999999999d"};
	CLEANUP(arena_free) struct arena arena = {0};
	int64_t us;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not_null(when_parse(&arena, bad[i], NOW, &us), "%s", bad[i]);
	cr_assert_not_null(strstr(
		when_parse(&arena, "2026-07-17T00:00:00", NOW, &us), "no offset; give a time"));
}

/* Points of time as people give them. */
#include <criterion/criterion.h>

#include "config.h"
#include "instant.h"
#include "when.h"

#define NOW_US (1784246400LL * CONFIG_SECOND) /* 2026-07-17T00:00:00Z */

static void is(const char *text, const char *instant)
{
	struct arena a = {0};
	int64_t us = 0;
	char out[INSTANT_TEXT_BYTES];
	const char *why = when_parse(&a, text, NOW_US, &us);

	cr_assert_null(why, "%s: %s", text, why);
	instant_format(us, out);
	cr_expect_str_eq(out, instant, "%s is %s", text, out);
	arena_free(&a);
}

Test(when, is_a_time_with_an_offset_a_date_or_an_age)
{
	is("2026-07-17T08:00:00+02:00", "2026-07-17T06:00:00Z");
	is("2026-07-17T08:00:00.5Z", "2026-07-17T08:00:00.500000Z");
	is("2026-07-17", "2026-07-17T00:00:00Z");
	is("2h", "2026-07-16T22:00:00Z");
	is("3d", "2026-07-14T00:00:00Z");
	is("90m", "2026-07-16T22:30:00Z");
	is("0s", "2026-07-17T00:00:00Z");
}

Test(when, says_what_is_wrong_and_what_it_takes)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {{"2026-07-17T08:00:00", "no offset; give"}, {"2026-02-30", "not a date; give"},
		{"yesterday", "an age (90m, 2h, 3d)"}, {"2w", "an age (90m"}, {"", "a date (2026"},
		{"-2h", "an age"}};
	struct arena a = {0};
	int64_t us;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		const char *why = when_parse(&a, wrong[i].text, NOW_US, &us);

		cr_assert(why, "%s", wrong[i].text);
		cr_expect(strstr(why, wrong[i].says), "%s: %s", wrong[i].text, why);
	}
	arena_free(&a);
}

Test(when, an_age_has_the_largest_unit_that_it_has_two_of)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} ages[] = {{-5, "0s"}, {0, "0s"}, {1, "1s"}, {119, "119s"}, {120, "2m"}, {7199, "119m"},
		{7200, "2h"}, {172799, "47h"}, {172800, "2d"}, {86400 * 400, "400d"}};
	char text[WHEN_AGE_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(ages); i++)
		cr_expect_str_eq(
			when_age(ages[i].seconds * CONFIG_SECOND, text), ages[i].text, "%s", text);
}

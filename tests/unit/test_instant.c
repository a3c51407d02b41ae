#define _GNU_SOURCE /* timegm */
#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

#include "codec_random.h"
#include "instant.h"

#define US 1000000
#define FIRST_US (-62135596800 * US)	/* 0001-01-01T00:00:00Z */
#define LAST_US (253402300800 * US - 1) /* 9999-12-31T23:59:59.999999Z */

static const struct {
	const char *text;
	int64_t us;
} instants[] = {
	{"1970-01-01T00:00:00Z", 0},
	{"2026-07-17T00:00:00+00:00", 1784246400LL * US},
	{"2026-07-17T02:00:00+02:00", 1784246400LL * US},
	{"2026-07-16T18:30:00-0530", 1784246400LL * US},
	{"2026-07-17T02:00:00+02", 1784246400LL * US},
	{"2026-07-17t00:00:00z", 1784246400LL * US},
	{"2026-07-17 00:00:00Z", 1784246400LL * US},
	/* RFC 3339, 4.3: the instant is known, only the local offset is not. */
	{"2026-07-17T00:00:00-00:00", 1784246400LL * US},
	{"2026-07-17T00:00:00.5Z", 1784246400LL * US + 500000},
	{"2026-07-17T00:00:00.000001Z", 1784246400LL * US + 1},
	{"2026-07-17T00:00:00.123456000Z", 1784246400LL * US + 123456},
	{"1969-12-31T23:59:59.999999Z", -1},
	{"2000-02-29T12:00:00Z", 951825600LL * US},
	{"2024-02-29T00:00:00Z", 1709164800LL * US},
	/* RFC 3339, 5.7 and 5.8: the same leap second, twice. */
	{"1990-12-31T23:59:60Z", 662688000LL * US},
	{"1990-12-31T15:59:60-08:00", 662688000LL * US},
	{"0001-01-01T00:00:00Z", FIRST_US},
	{"9999-12-31T23:59:59.999999Z", LAST_US},
	{"9999-12-31T23:59:59.999999+23:59", LAST_US - (23 * 60 + 59) * 60LL * US},
};

Test(instant, parses_rfc_3339_with_an_offset)
{
	for (size_t i = 0; i < ARRAY_LEN(instants); i++) {
		int64_t us = 0;
		const char *why = instant_parse(slice_str(instants[i].text), &us);

		cr_expect_null(why, "%s: %s", instants[i].text, why);
		cr_expect_eq(us, instants[i].us, "%s: %lld", instants[i].text, (long long)us);
	}
}

static const struct {
	const char *text, *why;
} refused[] = {
	{"", "not a date"},
	{"yesterday", "not a date"},
	{"20260717T000000Z", "not a date"},
	{"0000-01-01T00:00:00Z", "not a date"},
	{"2026-00-01T00:00:00Z", "not a date"},
	{"2026-13-01T00:00:00Z", "not a date"},
	{"2026-07-00T00:00:00Z", "not a date"},
	{"2026-06-31T00:00:00Z", "not a date"},
	{"2026-02-29T00:00:00Z", "not a date"},
	{"1900-02-29T00:00:00Z", "not a date"},
	{" 2026-07-17T00:00:00Z", "not a date"},
	{"-026-07-17T00:00:00Z", "not a date"},
	{"2026-07-17", "no time of day"},
	{"2026-07-17Z", "not a time of day"},
	{"2026-07-17T00:00Z", "not a time of day"},
	{"2026-07-17T24:00:00Z", "not a time of day"},
	{"2026-07-17T00:60:00Z", "not a time of day"},
	{"2026-07-17T00:00:61Z", "not a time of day"},
	{"2026-07-17T00:00:00.Z", "not a time of day"},
	{"2026-07-17T00:00:00,5Z", "not an offset"},
	{"2026-07-17T00:00:00", "no offset"},
	{"2026-07-17T00:00:00.5", "no offset"},
	{"2026-07-17T00:00:00 Z", "not an offset"},
	{"2026-07-17T00:00:00+", "not an offset"},
	{"2026-07-17T00:00:00+2", "not an offset"},
	{"2026-07-17T00:00:00+24:00", "not an offset"},
	{"2026-07-17T00:00:00+02:60", "not an offset"},
	{"2026-07-17T00:00:00+02:", "not an offset"},
	{"2026-07-17T00:00:00+02:0", "not an offset"},
	{"2026-07-17T00:00:00CET", "not an offset"},
	{"2026-07-17T00:00:00Z ", "more text after the offset"},
	{"2026-07-17T00:00:00+02:00:00", "more text after the offset"},
	{"2026-07-17T00:00:00.0000001Z", "finer than a microsecond"},
	{"0001-01-01T00:00:00+00:01", "outside the years 0001 to 9999"},
	{"9999-12-31T23:59:60Z", "outside the years 0001 to 9999"},
	{"9999-12-31T23:59:59-00:01", "outside the years 0001 to 9999"},
};

Test(instant, refuses_all_else_and_says_why)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		int64_t us = 42;
		const char *why = instant_parse(slice_str(refused[i].text), &us);

		cr_assert_not_null(why, "%s was taken", refused[i].text);
		cr_expect_str_eq(why, refused[i].why, "%s: %s", refused[i].text, why);
		cr_expect_eq(us, 42, "%s: set although refused", refused[i].text);
	}
	cr_expect_not_null(instant_parse(SLICE_NULL, &(int64_t){0}));
}

Test(instant, no_prefix_of_an_instant_is_one)
{
	const char *text = "2026-07-17T00:00:00.123456+02:00";
	int64_t us;

	for (size_t n = 0; n < strlen(text); n++) {
		/* +02 is an offset. */
		bool whole_hours = n == strlen(text) - 3;

		cr_expect_eq(!instant_parse(slice_of(text, n), &us), whole_hours, "%zu bytes", n);
	}
}

static int64_t random_instant(struct random *r)
{
	int64_t us = FIRST_US + (int64_t)(random_next(r) % (uint64_t)(LAST_US - FIRST_US + 1));

	return random_below(r, 2) ? us : us - us % US;
}

Test(instant, format_and_parse_round_trip)
{
	struct random r = {.state = 1};

	for (int i = 0; i < 200000; i++) {
		int64_t us = random_instant(&r), again = 0;
		char text[INSTANT_TEXT_BYTES];
		size_t n = instant_format(us, text);

		cr_assert_eq(n, strlen(text));
		cr_assert_null(instant_parse(slice_of(text, n), &again), "%s", text);
		cr_assert_eq(us, again, "%s", text);
	}
}

Test(instant, agrees_with_timegm_at_any_offset)
{
	struct random r = {.state = 2};

	for (int i = 0; i < 200000; i++) {
		struct tm tm = {
			.tm_year = (int)random_below(&r, 9997) + 2 - 1900,
			.tm_mon = (int)random_below(&r, 12),
			.tm_mday = (int)random_below(&r, 28) + 1,
			.tm_hour = (int)random_below(&r, 24),
			.tm_min = (int)random_below(&r, 60),
			.tm_sec = (int)random_below(&r, 61),
		};
		int hours = (int)random_below(&r, 24), minutes = (int)random_below(&r, 60);
		int sign = random_below(&r, 2) ? 1 : -1;
		char text[80];
		int64_t us = 0;

		snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d",
			tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			tm.tm_sec, sign > 0 ? '+' : '-', hours, minutes);
		cr_assert_null(instant_parse(slice_str(text), &us), "%s", text);
		cr_assert_eq(us / US, timegm(&tm) - sign * (hours * 60 + minutes) * 60, "%s", text);
	}
}

Test(instant, agrees_with_gmtime_on_every_day_of_ten_millennia)
{
	for (time_t t = FIRST_US / US; t <= LAST_US / US; t += 86400) {
		char text[INSTANT_TEXT_BYTES], expected[INSTANT_TEXT_BYTES];
		struct tm tm;

		gmtime_r(&t, &tm);
		snprintf(expected, sizeof(expected), "%04d-%02d-%02dT00:00:00Z", tm.tm_year + 1900,
			tm.tm_mon + 1, tm.tm_mday);
		instant_format((int64_t)t * US, text);
		cr_assert_str_eq(text, expected);
	}
}

Test(instant, formats_the_fraction_only_where_there_is_one)
{
	char text[INSTANT_TEXT_BYTES];

	instant_format(1784246400LL * US, text);
	cr_expect_str_eq(text, "2026-07-17T00:00:00Z");
	instant_format(1784246400LL * US + 120, text);
	cr_expect_str_eq(text, "2026-07-17T00:00:00.000120Z");
	instant_format(-1, text);
	cr_expect_str_eq(text, "1969-12-31T23:59:59.999999Z");
}

Test(instant, formats_any_number_within_its_buffer)
{
	char text[INSTANT_TEXT_BYTES];

	cr_expect_lt(instant_format(INT64_MIN, text), sizeof(text));
	cr_expect_str_eq(text, "-290308-12-21T19:59:05.224192Z");
	cr_expect_lt(instant_format(INT64_MAX, text), sizeof(text));
	cr_expect_str_eq(text, "+294247-01-10T04:00:54.775807Z");
}

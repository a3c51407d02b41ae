/* Which reads the flags from --key to --older-than choose. */
#include <criterion/criterion.h>

#include "filter.h"
#include "instant.h"

#define NOW_US (1784246400LL * CONFIG_SECOND) /* 2026-07-17T00:00:00Z */
#define HOUR_US (3600 * CONFIG_SECOND)
#define KEY "MTR-1|2026-07-16T00:00:00Z|1"

/* A read that failed first five hours ago, last two hours ago. */
static struct record a_record(void)
{
	return (struct record){
		.idempotency_key = SLICE_LIT(KEY),
		.payload = SLICE_LIT("{\"kwh\":\"1\"}"),
		.reason = REASON_POISON,
		.attempts = 3,
		.first_seen_us = NOW_US - 5 * HOUR_US,
		.last_seen_us = NOW_US - 2 * HOUR_US,
		.dead_letter = {SLICE_LIT("meters.dead-letter"), 0, 7},
		.error = {SLICE_LIT("postgres"), SLICE_LIT("23514"), SLICE_LIT("no")},
	};
}

static bool chooses(const struct config *c, const struct record *r, const enum cause *cause)
{
	struct arena a = {0};
	struct decode_rules rules = {0};
	struct read_view view;
	struct filter f;
	struct err err = {0};

	cr_assert_eq(filter_parse(&a, c, NOW_US, &f, &err), 0, "%s", err.text);
	read_view_of(&a, &rules, r, &view);
	bool matches = filter_match(&f, r, cause, &view);
	arena_free(&a);
	return matches;
}

#define CHOOSES(...)                                                                               \
	({                                                                                         \
		struct record record_ = a_record();                                                \
		chooses(&(struct config){__VA_ARGS__}, &record_, NULL);                            \
	})

Test(filter, without_flags_chooses_every_read)
{
	cr_assert(CHOOSES(0));
}

Test(filter, a_pattern_has_stars_and_of_several_one_must_fit)
{
	cr_expect(CHOOSES(.chosen_key = KEY));
	cr_expect(CHOOSES(.chosen_key = "MTR-1|*"));
	cr_expect(CHOOSES(.chosen_key = "x,*|1"));
	cr_expect_not(CHOOSES(.chosen_key = "MTR-1"));
	cr_expect(CHOOSES(.chosen_meter = "MTR-1"));
	cr_expect(CHOOSES(.chosen_meter = "MTR-2,MTR-*"));
	cr_expect_not(CHOOSES(.chosen_meter = "MTR"));
	cr_expect(CHOOSES(.chosen_source = "meters.*"));
	cr_expect_not(CHOOSES(.chosen_source = "meters"));
	cr_expect(CHOOSES(.reason = "poison"));
	cr_expect_not(CHOOSES(.reason = "permanent_4xx,retries*"));
}

Test(filter, a_code_may_be_the_errors_code_or_its_class)
{
	struct record none = a_record();

	none.error = (struct record_error){SLICE_NULL, SLICE_NULL, SLICE_NULL};
	cr_expect(CHOOSES(.chosen_code = "23*"));
	cr_expect(CHOOSES(.chosen_code = "postgres"));
	cr_expect_not(CHOOSES(.chosen_code = "42*"));
	cr_expect_not(chooses(&(struct config){.chosen_code = "*"}, &none, NULL));
}

Test(filter, a_live_entry_has_no_cause)
{
	struct record r = a_record();
	enum cause conflict = CAUSE_CONFLICT;

	cr_expect(chooses(&(struct config){.chosen_cause = "conflict"}, &r, &conflict));
	cr_expect(chooses(&(struct config){.chosen_cause = "con*,expired"}, &r, &conflict));
	cr_expect_not(chooses(&(struct config){.chosen_cause = "expired"}, &r, &conflict));
	cr_expect_not(chooses(&(struct config){.chosen_cause = "*"}, &r, NULL));
}

Test(filter, attempts_are_a_number_or_a_range_with_both_ends)
{
	static const char *const yes[] = {"3", "3..", "..3", "2..4", "3..3"};
	static const char *const no[] = {"2", "4..", "..2", "4..9", "30"};

	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		cr_expect(CHOOSES(.chosen_attempts = yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		cr_expect_not(CHOOSES(.chosen_attempts = no[i]), "%s", no[i]);
}

Test(filter, since_and_until_are_about_the_last_failure_and_older_than_about_the_first)
{
	cr_expect(CHOOSES(.chosen_since = "2h"));
	cr_expect_not(CHOOSES(.chosen_since = "119m"));
	cr_expect(CHOOSES(.chosen_until = "119m"));
	cr_expect_not(CHOOSES(.chosen_until = "2h"));
	cr_expect(CHOOSES(.chosen_since = "2026-07-16", .chosen_until = "2026-07-17"));
	cr_expect(CHOOSES(.older_than = 4 * HOUR_US));
	cr_expect_not(CHOOSES(.older_than = 5 * HOUR_US));
}

Test(filter, the_reads_own_time_is_from_the_first_to_before_the_second)
{
	cr_expect(CHOOSES(.chosen_from = "2026-07-16", .chosen_to = "2026-07-16T00:00:01Z"));
	cr_expect(CHOOSES(.chosen_day = "2026-07-16"));
	cr_expect_not(CHOOSES(.chosen_to = "2026-07-16"));
	cr_expect_not(CHOOSES(.chosen_from = "2026-07-16T00:00:00.000001Z"));
	cr_expect_not(CHOOSES(.chosen_day = "2026-07-15"));
}

Test(filter, the_meter_of_an_unreadable_read_is_that_of_its_own_key_else_unknown)
{
	struct record r = a_record();

	r.payload = SLICE_LIT("\xff");
	r.idempotency_key = SLICE_LIT("meters.dead-letter-0-7");
	cr_expect_not(chooses(&(struct config){.chosen_meter = "*"}, &r, NULL));
	cr_expect_not(chooses(&(struct config){.chosen_from = "0001-01-01"}, &r, NULL));
	r.record_key = SLICE_LIT(KEY);
	cr_expect(chooses(&(struct config){.chosen_meter = "MTR-1"}, &r, NULL));
	cr_expect(chooses(&(struct config){.chosen_day = "2026-07-16"}, &r, NULL));
}

#define REFUSED(says, ...)                                                                         \
	({                                                                                         \
		struct arena arena_ = {0};                                                         \
		struct filter filter_;                                                             \
		struct err err_ = {0};                                                             \
		cr_expect_eq(filter_parse(&arena_, &(struct config){__VA_ARGS__}, NOW_US,          \
				     &filter_, &err_),                                             \
			ERR_CONFIG);                                                               \
		cr_expect(strstr(err_.text, says), "%s", err_.text);                               \
		arena_free(&arena_);                                                               \
	})

Test(filter, what_is_wrong_is_refused_with_the_flag_and_what_it_takes)
{
	REFUSED("--meter: \"a,,b\" has an empty item", .chosen_meter = "a,,b");
	REFUSED("--key: \"\" has an empty item", .chosen_key = "");
	REFUSED("--reason: \"poisen\" fits none of retries_exhausted, permanent_4xx, poison",
		.reason = "poisen");
	REFUSED("--cause: \"x\" fits none of poison_cap, permanent,", .chosen_cause = "conflict,x");
	REFUSED("--attempts: \"many\" is none of N, N..", .chosen_attempts = "many");
	REFUSED("--attempts", .chosen_attempts = "..");
	REFUSED("--attempts", .chosen_attempts = "4..3");
	REFUSED("--attempts", .chosen_attempts = "3.");
	REFUSED("--attempts", .chosen_attempts = "");
	REFUSED("--attempts", .chosen_attempts = "9999999999");
	REFUSED("--since: \"soon\": not a date; give", .chosen_since = "soon");
	REFUSED("--until", .chosen_until = "2026-07-17T00:00:00");
	REFUSED("--read-from", .chosen_from = "x");
	REFUSED("--read-to", .chosen_to = "x");
	REFUSED("--day: \"2h\" is not a date such as", .chosen_day = "2h");
	REFUSED("--day is --read-from", .chosen_day = "2026-07-17", .chosen_from = "2026-07-17");
	REFUSED("--since is not before --until", .chosen_since = "1h", .chosen_until = "2h");
	REFUSED("--read-from is not before --read-to", .chosen_from = "1h", .chosen_to = "2h");
}

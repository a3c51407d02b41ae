/* Counts and sums by group. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tally.h"

static void add(struct tally *t, bool parked, const char *group, const char *meter,
	const char *type, const char *kwh, int64_t first_us)
{
	const struct tally_read read = {.parked = parked,
		.group = slice_str(group),
		.meter = slice_str(meter),
		.reading_type = slice_str(type),
		.kwh = slice_str(kwh),
		.first_seen_us = first_us};

	tally_add(t, &read);
}

static bool row_is(const struct tally_row *r, const char *group, uint64_t reads, uint64_t meters,
	uint64_t unknown, uint64_t unreadable, int64_t oldest_us)
{
	return slice_eq(r->group, slice_str(group)) && r->reads == reads && r->meters == meters &&
	       r->unknown_meters == unknown && r->unreadable == unreadable &&
	       r->oldest_us == oldest_us;
}

static bool sum_is(const struct tally_sum *s, const char *type, const char *kwh)
{
	CLEANUP(buf_free) struct buf text = {0};

	decimal_sum_text(&s->kwh, &text);
	return slice_eq(s->reading_type, slice_str(type)) &&
	       slice_eq(slice_of(text.p, text.n), slice_str(kwh));
}

Test(tally, counts_reads_and_meters_of_each_group_and_puts_the_largest_first)
{
	CLEANUP(tally_free) struct tally t = {0};
	CLEANUP(arena_free) struct arena a = {0};
	const struct tally_row **rows;
	size_t n;

	add(&t, false, "few", "M1", NULL, "1", 5);
	add(&t, false, "many", "M1", NULL, "1", 9);
	add(&t, false, "many", "M2", NULL, "1", 7);
	add(&t, false, "many", "M2", NULL, "1", 8);
	add(&t, true, "many", "M1", NULL, "1", 3);
	add(&t, false, NULL, "M1", NULL, "1", 6);
	rows = tally_rows(&t, &a, &n);
	cr_assert_eq(n, 4);
	cr_expect(row_is(rows[0], "many", 3, 2, 0, 0, 7));
	cr_expect(row_is(rows[1], NULL, 1, 1, 0, 0, 6));
	cr_expect(row_is(rows[2], "few", 1, 1, 0, 0, 5));
	cr_expect(rows[3]->parked && row_is(rows[3], "many", 1, 1, 0, 0, 3));
}

Test(tally, adds_amounts_of_one_reading_type_exactly_and_never_of_two)
{
	CLEANUP(tally_free) struct tally t = {0};
	CLEANUP(arena_free) struct arena a = {0};
	const struct tally_row **rows;
	const struct tally_sum **sums;
	size_t n;

	add(&t, false, "g", "M", "import", "0.1", 1);
	add(&t, false, "g", "M", "import", "0.2", 1);
	add(&t, false, "g", "M", "export", "-5", 1);
	add(&t, false, "g", "M", NULL, "7", 1);
	add(&t, false, "g", "M", "", "8", 1);
	add(&t, false, "h", "M", "import", "9", 1);
	rows = tally_rows(&t, &a, &n);
	sums = tally_sums(&t, rows[0], &a, &n);
	cr_assert_eq(n, 4);
	cr_expect(sum_is(sums[0], NULL, "7"));
	cr_expect(sum_is(sums[1], "", "8"));
	cr_expect(sum_is(sums[2], "export", "-5"));
	cr_expect(sum_is(sums[3], "import", "0.3"));
}

Test(tally, keeps_unknown_meters_and_unreadable_amounts_apart)
{
	CLEANUP(tally_free) struct tally t = {0};
	CLEANUP(arena_free) struct arena a = {0};
	const struct tally_row **rows;
	size_t n;

	add(&t, true, "g", NULL, NULL, NULL, 1);
	add(&t, true, "g", NULL, NULL, NULL, 1);
	add(&t, true, "g", "M", NULL, NULL, 1);
	add(&t, true, "g", "", NULL, "1e5000", 1);
	rows = tally_rows(&t, &a, &n);
	cr_assert_eq(n, 1);
	cr_expect(row_is(rows[0], "g", 4, 2, 2, 4, 1));
}

Test(tally, an_expected_row_is_there_with_and_without_reads)
{
	CLEANUP(tally_free) struct tally t = {0};
	CLEANUP(arena_free) struct arena a = {0};
	const struct tally_row **rows;
	size_t n;

	tally_expect(&t, true);
	tally_expect(&t, false);
	add(&t, true, NULL, "M", NULL, "1", 4);
	rows = tally_rows(&t, &a, &n);
	cr_assert_eq(n, 2);
	cr_expect(!rows[0]->parked && row_is(rows[0], NULL, 0, 0, 0, 0, INT64_MAX));
	cr_expect(rows[1]->parked && row_is(rows[1], NULL, 1, 1, 0, 0, 4));
}

Test(tally, of_ten_thousand_groups_finds_each_again)
{
	CLEANUP(tally_free) struct tally t = {0};
	CLEANUP(arena_free) struct arena a = {0};
	const struct tally_row **rows;
	char group[32];
	size_t n;

	for (int i = 0; i < 20000; i++) {
		snprintf(group, sizeof(group), "group-%d", i % 10000);
		add(&t, false, group, i < 10000 ? "M1" : "M2", "t", "0.5", i);
	}
	rows = tally_rows(&t, &a, &n);
	cr_assert_eq(n, 10000);
	for (size_t i = 0; i < n; i++)
		cr_assert(rows[i]->reads == 2 && rows[i]->meters == 2);
}

#include <criterion/criterion.h>

#include "rate.h"

Test(rate, without_a_limit_all_may_go)
{
	struct rate r = {0};

	cr_assert_eq(rate_available(&r, 5), SIZE_MAX);
	rate_use(&r, 1000);
	cr_assert_eq(rate_available(&r, 5), SIZE_MAX);
}

Test(rate, over_ten_seconds_no_more_than_eleven_seconds_worth_goes)
{
	struct rate r = {.per_second = 300};
	size_t gone = 0;

	for (int64_t now = 1; now <= 10000000; now += 7001) {
		size_t n = rate_available(&r, now);

		n = n > 50 ? 50 : n;
		rate_use(&r, n);
		gone += n;
	}
	cr_assert_leq(gone, 3300);
	cr_assert_geq(gone, 2990);
}

Test(rate, a_pause_saves_up_one_second_at_most)
{
	struct rate r = {.per_second = 10};

	rate_use(&r, rate_available(&r, 1));
	cr_assert_eq(rate_available(&r, 1), 0);
	cr_assert_eq(rate_available(&r, 100001), 1);
	cr_assert_eq(rate_available(&r, 3600000001), 10);
}

#include <criterion/criterion.h>

#include "histogram.h"

Test(histogram, a_duration_falls_into_the_first_bucket_whose_bound_it_does_not_pass)
{
	struct histogram h = {0};

	for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
		histogram_add(&h, histogram_bounds_us[i]);
		histogram_add(&h, histogram_bounds_us[i] + 1);
	}
	cr_expect_eq(h.buckets[0], 1);
	for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++)
		cr_expect_eq(h.buckets[i], 2, "bucket %zu", i);
	cr_expect_eq(h.buckets[HISTOGRAM_BOUNDS], 1);
}

Test(histogram, the_sum_is_in_microseconds_and_never_goes_back)
{
	struct histogram h = {0};

	histogram_add(&h, 5);
	histogram_add(&h, 7);
	histogram_add(&h, -3);
	cr_expect_eq(h.sum_us, 12);
	cr_expect_eq(h.buckets[0], 3);
}

Test(histogram, bounds_ascend)
{
	for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++)
		cr_expect_gt(histogram_bounds_us[i], histogram_bounds_us[i - 1]);
}

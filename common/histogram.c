#include "histogram.h"

const int64_t histogram_bounds_us[HISTOGRAM_BOUNDS] = {1000, 2500, 5000, 10000, 25000, 50000,
	100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000};

void histogram_add(struct histogram *h, int64_t duration_us)
{
	size_t i = 0;

	while (i < HISTOGRAM_BOUNDS && duration_us > histogram_bounds_us[i])
		i++;
	h->buckets[i]++;
	h->sum_us += duration_us > 0 ? (uint64_t)duration_us : 0;
}

#include "rate.h"

#define SECOND_US 1000000

size_t rate_available(struct rate *r, int64_t now_us)
{
	uint64_t full = r->per_second * SECOND_US;
	int64_t since_us = now_us - r->seen_us;

	if (!r->per_second)
		return SIZE_MAX;
	if (!r->seen_us || since_us >= SECOND_US)
		r->credit = full;
	else
		r->credit += (uint64_t)since_us * r->per_second;
	if (r->credit > full)
		r->credit = full;
	r->seen_us = now_us;
	return r->credit / SECOND_US;
}

void rate_use(struct rate *r, size_t n)
{
	uint64_t used = n * SECOND_US;

	r->credit = used < r->credit ? r->credit - used : 0;
}

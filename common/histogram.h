/* histogram.h: how often something took how long, in fixed buckets. Plain data; one thread. */
#ifndef COMMON_HISTOGRAM_H
#define COMMON_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* 1 ms to 30 s, and above: one set for calls of Postgres and transactions of Kafka. */
#define HISTOGRAM_BOUNDS 14
#define HISTOGRAM_BUCKETS (HISTOGRAM_BOUNDS + 1)

struct histogram {
	uint64_t buckets[HISTOGRAM_BUCKETS]; /* not cumulative; the last has no bound */
	uint64_t sum_us;
};

/* The upper bounds, inclusive, ascending. */
extern const int64_t histogram_bounds_us[HISTOGRAM_BOUNDS];

/* A negative duration counts as 0. */
void histogram_add(struct histogram *h, int64_t duration_us);

#endif

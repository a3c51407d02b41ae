/* kafka_stats.h: the few numbers that we show of librdkafka's statistics (its STATISTICS.md). */
#ifndef COMMON_KAFKA_STATS_H
#define COMMON_KAFKA_STATS_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

/* Of one handle, over all its brokers. */
struct kafka_stats {
	uint64_t brokers_up;	    /* connected */
	uint64_t rtt_us;	    /* mean of the slowest broker in the last window */
	uint64_t waiting;	    /* requests queued or in flight */
	uint64_t timeouts, retries; /* since the handle was opened */
};

/* ERR_DATA where the JSON is not as documented; a number that is missing counts as 0. */
MUST_CHECK int kafka_stats_parse(
	const char *json, size_t n, struct kafka_stats *ret, struct err *err);

#endif

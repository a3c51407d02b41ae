/* rate.h: a token bucket: so many a second, and never more than one second's worth at once. Pure.
 */
#ifndef COMMON_RATE_H
#define COMMON_RATE_H

#include <stddef.h>
#include <stdint.h>

struct rate {
	uint64_t per_second; /* 0: no limit */
	uint64_t credit;     /* millionths of one */
	int64_t seen_us;     /* steady; 0: not yet */
};

/* How many may go now; SIZE_MAX without a limit. now_us: a clock that never goes back. */
size_t rate_available(struct rate *r, int64_t now_us);
/* n went. */
void rate_use(struct rate *r, size_t n);

#endif

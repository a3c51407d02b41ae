/* clock.h: the seam for time and chance. */
#ifndef WORKER_CLOCK_H
#define WORKER_CLOCK_H

#include <stdint.h>

struct clock;
struct clock_ops {
	int64_t (*now_us)(struct clock *);    /* wall clock, microseconds since 1970 */
	int64_t (*steady_us)(struct clock *); /* never goes back; for durations */
	uint64_t (*random)(struct clock *);
};
struct clock {
	const struct clock_ops *ops;
};

/* The system's clock and random source. Static; nobody frees it. */
struct clock *clock_system(void);

static inline int64_t clock_now_us(struct clock *c)
{
	return c->ops->now_us(c);
}
static inline int64_t clock_steady_us(struct clock *c)
{
	return c->ops->steady_us(c);
}
static inline uint64_t clock_random(struct clock *c)
{
	return c->ops->random(c);
}

#endif

/* rng.h: seeded chance (splitmix64, Steele et al. 2014). The same seed gives the same run. */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* 0 <= result < n; 0 for n = 0. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

/* from <= result <= to. */
static inline int64_t rng_between(struct rng *r, int64_t from, int64_t to)
{
	return from + (int64_t)rng_below(r, (uint64_t)(to - from) + 1);
}

static inline bool rng_percent(struct rng *r, unsigned percent)
{
	return rng_below(r, 100) < percent;
}

#endif

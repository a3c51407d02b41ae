#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

static int64_t read_clock_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int64_t system_now_us(struct clock *c)
{
	(void)c;
	return read_clock_us(CLOCK_REALTIME);
}

static int64_t system_steady_us(struct clock *c)
{
	(void)c;
	/* CLOCK_MONOTONIC stands still while a machine is suspended, tombstones do not. */
	return read_clock_us(CLOCK_BOOTTIME);
}

static uint64_t system_random(struct clock *c)
{
	uint64_t r;

	(void)c;
	/* Up to 256 bytes are never short (getrandom(2)); only a signal during early boot fails. */
	while (getrandom(&r, sizeof(r), 0) != sizeof(r))
		if (errno != EINTR) {
			perror("meter-dlq: getrandom");
			abort();
		}
	return r;
}

struct clock *clock_system(void)
{
	static const struct clock_ops ops = {
		.now_us = system_now_us,
		.steady_us = system_steady_us,
		.random = system_random,
	};
	static struct clock clock = {.ops = &ops};

	return &clock;
}

#include "breaker.h"

/* Full jitter: anywhere up to the exponential bound, so that workers do not come back together. */
static int64_t delay_us(uint32_t failures, uint64_t random)
{
	int64_t bound = BREAKER_INITIAL_US;

	for (uint32_t i = 1; i < failures && bound < BREAKER_MAX_US; i++)
		bound *= 2;
	if (bound > BREAKER_MAX_US)
		bound = BREAKER_MAX_US;
	return (int64_t)(random % (uint64_t)(bound + 1));
}

void breaker_unproven(struct breaker *b, int64_t now_us)
{
	*b = (struct breaker){.state = BREAKER_OPEN, .opened_us = now_us, .retry_us = now_us};
}

void breaker_fail(struct breaker *b, int64_t now_us, uint64_t random)
{
	if (b->state == BREAKER_CLOSED) {
		b->failures = 0;
		b->opened_us = now_us;
	}
	b->state = BREAKER_OPEN;
	b->failures++;
	b->retry_us = now_us + delay_us(b->failures, random);
}

void breaker_ok(struct breaker *b)
{
	*b = (struct breaker){.state = BREAKER_CLOSED};
}

void breaker_cancel_probe(struct breaker *b)
{
	if (b->state == BREAKER_HALF_OPEN)
		b->state = BREAKER_OPEN;
}

bool breaker_probe_due(struct breaker *b, int64_t now_us)
{
	if (b->state != BREAKER_OPEN || now_us < b->retry_us)
		return false;
	b->state = BREAKER_HALF_OPEN;
	return true;
}

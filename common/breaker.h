/*
 * breaker.h: the circuit breaker before the sink. Closed: calls pass. Open: nothing is sent until
 * the backoff (exponential, full jitter) is over. Half-open: one probe, an empty call. Pure.
 */
#ifndef COMMON_BREAKER_H
#define COMMON_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum breaker_state { BREAKER_CLOSED = 0, BREAKER_OPEN, BREAKER_HALF_OPEN };

struct breaker {
	enum breaker_state state;
	uint32_t failures; /* in a row, while not closed */
	int64_t opened_us; /* when it left closed */
	int64_t retry_us;  /* OPEN: when to probe */
};
#define BREAKER_INITIAL_US (200ll * 1000)
#define BREAKER_MAX_US (30ll * 1000 * 1000)

/* At the start nothing is known: open, and the probe is due at once. */
void breaker_unproven(struct breaker *b, int64_t now_us);
/* An outage was seen. random: any 64 random bits. */
void breaker_fail(struct breaker *b, int64_t now_us, uint64_t random);
/* A call or a probe succeeded. */
void breaker_ok(struct breaker *b);
/* The probe's answer will not be known: HALF_OPEN goes back to OPEN, and may probe at once. */
void breaker_cancel_probe(struct breaker *b);
/* Whether it is time to probe: moves OPEN to HALF_OPEN and says so once. */
bool breaker_probe_due(struct breaker *b, int64_t now_us);

#endif

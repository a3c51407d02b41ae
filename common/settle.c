#include "settle.h"

#include "hash.h"
#include "utf8.h"

void record_bump(struct record *r, enum reason reason, int64_t now_us)
{
	if (r->attempts < UINT32_MAX)
		r->attempts++;
	if (r->reason != REASON_PERMANENT_4XX)
		r->reason = reason;
	if (now_us > r->last_seen_us)
		r->last_seen_us = now_us;
}

int64_t replay_backoff_us(const struct replay_rules *rules, uint32_t replays, struct slice key)
{
	int64_t delay = rules->backoff_initial_us;
	int64_t half;

	for (uint32_t i = 1; i < replays && delay < rules->backoff_max_us; i++)
		if (__builtin_mul_overflow(delay, (int64_t)rules->backoff_factor, &delay))
			delay = rules->backoff_max_us;
	if (delay > rules->backoff_max_us)
		delay = rules->backoff_max_us;
	half = delay / 2;
	return half + (int64_t)(((__int128)half * hash_murmur2(key)) >> 32);
}

bool settle_expired(
	const struct replay_rules *rules, int64_t last_us, int64_t due_us, int64_t now_us)
{
	int64_t horizon = now_us - rules->expire_after_us;

	return last_us < horizon && due_us < horizon;
}

static const struct record *failed_record(struct arena *a, const struct replay_rules *rules,
	const struct record *r, const struct outcome *outcome, int64_t now_us)
{
	struct record *next = arena_alloc(a, sizeof(*next));

	*next = *r;
	record_bump(next, REASON_POISON, now_us);
	if (next->replays < UINT16_MAX)
		next->replays++;
	next->due_us = now_us + replay_backoff_us(rules, next->replays, r->idempotency_key);
	next->error.class = SLICE_LIT("postgres");
	next->error.code = slice_of(outcome->code, strlen(outcome->code));
	next->error_cut = 0;
	next->error.message =
		utf8_clean(a, outcome->message, RECORD_ERROR_MESSAGE_BYTES, &next->error_cut);
	return next;
}

struct settle settle_outcome(struct arena *a, const struct replay_rules *rules,
	const struct record *r, const struct outcome *outcome, int64_t now_us)
{
	const struct record *next;

	switch (outcome->kind) {
	case OUTCOME_COMMITTED:
	case OUTCOME_DUPLICATE:
		return (struct settle){.action = SETTLE_LEAVE};
	case OUTCOME_CONFLICT:
		return (struct settle){SETTLE_PARK, CAUSE_CONFLICT, r};
	case OUTCOME_FAILED:
		next = failed_record(a, rules, r, outcome, now_us);
		if (next->attempts >= rules->poison_cap)
			return (struct settle){SETTLE_PARK, CAUSE_POISON_CAP, next};
		return (struct settle){.action = SETTLE_PUT, .record = next};
	case OUTCOME_OUTAGE:
	case OUTCOME_INVALID:
	default:
		return (struct settle){.action = SETTLE_KEEP};
	}
}

#include <criterion/criterion.h>
#include <stdio.h>

#include "settle.h"

static const struct replay_rules RULES = {.poison_cap = 5,
	.backoff_initial_us = 300000000,
	.backoff_max_us = 43200000000,
	.backoff_factor = 6,
	.expire_after_us = 1000};

static struct record entry(uint32_t attempts)
{
	return (struct record){.idempotency_key = SLICE_LIT("M|2026-01-01T00:00:00Z|1"),
		.reason = REASON_RETRIES_EXHAUSTED,
		.attempts = attempts,
		.replays = attempts - 1,
		.first_seen_us = 10,
		.last_seen_us = 20,
		.due_us = 30};
}

static struct settle settle(uint32_t attempts, enum outcome_kind kind)
{
	/* The result borrows from them. */
	static struct outcome o;
	static struct record r;
	static struct arena arena;

	arena_reset(&arena);
	r = entry(attempts);
	o = (struct outcome){.kind = kind, .code = "23514", .message = SLICE_LIT("check")};
	return settle_outcome(&arena, &RULES, &r, &o, 100);
}

Test(settle, committed_and_duplicate_leave)
{
	cr_assert_eq(settle(1, OUTCOME_COMMITTED).action, SETTLE_LEAVE);
	cr_assert_eq(settle(1, OUTCOME_DUPLICATE).action, SETTLE_LEAVE);
}

Test(settle, a_conflict_is_parked_as_it_was)
{
	struct settle s = settle(2, OUTCOME_CONFLICT);

	cr_assert_eq(s.action, SETTLE_PARK);
	cr_assert_eq(s.cause, CAUSE_CONFLICT);
	cr_assert_eq(s.record->attempts, 2);
}

Test(settle, an_outage_and_a_forgotten_outcome_change_nothing)
{
	cr_assert_eq(settle(4, OUTCOME_OUTAGE).action, SETTLE_KEEP);
	cr_assert_eq(settle(4, OUTCOME_INVALID).action, SETTLE_KEEP);
}

Test(settle, a_failure_is_one_attempt_more_and_due_later)
{
	struct settle s = settle(1, OUTCOME_FAILED);

	cr_assert_eq(s.action, SETTLE_PUT);
	cr_assert_eq(s.record->attempts, 2);
	cr_assert_eq(s.record->replays, 1);
	cr_assert_eq(s.record->reason, REASON_POISON);
	cr_assert_eq(s.record->first_seen_us, 10);
	cr_assert_eq(s.record->last_seen_us, 100);
	cr_assert_geq(s.record->due_us, 100 + RULES.backoff_initial_us / 2);
	cr_assert(slice_eq(s.record->error.code, SLICE_LIT("23514")));
}

Test(settle, the_failure_that_reaches_the_cap_parks)
{
	cr_assert_eq(settle(3, OUTCOME_FAILED).action, SETTLE_PUT);
	cr_assert_eq(settle(4, OUTCOME_FAILED).action, SETTLE_PARK);
	cr_assert_eq(settle(4, OUTCOME_FAILED).cause, CAUSE_POISON_CAP);
	cr_assert_eq(settle(10000, OUTCOME_FAILED).action, SETTLE_PARK, "merges went past it");
}

Test(settle, bump_never_lowers_anything)
{
	for (int64_t now = 0; now < 50; now++) {
		struct record r = entry(3);

		record_bump(&r, REASON_POISON, now);
		cr_assert_eq(r.attempts, 4);
		cr_assert_eq(r.first_seen_us, 10);
		cr_assert_eq(r.last_seen_us, now > 20 ? now : 20);
		r.attempts = UINT32_MAX;
		record_bump(&r, REASON_POISON, now);
		cr_assert_eq(r.attempts, UINT32_MAX);
	}
}

Test(settle, bump_keeps_permanent)
{
	struct record r = entry(1);

	r.reason = REASON_PERMANENT_4XX;
	record_bump(&r, REASON_POISON, 100);
	cr_assert_eq(r.reason, REASON_PERMANENT_4XX);
}

Test(settle, backoff_is_half_fixed_half_jitter_and_grows_to_its_maximum)
{
	int64_t nominal[] = {300000000, 1800000000, 10800000000, 43200000000, 43200000000};

	for (uint32_t i = 0; i < 5; i++) {
		int64_t least = INT64_MAX, most = 0;

		for (int k = 0; k < 1000; k++) {
			char key[16];
			int n = snprintf(key, sizeof(key), "key-%d", k);
			int64_t d = replay_backoff_us(&RULES, i + 1, slice_of(key, (size_t)n));

			least = d < least ? d : least;
			most = d > most ? d : most;
		}
		cr_expect_geq(least, nominal[i] / 2);
		cr_expect_lt(least, nominal[i] / 2 + nominal[i] / 100);
		cr_expect_leq(most, nominal[i]);
		cr_expect_gt(most, nominal[i] - nominal[i] / 100);
	}
}

Test(settle, backoff_does_not_overflow)
{
	struct replay_rules rules = RULES;

	rules.backoff_factor = UINT32_MAX;
	cr_assert_leq(replay_backoff_us(&rules, UINT32_MAX, SLICE_LIT("k")), rules.backoff_max_us);
	cr_assert_gt(replay_backoff_us(&rules, UINT32_MAX, SLICE_LIT("k")), 0);
}

Test(settle, expires_only_when_both_times_are_old)
{
	cr_assert(settle_expired(&RULES, 10, 10, 2000));
	cr_assert_not(settle_expired(&RULES, 10, 1500, 2000), "due lately: not tried yet");
	cr_assert_not(settle_expired(&RULES, 1500, 10, 2000));
	cr_assert_not(settle_expired(&RULES, 1000, 1000, 2000), "exactly at the limit");
}

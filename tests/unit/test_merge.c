#include <criterion/criterion.h>

#include "merge.h"

static const struct key128 KEY = {1, 2};

static struct decoded dead_letter(int64_t seen_us, enum reason reason)
{
	return (struct decoded){.record = {.reason = reason,
					.attempts = 1,
					.first_seen_us = seen_us,
					.last_seen_us = seen_us,
					.due_us = 1000,
					.content = 7}};
}

static struct ticket parked(enum cause cause)
{
	return (struct ticket){.key = KEY,
		.content = 7,
		.state = TICKET_PARKED,
		.cause = (uint8_t)cause,
		.first_us = 10,
		.last_us = 90,
		.attempts = 5,
		.replays = 4};
}

Test(merge, a_first_dead_letter_is_a_new_entry_with_one_attempt)
{
	struct decoded d = dead_letter(50, REASON_RETRIES_EXHAUSTED);
	struct merge m = merge_dead_letter(NULL, &d, KEY, false);

	cr_assert_eq(m.action, MERGE_NEW);
	cr_assert_eq(m.ticket.attempts, 1);
	cr_assert_eq(m.ticket.first_us, 50);
	cr_assert_eq(m.ticket.due_us, 1000);
}

Test(merge, a_reread_without_ticket_is_taken_in_as_new)
{
	struct decoded d = dead_letter(50, REASON_RETRIES_EXHAUSTED);

	cr_assert_eq(merge_dead_letter(NULL, &d, KEY, true).action, MERGE_NEW);
}

Test(merge, a_second_dead_letter_raises_attempts_and_keeps_due_and_replays)
{
	struct decoded d = dead_letter(50, REASON_POISON);
	struct ticket live = {.state = TICKET_LIVE,
		.attempts = 3,
		.replays = 2,
		.due_us = 777,
		.first_us = 40,
		.last_us = 45,
		.content = 7};
	struct merge m = merge_dead_letter(&live, &d, KEY, false);

	cr_assert_eq(m.action, MERGE_BUMP);
	cr_assert_eq(m.ticket.attempts, 4);
	cr_assert_eq(m.ticket.replays, 2);
	cr_assert_eq(m.ticket.due_us, 777);
	cr_assert_eq(m.ticket.first_us, 40);
	cr_assert_eq(m.ticket.last_us, 50);
	cr_assert_eq(m.ticket.reason, REASON_POISON);
}

Test(merge, a_reread_of_a_live_entry_changes_nothing)
{
	struct decoded d = dead_letter(50, REASON_PERMANENT_4XX);
	struct ticket live = {.state = TICKET_LIVE, .attempts = 3};
	struct merge m = merge_dead_letter(&live, &d, KEY, true);

	cr_assert_eq(m.action, MERGE_SEEN);
	cr_assert(ticket_eq(&m.ticket, &live));
}

Test(merge, permanent_parks_at_once_and_takes_the_live_entry_with_it)
{
	struct decoded d = dead_letter(50, REASON_PERMANENT_4XX);
	struct ticket live = {.state = TICKET_LIVE, .attempts = 1, .last_us = 60};
	struct merge fresh = merge_dead_letter(NULL, &d, KEY, false);
	struct merge merged = merge_dead_letter(&live, &d, KEY, false);

	cr_assert_eq(fresh.action, MERGE_PARK);
	cr_assert_not(fresh.was_live);
	cr_assert_eq(fresh.ticket.cause, CAUSE_PERMANENT);
	cr_assert_eq(merged.action, MERGE_PARK);
	cr_assert(merged.was_live);
	cr_assert_eq(merged.ticket.reason, REASON_PERMANENT_4XX);
	cr_assert_eq(merged.ticket.attempts, 2);
}

Test(merge, what_is_unfit_parks_with_its_cause)
{
	struct decoded d = dead_letter(50, REASON_RETRIES_EXHAUSTED);

	d.unfit = true;
	d.cause = CAUSE_MALFORMED;
	cr_assert_eq(merge_dead_letter(NULL, &d, KEY, false).action, MERGE_PARK);
	cr_assert_eq(merge_dead_letter(NULL, &d, KEY, false).ticket.cause, CAUSE_MALFORMED);
}

Test(merge, only_a_reread_of_capped_or_expired_reopens)
{
	struct decoded d = dead_letter(50, REASON_RETRIES_EXHAUSTED);

	for (int cause = 0; cause < CAUSE_COUNT; cause++) {
		struct ticket t = parked(cause);
		bool reopens = cause == CAUSE_POISON_CAP || cause == CAUSE_EXPIRED;

		cr_expect_eq(merge_dead_letter(&t, &d, KEY, true).action,
			reopens ? MERGE_REDRIVE : MERGE_SEEN, "cause %s", cause_name(cause));
		cr_expect_eq(merge_dead_letter(&t, &d, KEY, false).action, MERGE_SEEN);
		t.state = TICKET_RESOLVED;
		cr_expect_eq(merge_dead_letter(&t, &d, KEY, true).action, MERGE_SEEN);
	}
}

Test(merge, a_permanent_reread_does_not_reopen)
{
	struct decoded d = dead_letter(50, REASON_PERMANENT_4XX);
	struct ticket t = parked(CAUSE_POISON_CAP);

	cr_assert_eq(merge_dead_letter(&t, &d, KEY, true).action, MERGE_SEEN);
}

Test(merge, another_round_keeps_first_seen_and_counts_from_one)
{
	struct decoded d = dead_letter(50, REASON_RETRIES_EXHAUSTED);
	struct ticket t = parked(CAUSE_EXPIRED);
	struct merge m = merge_dead_letter(&t, &d, KEY, true);

	cr_assert_eq(m.ticket.first_us, 10);
	cr_assert_eq(m.ticket.attempts, 1);
	cr_assert_eq(m.ticket.replays, 0);
	cr_assert_eq(m.ticket.due_us, 1000);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Folds dead letters in the given order, as one batch does. */
static struct merge fold(
	const struct ticket *live, const struct decoded *d, const int *order, int n)
{
	struct merge all = {.action = MERGE_SEEN};

	for (int i = 0; i < n; i++) {
		const struct ticket *existing = all.action == MERGE_SEEN ? live : &all.ticket;
		struct merge m = merge_dead_letter(existing, &d[order[i]], KEY, false);

		all = merge_combine(&all, &m);
	}
	return all;
}

Test(merge, commutes_in_counters_times_and_reason)
{
	uint64_t seed = 7;

	for (int round = 0; round < 5000; round++) {
		struct decoded d[4];
		int order[4] = {0, 1, 2, 3};
		struct ticket live = {.key = KEY,
			.state = TICKET_LIVE,
			.content = 7,
			.attempts = 2,
			.first_us = 20,
			.last_us = (int64_t)(next_random(&seed) % 6)};
		struct merge straight, shuffled;

		for (int i = 0; i < 4; i++)
			d[i] = dead_letter((int64_t)(next_random(&seed) % 6),
				next_random(&seed) % 8 ? (next_random(&seed) % 2) * 2
						       : REASON_PERMANENT_4XX);
		straight = fold(&live, d, order, 4);
		for (int i = 3; i > 0; i--) {
			int j = (int)(next_random(&seed) % (unsigned)(i + 1)), swap = order[i];

			order[i] = order[j];
			order[j] = swap;
		}
		shuffled = fold(&live, d, order, 4);
		cr_assert_eq(straight.action, shuffled.action);
		cr_assert_eq(straight.was_live, shuffled.was_live);
		cr_assert_eq(straight.ticket.reason, shuffled.ticket.reason);
		if (straight.action != MERGE_PARK) /* parked: what came later was only seen */
			cr_assert(ticket_eq(&straight.ticket, &shuffled.ticket));
	}
}

Test(merge, two_in_one_batch_make_one_new_entry)
{
	struct decoded d[2] = {dead_letter(50, REASON_RETRIES_EXHAUSTED),
		dead_letter(40, REASON_RETRIES_EXHAUSTED)};
	struct merge m = fold(NULL, d, (int[]){0, 1}, 2);

	cr_assert_eq(m.action, MERGE_NEW);
	cr_assert_eq(m.ticket.attempts, 2);
	cr_assert_eq(m.ticket.first_us, 40);
}

Test(merge, new_then_permanent_in_one_batch_parks_without_a_tombstone)
{
	struct decoded d[2] = {
		dead_letter(50, REASON_RETRIES_EXHAUSTED), dead_letter(60, REASON_PERMANENT_4XX)};
	struct merge m = fold(NULL, d, (int[]){0, 1}, 2);

	cr_assert_eq(m.action, MERGE_PARK);
	cr_assert_not(m.was_live);
}

#include <criterion/criterion.h>

#include "breaker.h"

#define START 1000000000000

/* The longest delay that failures in a row may bring, by asking with many random bits. */
static int64_t longest_delay(uint32_t failures)
{
	int64_t longest = 0;

	for (uint64_t random = 0; random < 64; random++) {
		struct breaker b = {0};

		for (uint32_t i = 0; i < failures; i++)
			breaker_fail(&b, START, random * 0x9E3779B97F4A7C15u);
		cr_assert_geq(b.retry_us, START);
		if (b.retry_us - START > longest)
			longest = b.retry_us - START;
	}
	return longest;
}

Test(breaker, zeroed_is_closed_and_has_nothing_to_probe)
{
	struct breaker b = {0};

	cr_expect_eq(b.state, BREAKER_CLOSED);
	cr_expect_not(breaker_probe_due(&b, START));
}

Test(breaker, a_failure_opens_it_until_the_delay_is_over)
{
	struct breaker b = {0};

	breaker_fail(&b, START, BREAKER_INITIAL_US / 2);
	cr_expect_eq(b.state, BREAKER_OPEN);
	cr_expect_eq(b.opened_us, START);
	cr_expect_eq(b.retry_us, START + BREAKER_INITIAL_US / 2);
	cr_expect_not(breaker_probe_due(&b, b.retry_us - 1));
	cr_expect_eq(b.state, BREAKER_OPEN);
	cr_expect(breaker_probe_due(&b, b.retry_us));
	cr_expect_eq(b.state, BREAKER_HALF_OPEN);
}

Test(breaker, half_open_lets_one_probe_pass)
{
	struct breaker b = {0};

	breaker_fail(&b, START, 0);
	cr_expect(breaker_probe_due(&b, START + BREAKER_MAX_US));
	cr_expect_not(breaker_probe_due(&b, START + 2 * BREAKER_MAX_US));
}

Test(breaker, a_failed_probe_opens_it_again_and_keeps_the_time_it_opened)
{
	struct breaker b = {0};

	breaker_fail(&b, START, 0);
	cr_expect(breaker_probe_due(&b, START + 5));
	breaker_fail(&b, START + 5, 7);
	cr_expect_eq(b.state, BREAKER_OPEN);
	cr_expect_eq(b.failures, 2);
	cr_expect_eq(b.opened_us, START);
	cr_expect_eq(b.retry_us, START + 5 + 7);
}

Test(breaker, success_closes_it_and_forgets_the_failures)
{
	struct breaker b = {0};

	breaker_fail(&b, START, 0);
	breaker_fail(&b, START, 0);
	breaker_ok(&b);
	cr_expect_eq(b.state, BREAKER_CLOSED);
	cr_expect_eq(b.failures, 0);
	breaker_fail(&b, START + 9, BREAKER_INITIAL_US);
	cr_expect_eq(b.failures, 1);
	cr_expect_eq(b.opened_us, START + 9);
	cr_expect_eq(b.retry_us, START + 9 + BREAKER_INITIAL_US);
}

Test(breaker, delays_double_with_full_jitter_up_to_the_bound)
{
	for (uint32_t failures = 1; failures < 60; failures++) {
		int64_t bound = failures < 16 ? BREAKER_INITIAL_US * (INT64_C(1) << (failures - 1))
					      : BREAKER_MAX_US;

		if (bound > BREAKER_MAX_US)
			bound = BREAKER_MAX_US;
		cr_expect_leq(longest_delay(failures), bound);
		cr_expect_gt(longest_delay(failures), bound / 2);
	}
}

Test(breaker, many_failures_do_not_overflow_the_delay)
{
	struct breaker b = {.state = BREAKER_OPEN, .failures = UINT32_MAX - 1};

	breaker_fail(&b, START, UINT64_MAX);
	cr_expect_geq(b.retry_us, START);
	cr_expect_leq(b.retry_us, START + BREAKER_MAX_US);
}

Test(breaker, a_probe_that_was_given_up_is_made_again)
{
	struct breaker b = {0};

	breaker_fail(&b, 1000, 0);
	cr_assert(breaker_probe_due(&b, 2000));
	breaker_cancel_probe(&b);
	cr_assert_eq(b.state, BREAKER_OPEN);
	cr_assert(breaker_probe_due(&b, 2000));
	breaker_ok(&b);
	breaker_cancel_probe(&b);
	cr_assert_eq(b.state, BREAKER_CLOSED);
}

Test(breaker, at_the_start_it_is_open_and_probes_at_once)
{
	struct breaker b;

	breaker_unproven(&b, 1000);
	cr_expect_eq(b.state, BREAKER_OPEN);
	cr_expect(breaker_probe_due(&b, 1000));
	breaker_ok(&b);
	cr_expect_eq(b.state, BREAKER_CLOSED);
}

Test(breaker, an_outage_at_the_start_counts_from_the_start)
{
	struct breaker b;

	breaker_unproven(&b, 1000);
	breaker_probe_due(&b, 1000);
	breaker_fail(&b, 5000, 0);
	cr_expect_eq(b.failures, 1);
	cr_expect_eq(b.opened_us, 1000);
}

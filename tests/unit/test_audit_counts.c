#include "audit_counts.h"

#include <criterion/criterion.h>

static const struct audit_counts healthy = {
	.dead_letters = 124, .reads = 120, .settled = 100, .queued = 10, .parked = 10};

static const char *text(struct buf *b)
{
	buf_add_byte(b, 0);
	return (const char *)b->p;
}

Test(audit_counts, a_line_has_seven_counts_and_behind_them_what_is_not_zero)
{
	CLEANUP(buf_free) struct buf plain = {0}, all = {0};
	struct audit_counts c = healthy;

	audit_counts_text(&plain, &c);
	cr_assert_str_eq(text(&plain),
		"124 dead letters, 120 reads: 100 settled, 10 queued, 10 parked, 0 missing, 0 "
		"different");
	c.waiting = 1;
	c.written_off = 2;
	c.doubled = 3;
	c.requeued = 4;
	audit_counts_text(&all, &c);
	cr_assert_not_null(
		strstr(text(&all), "0 different, 1 waiting, 2 written off, 3 doubled, 4 requeued"));
}

Test(audit_counts, missing_different_and_doubled_are_not_clean_and_nothing_else)
{
	struct audit_counts c = healthy;
	uint64_t *const wrong[] = {&c.missing, &c.different, &c.doubled};

	c.waiting = c.written_off = c.requeued = c.gap = 1;
	cr_assert(audit_counts_clean(&c));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		*wrong[i] = 1;
		cr_assert_not(audit_counts_clean(&c));
		*wrong[i] = 0;
	}
}

Test(audit_counts, adding_adds_every_count)
{
	struct audit_counts sum = {0}, c;
	const char *name;
	uint64_t n, seen = 0;

	for (size_t i = 0; i < sizeof(c) / sizeof(n); i++)
		((uint64_t *)&c)[i] = i + 1;
	audit_counts_add(&sum, &c);
	audit_counts_add(&sum, &c);
	for (size_t i = 0; i < sizeof(c) / sizeof(n); i++)
		cr_assert_eq(((uint64_t *)&sum)[i], 2 * (i + 1));
	for (size_t pos = 0; audit_counts_next(&c, &pos, &name, &n);)
		seen += n;
	cr_assert_eq(seen, 12 * 13 / 2);
}

Test(audit_counts, metrics_have_help_and_type_and_say_whether_it_was_clean)
{
	CLEANUP(buf_free) struct buf good = {0}, bad = {0};
	struct audit_counts c = healthy;
	const char *s;

	audit_counts_metrics(&good, &c, 1784246400999999);
	s = text(&good);
	cr_assert_not_null(strstr(s, "# HELP meter_dlq_audit_success "));
	cr_assert_not_null(strstr(s, "# TYPE meter_dlq_audit_success gauge\n"));
	cr_assert_not_null(strstr(s, "\nmeter_dlq_audit_success 1\n"));
	cr_assert_not_null(strstr(s, "\nmeter_dlq_audit_timestamp_seconds 1784246400\n"));
	cr_assert_not_null(strstr(s, "\nmeter_dlq_audit_dead_letters 124\n"));
	c.missing = 2;
	c.different = 3;
	audit_counts_metrics(&bad, &c, 0);
	s = text(&bad);
	cr_assert_not_null(strstr(s, "\nmeter_dlq_audit_success 0\n"));
	cr_assert_not_null(strstr(s, "\nmeter_dlq_audit_missing_reads 2\n"));
	cr_assert_not_null(strstr(s, "\nmeter_dlq_audit_different_reads 3\n"));
}

Test(audit_counts, an_audit_that_could_not_be_made_says_no_more_than_that)
{
	CLEANUP(buf_free) struct buf out = {0};

	audit_counts_metrics(&out, NULL, 5000000);
	cr_assert_not_null(strstr(text(&out), "\nmeter_dlq_audit_success 0\n"));
	cr_assert_not_null(strstr((char *)out.p, "\nmeter_dlq_audit_timestamp_seconds 5\n"));
	cr_assert_null(strstr((char *)out.p, "missing_reads"));
}

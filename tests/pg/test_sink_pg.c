/* What the sink does to rows, and what it says of reads. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "harness.h"

static char *row_text(struct database *d, const char *key)
{
	return ask(d->admin,
		"SELECT concat_ws('|', meter_id, to_char(read_at AT TIME ZONE 'UTC',"
		" 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), sequence, kwh, coalesce(reading_type, 'null'),"
		" coalesce(quality, 'null'), coalesce(attributes::text, 'null'))"
		" FROM meter_read WHERE idempotency_key = '%s'",
		key);
}

Test(sink_pg, inserts_every_field_as_it_is)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(3);

	b->reads[0].attributes = SLICE_LIT("{\"n\": 1.50, \"text\": \"\\u00e9\"}");
	b->reads[1].reading_type = b->reads[1].quality = SLICE_NULL;
	b->reads[1].sequence = INT64_MAX;
	b->reads[1].read_at_us = INT64_C(1784246400123456);
	b->reads[2].quality = SLICE_LIT("");
	b->reads[2].meter_id = SLICE_LIT("Z\xc3\xa4hler {1,\"2\"}");
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_COMMITTED);
	cr_assert_eq(b->calls, 1);

	AUTO_FREE char *first = row_text(d, "r00000");
	AUTO_FREE char *second = row_text(d, "r00001");
	AUTO_FREE char *third = row_text(d, "r00002");
	cr_expect_str_eq(first, "MTR-00000000|2026-07-17T00:00:00.000000|1|1.50|1-0:1.8.0*255|"
				"MEASURED|{\"n\": 1.50, \"text\": \"\xc3\xa9\"}");
	cr_expect_str_eq(second,
		"MTR-00000001|2026-07-17T00:00:00.123456|9223372036854775807|1.50|null|null|null");
	cr_expect_str_eq(third, "Z\xc3\xa4hler {1,\"2\"}|2026-07-17T00:00:00.000000|1|1.50|"
				"1-0:1.8.0*255||null");
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sink_pg, keeps_every_digit_of_the_amount)
{
	static const char *const AMOUNTS[][2] = {
		{"12.50", "12.50"},
		{"-0.00", "0.00"},
		{"+7", "7"},
		{"12345678901234567890.123456789012345678",
			"12345678901234567890.123456789012345678"},
		{"0.00000000000000000000000000000000000001",
			"0.00000000000000000000000000000000000001"},
		{"-99999999999999999999999999999999999999",
			"-99999999999999999999999999999999999999"},
		{"1.25e3", "1250"},
		{"1.5E-3", "0.0015"},
		{"0.1", "0.1"},
	};
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(ARRAY_LEN(AMOUNTS));

	for (size_t i = 0; i < b->n; i++)
		b->reads[i].kwh = slice_str(AMOUNTS[i][0]);
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_COMMITTED);
	for (size_t i = 0; i < b->n; i++) {
		AUTO_FREE char *kwh = ask(
			d->admin, "SELECT kwh FROM meter_read WHERE idempotency_key = 'r%05zu'", i);

		cr_expect_str_eq(kwh, AMOUNTS[i][1]);
	}
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sink_pg, keeps_instants_from_the_year_1_to_9999)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(3);

	b->reads[0].read_at_us = INT64_C(-62135596800000000);
	b->reads[1].read_at_us = INT64_C(253402300799999999);
	b->reads[2].read_at_us = -1;
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_COMMITTED);
	cr_expect_eq(
		ask_number(d->admin,
			"SELECT count(*) FROM meter_read WHERE read_at IN ('0001-01-01 00:00:00Z',"
			" '9999-12-31 23:59:59.999999Z', '1969-12-31 23:59:59.999999Z')"),
		3);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sink_pg, a_batch_of_several_statements_is_one_transaction)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(2500);

	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_COMMITTED);
	cr_expect_eq(ask_number(d->admin, "SELECT count(*) FROM meter_read"), 2500);
	cr_expect_eq(
		ask_number(d->admin, "SELECT count(DISTINCT committed_at) FROM meter_read"), 1);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sink_pg, the_same_content_again_is_a_duplicate_and_changes_nothing)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(1500);
	const char *sum = "SELECT md5(string_agg(t::text || t.xmin || t.ctid, '' ORDER BY 1))"
			  " FROM meter_read t";

	b->reads[7].reading_type = SLICE_NULL;
	commit_batch(s, b);
	AUTO_FREE char *before = ask(d->admin, "%s", sum);
	/* other digits of the same value, other attributes: still the same content */
	b->reads[0].kwh = SLICE_LIT("1.5");
	b->reads[1].kwh = SLICE_LIT("15e-1");
	b->reads[2].attributes = SLICE_LIT("{\"a\": 1}");
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_DUPLICATE);
	AUTO_FREE char *after = ask(d->admin, "%s", sum);
	cr_expect_str_eq(after, before);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sink_pg, other_content_under_a_committed_key_is_a_conflict_and_the_row_stays)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(8);

	b->n = 6;
	b->reads[1].kwh = SLICE_LIT("12345678901234567890.50");
	b->reads[1].attributes = SLICE_LIT("{\"a\": 1.10}");
	commit_batch(s, b);
	b->n = 8; /* two new ones */
	b->reads[0].meter_id = SLICE_LIT("other");
	b->reads[1].kwh = SLICE_LIT("12345678901234567890.51");
	b->reads[2].read_at_us++;
	b->reads[3].sequence++;
	b->reads[4].reading_type = SLICE_NULL;
	b->reads[5].quality = SLICE_LIT("");
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	for (size_t i = 0; i < 6; i++)
		cr_assert_eq(b->outcomes[i].kind, OUTCOME_CONFLICT, "read %zu", i);
	cr_expect_eq(b->outcomes[6].kind, OUTCOME_COMMITTED);
	cr_expect_eq(b->outcomes[7].kind, OUTCOME_COMMITTED);

	AUTO_FREE char *committed = ask(d->admin,
		"SELECT '%.*s'::jsonb = '{\"idempotency_key\": \"r00001\", \"meter_id\":"
		" \"MTR-00000001\", \"read_at\": \"2026-07-17T00:00:00Z\", \"sequence\": 1, "
		"\"kwh\":"
		" \"12345678901234567890.50\", \"reading_type\": \"1-0:1.8.0*255\", \"quality\":"
		" \"MEASURED\", \"attributes\": {\"a\": 1.10}}'",
		SLICE_FMT(b->outcomes[1].committed));
	cr_expect_str_eq(committed, "t", "%.*s", SLICE_FMT(b->outcomes[1].committed));
	cr_expect_eq(ask_number(d->admin, "SELECT count(*) FROM meter_read"
					  " WHERE sequence = 1 AND quality = 'MEASURED'"),
		8);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sink_pg, a_batch_may_hold_new_reads_duplicates_and_conflicts_in_any_statement)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(3000);

	for (size_t i = 0; i < b->n; i++)
		b->pointers[i / 3 + i % 3 * 1000] = &b->reads[i];
	b->n = 2000; /* i % 3 == 0 or 1 */
	commit_batch(s, b);
	b->n = 3000;
	for (size_t i = 0; i < b->n; i++) {
		b->pointers[i] = &b->reads[i];
		if (i % 3 == 1)
			b->reads[i].kwh = SLICE_LIT("2");
	}
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	for (size_t i = 0; i < b->n; i++)
		cr_assert_eq(b->outcomes[i].kind,
			i % 3 == 0   ? OUTCOME_DUPLICATE
			: i % 3 == 1 ? OUTCOME_CONFLICT
				     : OUTCOME_COMMITTED,
			"read %zu", i);
	cr_expect_eq(b->calls, 1);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sink_pg, answers_larger_than_the_buffers_of_the_connection_do_not_block_it)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(5000);
	struct buf json = {0};

	buf_add_str(&json, "{\"a\": \"");
	for (int i = 0; i < 700; i++)
		buf_printf(&json, "%d", i * 7919);
	buf_add_str(&json, "\"}");
	for (size_t i = 0; i < b->n; i++)
		b->reads[i].attributes = slice_of(json.p, json.n);
	commit_batch(s, b);
	expect_all(b, OUTCOME_COMMITTED);
	for (size_t i = 0; i < b->n; i++)
		b->reads[i].kwh = SLICE_LIT("2");
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_CONFLICT);
	cr_expect_gt(b->outcomes[4999].committed.n, json.n);
	buf_free(&json);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

/* One bad read, of every kind, costs its neighbours nothing. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "harness.h"

/* A fixture of one database, sink and batch, with read number odd of the meter BAD. */
struct fixture {
	struct database *d;
	struct sink *s;
	struct batch *b;
	size_t odd;
};

static struct fixture fixture_new(size_t n, size_t odd)
{
	struct fixture f = {.d = database_new(), .b = batch_new(n), .odd = odd};

	f.s = sink_of(f.d);
	f.b->reads[odd].meter_id = BAD;
	return f;
}

static void fixture_free(struct fixture *f)
{
	batch_free(f->b);
	sink_pg_free(f->s);
	database_free(f->d);
}

/* Its neighbours are committed, once each; the bad read has failed with code. */
static void expect_isolated(struct fixture *f, const char *code)
{
	cr_assert_eq(commit_batch(f->s, f->b), COMMIT_DONE, "%s", f->b->commit.last.message);
	expect_one_failed(f->b, f->odd, code);
	cr_expect_eq(ask_number(f->d->admin, "SELECT count(*) FROM meter_read"), (long)f->b->n - 1);
}

static void expect_trap_isolated(size_t n, const char *statements, const char *code)
{
	struct fixture f = fixture_new(n, n / 3);

	set_trap(f.d->admin, statements);
	expect_isolated(&f, code);
	fixture_free(&f);
}

Test(isolation, a_check_constraint_fails_one_read_of_five_thousand)
{
	struct fixture f = fixture_new(5000, 3210);

	run_sql(f.d->admin, "ALTER TABLE meter_read ADD CHECK (meter_id <> 'BAD')");
	expect_isolated(&f, "23514");
	cr_expect_eq(f.b->calls, 1);
	fixture_free(&f);
}

Test(isolation, a_numeric_overflow_fails_one_read)
{
	struct fixture f = fixture_new(1000, 999);

	run_sql(f.d->admin, "DROP VIEW meter_read_current;"
			    "ALTER TABLE meter_read ALTER kwh TYPE numeric(12, 2)");
	f.b->reads[999].kwh = SLICE_LIT("10000000000.00");
	expect_isolated(&f, "22003");
	fixture_free(&f);
}

Test(isolation, an_amount_that_no_numeric_holds_fails_one_read)
{
	struct fixture f = fixture_new(100, 0);

	f.b->reads[0].kwh = SLICE_LIT("1e99999999");
	expect_isolated(&f, "22003");
	fixture_free(&f);
}

Test(isolation, an_instant_that_no_timestamptz_holds_fails_one_read)
{
	struct fixture f = fixture_new(100, 99);

	f.b->reads[99].read_at_us = INT64_C(-300000000000000000);
	expect_isolated(&f, "22008");
	fixture_free(&f);
}

Test(isolation, bad_utf8_and_nul_fail_one_read)
{
	struct fixture f = fixture_new(100, 50);

	f.b->reads[50].quality = SLICE_LIT("a\xff");
	expect_isolated(&f, "22021");
	f.b->reads[50].quality = SLICE_LIT("a\0b");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE);
	cr_expect_eq(f.b->outcomes[50].kind, OUTCOME_FAILED);
	cr_expect_str_eq(f.b->outcomes[50].code, "22021");
	cr_expect_eq(f.b->outcomes[51].kind, OUTCOME_DUPLICATE);
	fixture_free(&f);
}

Test(isolation, attributes_that_are_no_jsonb_fail_one_read)
{
	struct fixture f = fixture_new(100, 50);

	f.b->reads[50].attributes = SLICE_LIT("{\"a\": \"\\u0000\"}");
	expect_isolated(&f, "22P05");
	fixture_free(&f);
}

Test(isolation, a_key_that_fits_no_index_page_fails_one_read)
{
	struct fixture f = fixture_new(100, 99);
	uint8_t *key = arena_alloc(&f.b->texts, 20000);
	uint32_t random = 1;

	for (size_t i = 0; i < 20000; i++) {
		random = random * 1664525 + 1013904223;
		key[i] = (uint8_t)('!' + (random >> 24) % 90);
	}
	key[0] = 's';
	f.b->reads[99].idempotency_key = slice_of(key, 20000);
	expect_isolated(&f, "54000");
	fixture_free(&f);
}

Test(isolation, a_foreign_key_that_is_checked_at_commit_fails_one_read)
{
	struct fixture f = fixture_new(1000, 500);

	run_sql(f.d->admin, "CREATE TABLE meter (id text PRIMARY KEY);"
			    "INSERT INTO meter SELECT 'MTR-' || lpad(i::text, 8, '0') FROM "
			    "generate_series(0, 999) i;"
			    "ALTER TABLE meter_read ADD FOREIGN KEY (meter_id) REFERENCES meter"
			    " DEFERRABLE INITIALLY DEFERRED");
	expect_isolated(&f, "23503");
	cr_expect_eq(f.b->calls, 1);
	fixture_free(&f);
}

Test(isolation, an_exception_in_a_trigger_fails_one_read_of_five_thousand)
{
	expect_trap_isolated(5000, "RAISE 'no';", "P0001");
}

Test(isolation, an_unknown_code_fails_one_read)
{
	expect_trap_isolated(1000, "RAISE 'no' USING ERRCODE = 'U0815';", "U0815");
}

Test(isolation, a_trigger_that_always_deadlocks_fails_one_read)
{
	expect_trap_isolated(1000, "RAISE 'no' USING ERRCODE = 'deadlock_detected';", "40P01");
}

Test(isolation, a_trigger_that_finds_the_disk_full_fails_one_read)
{
	expect_trap_isolated(1000, "RAISE 'no' USING ERRCODE = 'disk_full';", "53100");
}

Test(isolation, a_trigger_that_suppresses_the_row_fails_one_read)
{
	expect_trap_isolated(1000, "RETURN NULL;", "40001");
}

Test(isolation, a_trigger_that_kills_its_backend_fails_one_read)
{
	expect_trap_isolated(1000, "PERFORM pg_terminate_backend(pg_backend_pid());", "57P01");
}

Test(isolation, a_read_that_kills_its_backend_has_failed_once_it_was_alone)
{
	struct fixture f = fixture_new(1, 0);

	set_trap(f.d->admin, "PERFORM pg_terminate_backend(pg_backend_pid());");
	expect_isolated(&f, "57P01");
	cr_expect_eq(f.b->calls, 2, "the call and a probe");
	fixture_free(&f);
}

Test(isolation, a_trigger_that_sleeps_past_the_time_out_fails_one_read)
{
	struct fixture f = fixture_new(1000, 777);
	struct sink_pg_config config = sink_config(f.d->conninfo);

	config.statement_timeout_ms = 300;
	sink_pg_free(f.s);
	f.s = sink_pg_new(&config);
	set_trap(f.d->admin, "PERFORM pg_sleep(60);");
	expect_isolated(&f, "57014");
	fixture_free(&f);
}

Test(isolation, a_row_that_another_session_holds_fails_one_read)
{
	struct fixture f = fixture_new(1000, 400);
	PGconn *other = connect_as(f.d->conninfo);

	run_sql(other, "BEGIN; INSERT INTO meter_read VALUES ('r00400', 'other', now(), 1, 1)");
	expect_isolated(&f, "55P03");
	run_sql(other, "COMMIT");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE);
	cr_expect_eq(f.b->outcomes[400].kind, OUTCOME_CONFLICT);
	PQfinish(other);
	fixture_free(&f);
}

Test(isolation, a_failed_call_leaves_no_transaction_open)
{
	struct fixture f = fixture_new(1, 0);

	run_sql(f.d->admin, "ALTER TABLE meter_read ADD CHECK (meter_id <> 'BAD')");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE);
	cr_expect_str_eq(f.b->outcomes[0].code, "23514");
	await_true(f.d->admin, "SELECT state = 'idle' FROM pg_stat_activity"
			       " WHERE application_name = 'meter-dlq-test'");
	fixture_free(&f);
}

Test(isolation, bad_reads_of_every_kind_in_one_batch_fail_and_all_others_commit)
{
	struct fixture f = fixture_new(3000, 0);
	long failed = 0;

	set_trap(f.d->admin, "CASE NEW.sequence % 3"
			     " WHEN 0 THEN RAISE 'no';"
			     " WHEN 1 THEN RAISE 'no' USING ERRCODE = 'U0815';"
			     " ELSE PERFORM pg_terminate_backend(pg_backend_pid()); END CASE;");
	f.b->reads[0].sequence = 0;
	for (size_t i = 170; i < f.b->n; i += 170) {
		f.b->reads[i].meter_id = BAD;
		f.b->reads[i].sequence = (int64_t)i / 170;
	}
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE);
	for (size_t i = 0; i < f.b->n; i++) {
		bool bad = slice_eq(f.b->reads[i].meter_id, BAD);

		cr_assert_eq(f.b->outcomes[i].kind, bad ? OUTCOME_FAILED : OUTCOME_COMMITTED,
			"read %zu: %d", i, (int)f.b->outcomes[i].kind);
		failed += bad;
	}
	cr_expect_eq(
		ask_number(f.d->admin, "SELECT count(*) FROM meter_read"), (long)f.b->n - failed);
	fixture_free(&f);
}

Test(isolation, a_batch_of_nothing_but_bad_reads_fails_them_all)
{
	struct fixture f = fixture_new(1000, 0);

	run_sql(f.d->admin, "ALTER TABLE meter_read ADD CHECK (false)");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE);
	expect_all(f.b, OUTCOME_FAILED);
	fixture_free(&f);
}

Test(isolation, one_bad_read_in_a_hundred_keeps_every_transaction_within_64_subtransactions)
{
	struct fixture f = fixture_new(5000, 0);

	run_sql(f.d->admin, "ALTER TABLE meter_read ADD CHECK (meter_id <> 'BAD')");
	for (size_t i = 0; i < f.b->n; i += 100)
		f.b->reads[i + i / 100 % 7].meter_id = BAD;
	f.b->reads[0].meter_id = BAD;
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE);
	cr_expect_eq(ask_number(f.d->admin, "SELECT count(*) FROM meter_read"), 4950);
	cr_expect_leq(
		ask_number(f.d->admin, "SELECT max(n) FROM (SELECT count(DISTINCT xmin::text) n"
				       " FROM meter_read GROUP BY committed_at) t"),
		64);
	cr_expect_leq(f.b->calls, 10, "%u calls", f.b->calls);
	fixture_free(&f);
}

Test(isolation, duplicates_and_conflicts_among_bad_reads_are_told_apart)
{
	struct fixture f = fixture_new(500, 0);

	commit_batch(f.s, f.b);
	run_sql(f.d->admin, "DELETE FROM meter_read WHERE sequence = 1 AND"
			    " right(idempotency_key, 1) IN ('0', '5')");
	run_sql(f.d->admin, "ALTER TABLE meter_read ADD CHECK (meter_id <> 'BAD') NOT VALID");
	for (size_t i = 0; i < f.b->n; i++) {
		if (i % 5 == 1)
			f.b->reads[i].kwh = SLICE_LIT("7");
		if (i % 10 == 0)
			f.b->reads[i].meter_id = BAD;
	}
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE);
	for (size_t i = 0; i < f.b->n; i++)
		cr_assert_eq(f.b->outcomes[i].kind,
			i % 10 == 0  ? OUTCOME_FAILED
			: i % 5 == 0 ? OUTCOME_COMMITTED
			: i % 5 == 1 ? OUTCOME_CONFLICT
				     : OUTCOME_DUPLICATE,
			"read %zu: %d", i, (int)f.b->outcomes[i].kind);
	cr_expect_eq(ask_number(f.d->admin, "SELECT count(*) FROM meter_read"), 450);
	fixture_free(&f);
}

struct holder {
	PGconn *conn, *admin;
	bool done;
};

/* Once all reads that it does not hold are committed, it is done. */
static void commit_after_neighbours(void *arg)
{
	struct holder *h = arg;

	if (h->done || ask_number(h->admin, "SELECT count(*) FROM meter_read") < 4000)
		return;
	run_sql(h->conn, "COMMIT");
	h->done = true;
}

Test(isolation, rows_that_another_session_holds_hold_up_no_neighbour_and_are_tried_again_together)
{
	struct fixture f = fixture_new(5000, 0);
	struct holder h = {connect_as(f.d->conninfo), f.d->admin, false};

	f.b->reads[0].meter_id = SLICE_LIT("MTR-00000000");
	run_sql(h.conn,
		"BEGIN; INSERT INTO meter_read SELECT 'r' || lpad(i::text, 5, '0'), 'other',"
		" now(), 1, 1 FROM generate_series(1500, 2499) i");
	cr_assert_eq(commit_batch_meanwhile(f.s, f.b, commit_after_neighbours, &h), COMMIT_DONE);
	cr_expect(h.done);
	for (size_t i = 0; i < f.b->n; i++)
		cr_assert_eq(f.b->outcomes[i].kind,
			i >= 1500 && i < 2500 ? OUTCOME_CONFLICT : OUTCOME_COMMITTED,
			"read %zu: %d %s", i, (int)f.b->outcomes[i].kind, f.b->outcomes[i].code);
	cr_expect_leq(f.b->calls, 10, "%u calls", f.b->calls);
	PQfinish(h.conn);
	fixture_free(&f);
}

/* --- a real deadlock --- */

struct partner {
	PGconn *conn, *admin;
	bool sent;
};

/* Once the batch waits for the partner's row, the partner wants one of the batch's. */
static void want_the_first_row(void *arg)
{
	struct partner *p = arg;

	if (p->sent ||
		!ask_number(p->admin,
			"SELECT count(*) FROM pg_stat_activity"
			" WHERE application_name = 'meter-dlq-test' AND wait_event_type = 'Lock'"))
		return;
	PQsendQuery(p->conn, "INSERT INTO meter_read VALUES ('r00000', 'other', now(), 1, 1)");
	PQflush(p->conn);
	p->sent = true;
}

Test(isolation, the_victim_of_a_deadlock_tries_again_and_no_read_has_failed)
{
	struct fixture f = fixture_new(100, 0);
	struct sink_pg_config config = sink_config(f.d->conninfo);
	struct partner p;

	config.lock_timeout_ms = 5000;
	sink_pg_free(f.s);
	run_sql(f.d->admin, "ALTER DATABASE %s SET deadlock_timeout = '100ms'", f.d->name);
	f.s = sink_pg_new(&config);
	p = (struct partner){.conn = connect_as(f.d->conninfo), .admin = f.d->admin};
	run_sql(p.conn,
		"SET deadlock_timeout = '1h'; SET idle_in_transaction_session_timeout = '1s';"
		"BEGIN; INSERT INTO meter_read VALUES ('r00050', 'other', now(), 1, 1)");
	cr_assert_eq(commit_batch_meanwhile(f.s, f.b, want_the_first_row, &p), COMMIT_DONE);
	cr_expect(p.sent);
	await_true(f.d->admin,
		"SELECT deadlocks > 0 FROM pg_stat_database WHERE datname = current_database()");
	expect_all(f.b, OUTCOME_COMMITTED);
	PQfinish(p.conn);
	fixture_free(&f);
}

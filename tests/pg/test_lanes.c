/* Several connections that share a batch: each read's outcome is its own connection's. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "harness.h"

#define LANES 3

struct fixture {
	struct database *d;
	struct sink *s;
	struct batch *b;
};

static struct fixture fixture_new(size_t n)
{
	struct fixture f = {.d = database_new(), .b = batch_new(n)};
	struct sink_pg_config config = sink_config(f.d->conninfo);

	config.connections = LANES;
	f.s = sink_pg_new(&config);
	return f;
}

static void fixture_free(struct fixture *f)
{
	batch_free(f->b);
	sink_pg_free(f->s);
	database_free(f->d);
}

static long count_backends(const struct fixture *f)
{
	return ask_number(f->d->admin,
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
		"AND application_name = 'meter-dlq-test'");
}

static long count_rows(const struct fixture *f)
{
	return ask_number(f->d->admin, "SELECT count(*) FROM meter_read");
}

Test(lanes, a_batch_is_shared_by_all_connections_and_all_of_it_commits)
{
	struct fixture f = fixture_new(5000);

	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE, "%s", f.b->commit.last.message);
	expect_all(f.b, OUTCOME_COMMITTED);
	cr_expect_eq(f.b->calls, 1);
	cr_expect_eq(count_backends(&f), LANES);
	cr_expect_eq(count_rows(&f), 5000);
	fixture_free(&f);
}

Test(lanes, outcomes_are_those_of_their_reads_whichever_connection_had_them)
{
	struct fixture f = fixture_new(5000);

	run_sql(f.d->admin,
		"INSERT INTO meter_read SELECT idempotency_key, meter_id, read_at, sequence, 9.99 "
		"FROM (SELECT 'r' || lpad(i::text, 5, '0') AS idempotency_key, 'M' || i AS "
		"meter_id, "
		"now() AS read_at, 1 AS sequence FROM generate_series(0, 4999, 100) i) r");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE, "%s", f.b->commit.last.message);
	for (size_t i = 0; i < f.b->n; i++)
		cr_assert_eq(f.b->outcomes[i].kind, i % 100 ? OUTCOME_COMMITTED : OUTCOME_CONFLICT,
			"read %zu", i);
	cr_expect_eq(count_rows(&f), 5000);
	fixture_free(&f);
}

Test(lanes, a_bad_read_of_one_connection_fails_alone)
{
	struct fixture f = fixture_new(5000);

	run_sql(f.d->admin, "ALTER TABLE meter_read ADD CHECK (meter_id <> 'BAD')");
	f.b->reads[4000].meter_id = BAD;
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE, "%s", f.b->commit.last.message);
	expect_one_failed(f.b, 4000, "23514");
	cr_expect_eq(count_rows(&f), 4999);
	fixture_free(&f);
}

Test(lanes, a_read_that_kills_its_backend_takes_no_neighbour_of_another_connection_along)
{
	struct fixture f = fixture_new(5000);

	set_trap(
		f.d->admin, "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1);");
	f.b->reads[10].meter_id = BAD;
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE, "%s", f.b->commit.last.message);
	cr_expect_eq(f.b->outcomes[10].kind, OUTCOME_FAILED);
	for (size_t i = 0; i < f.b->n; i++)
		if (i != 10)
			cr_assert_eq(f.b->outcomes[i].kind, OUTCOME_COMMITTED, "read %zu", i);
	cr_expect_eq(count_rows(&f), 4999);
	fixture_free(&f);
}

Test(lanes, an_outage_of_all_connections_is_one_and_the_batch_goes_on_afterwards)
{
	struct fixture f = fixture_new(5000);

	PGconn *outside = connect_as(getenv("PG_TEST_CONNINFO"));

	cr_assert_eq(probe(f.s).class, SQL_OK);
	run_sql(outside, "ALTER DATABASE %s ALLOW_CONNECTIONS false", f.d->name);
	run_sql(f.d->admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
			    "WHERE datname = current_database() AND pid <> pg_backend_pid()");
	cr_expect_neq(commit_batch(f.s, f.b), COMMIT_DONE);
	cr_expect_eq(count_rows(&f), 0);
	run_sql(outside, "ALTER DATABASE %s ALLOW_CONNECTIONS true", f.d->name);
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE, "%s", f.b->commit.last.message);
	expect_all(f.b, OUTCOME_COMMITTED);
	PQfinish(outside);
	fixture_free(&f);
}

Test(lanes, what_is_less_than_two_statements_goes_through_one_connection)
{
	struct fixture f = fixture_new(1999);

	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE, "%s", f.b->commit.last.message);
	cr_expect_eq(count_backends(&f), 1);
	fixture_free(&f);
}

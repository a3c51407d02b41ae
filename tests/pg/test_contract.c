/* The contract with the database: what is missing is said, what is there is enough. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#define SIGNATURE "(text[], text[], timestamptz[], bigint[], numeric[], text[], text[], jsonb[])"

/* A batch finds the contract missing; once it is repaired and installed, the same sink goes on. */
static void expect_missing(const char *damage, const char *code, const char *repair)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(10);

	run_sql(d->admin, "%s", damage);
	cr_assert_eq(commit_batch(s, b), COMMIT_CONTRACT, "%s", damage);
	expect_all(b, OUTCOME_OUTAGE);
	cr_expect_str_eq(b->commit.last.code, code, "%s: %s", damage, b->commit.last.message);
	cr_expect(strstr(b->commit.last.message, "meter-dlq init"), "%s", b->commit.last.message);
	cr_expect_eq(probe(s).class, SQL_CONTRACT);

	run_sql(d->admin, "%s", repair);
	install_sql(d->admin);
	cr_expect_eq(probe(s).class, SQL_OK);
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
	expect_all(b, OUTCOME_COMMITTED);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(contract, a_missing_function_is_said)
{
	expect_missing("DROP FUNCTION commit_meter_reads", "42883", "SELECT 1");
}

Test(contract, a_missing_isolated_function_is_said)
{
	expect_missing("DROP FUNCTION commit_meter_reads_isolated", "42883", "SELECT 1");
}

Test(contract, another_signature_is_said)
{
	expect_missing(
		"DROP FUNCTION commit_meter_reads; CREATE FUNCTION commit_meter_reads(text[])"
		" RETURNS TABLE (ordinal int, outcome text, committed jsonb)"
		" LANGUAGE sql AS 'SELECT 1, NULL, NULL::jsonb'",
		"42883", "SELECT 1");
}

Test(contract, a_missing_result_column_is_said)
{
	expect_missing(
		"DROP FUNCTION commit_meter_reads; CREATE FUNCTION commit_meter_reads" SIGNATURE
		" RETURNS TABLE (ordinal int, outcome text)"
		" LANGUAGE sql AS 'SELECT 1, NULL WHERE false'",
		"42703", "DROP FUNCTION commit_meter_reads");
}

Test(contract, a_missing_table_is_said)
{
	expect_missing("DROP TABLE meter_read CASCADE", "42P01", "SELECT 1");
}

Test(contract, a_missing_unique_constraint_is_said)
{
	expect_missing("ALTER TABLE meter_read DROP CONSTRAINT meter_read_pkey", "42P10",
		"ALTER TABLE meter_read ADD PRIMARY KEY (idempotency_key)");
}

Test(contract, a_changed_column_type_is_said)
{
	expect_missing("DROP VIEW meter_read_current;"
		       "ALTER TABLE meter_read ALTER sequence TYPE text",
		"42883",
		"ALTER TABLE meter_read ALTER sequence TYPE bigint USING sequence::bigint");
}

Test(contract, a_function_that_goes_while_the_connection_is_open_is_said)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(10);

	cr_assert_eq(probe(s).class, SQL_OK);
	run_sql(d->admin, "DROP FUNCTION commit_meter_reads");
	cr_assert_eq(commit_batch(s, b), COMMIT_CONTRACT);
	expect_all(b, OUTCOME_OUTAGE);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

/* What a first call says with these words added to the conninfo. */
static struct sink_result probe_with(const struct database *d, const char *words)
{
	AUTO_FREE char *conninfo = NULL;
	struct sink_pg_config config;
	struct sink_result r;
	struct sink *s;

	cr_assert_gt(asprintf(&conninfo, "%s %s", d->conninfo, words), 0);
	config = sink_config(conninfo);
	s = sink_pg_new(&config);
	r = probe(s);
	sink_pg_free(s);
	return r;
}

Test(contract, a_database_or_role_that_does_not_exist_is_said_in_the_words_of_the_server)
{
	struct database *d = database_new();
	struct sink_result no_database = probe_with(d, "dbname=no_such_database");
	struct sink_result no_role = probe_with(d, "user=no_such_role");

	cr_expect_eq(no_database.class, SQL_CONTRACT);
	cr_expect_str_eq(no_database.code, "3D000");
	cr_expect(strstr(no_database.message, "no_such_database"), "%s", no_database.message);
	cr_expect_eq(no_role.class, SQL_CONTRACT);
	cr_expect_str_eq(no_role.code, "28000");
	database_free(d);
}

Test(contract, of_several_hosts_the_one_that_can_be_written_is_taken)
{
	struct database *d = database_new();
	AUTO_FREE char *words = NULL;
	const char *port = PQport(d->admin);

	cr_assert_gt(asprintf(&words, "host=127.0.0.1,127.0.0.1 port=1,%s", port), 0);
	cr_expect_eq(probe_with(d, words).class, SQL_OK);
	database_free(d);
}

Test(contract, a_host_that_is_away_makes_a_refused_login_at_another_an_outage)
{
	struct database *d = database_new();
	AUTO_FREE char *words = NULL;
	const char *port = PQport(d->admin);

	cr_assert_gt(
		asprintf(&words, "host=127.0.0.1,127.0.0.1 port=1,%s user=no_such_role", port), 0);
	cr_expect_eq(probe_with(d, words).class, SQL_OUTAGE);
	database_free(d);
}

Test(contract, conninfo_and_function_name_are_checked_before_anything_connects)
{
	struct sink_pg_config config = sink_config("host=a prot=5432");
	struct err err;

	cr_expect_eq(sink_pg_check(&config, &err), ERR_CONFIG);
	cr_expect(strstr(err.text, "prot"), "%s", err.text);
	config.conninfo = "postgresql://a/b?prot=1";
	cr_expect_eq(sink_pg_check(&config, &err), ERR_CONFIG);
	config.conninfo = "postgresql://a:5432,b:5433/c?sslmode=require";
	cr_expect_eq(sink_pg_check(&config, &err), 0);
	config.conninfo = "";
	cr_expect_eq(sink_pg_check(&config, &err), 0);
	config.function = "billing.";
	cr_expect_eq(sink_pg_check(&config, &err), ERR_CONFIG);
	config.function = "";
	cr_expect_eq(sink_pg_check(&config, &err), ERR_CONFIG);
}

/* Another table behind the signature: outcomes and commit as with ours. */
static const char OTHER_TABLE[] =
	"CREATE SCHEMA \"Billing\";"
	"CREATE TABLE \"Billing\".reading (id text PRIMARY KEY, amount numeric NOT NULL);"
	"CREATE DOMAIN \"Billing\".outcome AS varchar(20);"
	"CREATE FUNCTION \"Billing\".\"Commit \"\"1\"\"\"" SIGNATURE
	" RETURNS TABLE (outcome \"Billing\".outcome, committed json, ordinal bigint) LANGUAGE sql "
	"AS $$"
	" WITH old AS (SELECT r.i, t.amount = r.a AS same FROM unnest($1, $5) WITH ORDINALITY r "
	"(k, a, i)"
	"  JOIN \"Billing\".reading t ON t.id = r.k),"
	" new AS (INSERT INTO \"Billing\".reading SELECT k, a FROM unnest($1, $5) r (k, a) ORDER "
	"BY k"
	"  ON CONFLICT DO NOTHING)"
	" SELECT CASE WHEN same THEN 'duplicate' ELSE 'conflict' END, NULL::json, i FROM old $$;"
	"CREATE FUNCTION \"Billing\".\"Commit \"\"1\"\"_isolated\"" SIGNATURE
	" RETURNS TABLE (outcome text, committed json, ordinal int, sqlstate text, message text)"
	" LANGUAGE sql AS $$ SELECT outcome, committed, ordinal::int, NULL, NULL"
	" FROM \"Billing\".\"Commit \"\"1\"\"\"($1, $2, $3, $4, $5, $6, $7, $8) $$";

Test(contract, another_table_behind_the_same_signature_is_as_good)
{
	struct database *d = database_new();
	struct sink_pg_config config = sink_config(d->conninfo);
	struct batch *b = batch_new(5);
	struct sink *s;

	run_sql(d->admin, "%s", OTHER_TABLE);
	config.function = "Billing.Commit \"1\"";
	s = sink_pg_new(&config);
	b->n = 4;
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
	expect_all(b, OUTCOME_COMMITTED);
	b->n = 5;
	b->reads[3].kwh = SLICE_LIT("7");
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	cr_expect_eq(b->outcomes[0].kind, OUTCOME_DUPLICATE);
	cr_expect_eq(b->outcomes[3].kind, OUTCOME_CONFLICT);
	cr_expect(slice_is_null(b->outcomes[3].committed));
	cr_expect_eq(b->outcomes[4].kind, OUTCOME_COMMITTED);
	cr_expect_eq(ask_number(d->admin, "SELECT count(*) FROM meter_read"), 0);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

/* An isolated function whose answer to a batch, not to a probe, is these rows. */
static void expect_breach(const char *rows)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(5);

	run_sql(d->admin,
		"CREATE OR REPLACE FUNCTION commit_meter_reads_isolated(idempotency_key text[], "
		"meter_id "
		"text[],"
		" read_at timestamptz[], sequence bigint[], kwh numeric[], reading_type text[],"
		" quality text[], attributes jsonb[])"
		" RETURNS TABLE (ordinal int, outcome text, committed jsonb, sqlstate text, "
		"message text)"
		" LANGUAGE sql AS $$"
		" SELECT v.i, v.o, NULL::jsonb, NULL, NULL FROM (VALUES %s) v (i, o) WHERE "
		"cardinality($1) > 0 "
		"$$",
		rows);
	cr_assert_eq(commit_batch(s, b), COMMIT_CONTRACT, "%s", rows);
	expect_all(b, OUTCOME_OUTAGE);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(contract, answers_that_break_it_settle_no_read)
{
	expect_breach("(6, 'duplicate')");
	expect_breach("(0, 'duplicate')");
	expect_breach("(NULL::int, 'duplicate')");
	expect_breach("(1, 'duplicate'), (1, 'duplicate')");
	expect_breach("(2, 'inserted')");
	expect_breach("(2, 'failed')");
	expect_breach("(0, 'untried')");
	expect_breach("(2, 'untried'), (3, 'duplicate')");
}

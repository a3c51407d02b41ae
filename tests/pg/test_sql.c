/* The SQL files themselves: rights, repetition, what the functions promise to every caller. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define CALL "SELECT outcome FROM commit_meter_reads"
#define SCANS "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'meter_read'"

Test(sql, installing_again_keeps_rows_rights_and_the_fixed_search_path)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(10);
	const char *state =
		"SELECT string_agg(proacl::text || proconfig::text || prosecdef, ' ' ORDER BY"
		" proname) FROM pg_proc WHERE proname LIKE 'commit_meter_reads%'";

	commit_batch(s, b);
	AUTO_FREE char *before = ask(d->admin, "%s", state);
	cr_expect(strstr(before, "search_path=public, pg_temp"), "%s", before);
	install_sql(d->admin);
	install_sql(d->admin);
	AUTO_FREE char *after = ask(d->admin, "%s", state);
	cr_expect_str_eq(after, before);
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_DUPLICATE);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sql, installs_into_the_schema_of_the_connection)
{
	struct database *d = database_new();
	struct sink_pg_config config;
	struct batch *b = batch_new(3);
	struct sink *s;

	run_sql(d->admin, "CREATE SCHEMA \"My Reads\"; SET search_path = \"My Reads\"");
	install_sql(d->admin);
	config = sink_config(d->conninfo);
	config.function = "My Reads.commit_meter_reads";
	s = sink_pg_new(&config);
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
	cr_expect_eq(ask_number(d->admin, "SELECT count(*) FROM \"My Reads\".meter_read"), 3);
	cr_expect_eq(ask_number(d->admin, "SELECT count(*) FROM public.meter_read"), 0);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

/* A database whose owner is no super user, and a login role that is only a meter_read_writer. */
struct least {
	struct database *d;
	char owner[80], writer[80];
	PGconn *as_writer;
	struct sink *s;
};

static PGconn *connect_role(const struct database *d, const char *role)
{
	AUTO_FREE char *conninfo = NULL;

	cr_assert_gt(asprintf(&conninfo, "%s user=%s", d->conninfo, role), 0);
	return connect_as(conninfo);
}

static struct least least_new(void)
{
	struct least l = {.d = database_new()};
	AUTO_FREE char *conninfo = NULL;
	struct sink_pg_config config;
	PGconn *owner;

	snprintf(l.owner, sizeof(l.owner), "%s_owner", l.d->name);
	snprintf(l.writer, sizeof(l.writer), "%s_writer", l.d->name);
	run_sql(l.d->admin,
		"DROP TABLE meter_read CASCADE;"
		"DROP FUNCTION commit_meter_reads, commit_meter_reads_isolated;"
		"CREATE ROLE %s LOGIN; CREATE ROLE %s LOGIN IN ROLE meter_read_writer;"
		"ALTER DATABASE %s OWNER TO %s",
		l.owner, l.writer, l.d->name, l.owner);
	owner = connect_role(l.d, l.owner);
	run_sql(owner, "CREATE SCHEMA reads; SET search_path = reads");
	install_sql(owner);
	PQfinish(owner);
	run_sql(l.d->admin, "ALTER DATABASE %s SET search_path = reads", l.d->name);
	l.as_writer = connect_role(l.d, l.writer);
	cr_assert_gt(asprintf(&conninfo, "%s user=%s", l.d->conninfo, l.writer), 0);
	config = sink_config(conninfo);
	l.s = sink_pg_new(&config);
	return l;
}

static void least_free(struct least *l)
{
	sink_pg_free(l->s);
	PQfinish(l->as_writer);
	run_sql(l->d->admin,
		"ALTER DATABASE %s OWNER TO postgres; DROP OWNED BY %s, %s CASCADE;"
		"DROP ROLE %s, %s",
		l->d->name, l->owner, l->writer, l->owner, l->writer);
	database_free(l->d);
}

Test(sql, the_least_privileged_role_is_enough_for_every_outcome)
{
	struct least l = least_new();
	struct batch *b = batch_new(30);

	run_sql(l.d->admin, "ALTER TABLE reads.meter_read ADD CHECK (meter_id <> 'BAD')");
	b->reads[5].meter_id = BAD;
	cr_assert_eq(commit_batch(l.s, b), COMMIT_DONE, "%s", b->commit.last.message);
	expect_one_failed(b, 5, "23514");
	b->reads[6].kwh = SLICE_LIT("9");
	cr_assert_eq(commit_batch(l.s, b), COMMIT_DONE);
	cr_expect_eq(b->outcomes[5].kind, OUTCOME_FAILED);
	cr_expect_eq(b->outcomes[6].kind, OUTCOME_CONFLICT);
	cr_expect_eq(b->outcomes[7].kind, OUTCOME_DUPLICATE);
	batch_free(b);
	least_free(&l);
}

Test(sql, the_least_privileged_role_can_do_nothing_else)
{
	static const char *const FORBIDDEN[] = {
		"SELECT FROM reads.meter_read",
		"SELECT FROM reads.meter_read_current",
		"INSERT INTO reads.meter_read VALUES ('k', 'm', now(), 1, 1)",
		"UPDATE reads.meter_read SET kwh = 0",
		"DELETE FROM reads.meter_read",
		"TRUNCATE reads.meter_read",
		"COPY reads.meter_read TO STDOUT",
		"DO $$ BEGIN LOCK TABLE reads.meter_read; END $$",
		"ALTER TABLE reads.meter_read ADD x int",
		"DROP FUNCTION reads.commit_meter_reads",
		"CREATE TABLE reads.mine (i int)",
	};
	struct least l = least_new();

	for (size_t i = 0; i < ARRAY_LEN(FORBIDDEN); i++)
		cr_expect_str_eq(
			sqlstate_of(l.as_writer, FORBIDDEN[i]), "42501", "%s", FORBIDDEN[i]);
	least_free(&l);
}

Test(sql, a_role_that_was_not_granted_it_may_not_call_the_function)
{
	struct least l = least_new();

	run_sql(l.d->admin, "REVOKE meter_read_writer FROM %s", l.writer);
	run_sql(l.d->admin, "GRANT USAGE ON SCHEMA reads TO %s", l.writer);
	struct sink_result refused = probe(l.s);
	cr_expect_str_eq(refused.code, "42501", "%s", refused.message);
	cr_expect_eq(refused.class, SQL_CONTRACT);
	run_sql(l.d->admin, "GRANT meter_read_writer TO %s", l.writer);
	struct sink_result r = probe(l.s);
	cr_expect_eq(r.class, SQL_OK, "%s %s", r.code, r.message);
	least_free(&l);
}

Test(sql, a_temporary_table_of_the_caller_does_not_catch_the_rows)
{
	struct least l = least_new();

	run_sql(l.as_writer,
		"CREATE TEMP TABLE meter_read (idempotency_key text PRIMARY KEY,"
		" meter_id text, read_at timestamptz, sequence bigint, kwh numeric,"
		" reading_type text, quality text, attributes jsonb);" CALL
		"('{k}', '{m}', '{2026-01-01}', '{1}', '{1}', '{A}', '{A}', '{null}')");
	cr_expect_eq(ask_number(l.d->admin, "SELECT count(*) FROM reads.meter_read"), 1);
	least_free(&l);
}

Test(sql, inserts_in_the_byte_order_of_the_keys_so_that_writers_do_not_deadlock)
{
	struct database *d = database_new();

	run_sql(d->admin,
		CALL "('{b,B,a,_,A}', '{m,m,m,m,m}', array_fill('2026-01-01'::timestamptz,"
		     " '{5}'), '{1,1,1,1,1}', '{1,1,1,1,1}', '{A,A,A,A,A}', '{A,A,A,A,A}',"
		     " array_fill(NULL::jsonb, '{5}'))");
	AUTO_FREE char *keys = ask(d->admin, "SELECT string_agg(idempotency_key, '' ORDER BY ctid)"
					     " FROM meter_read");
	cr_expect_str_eq(keys, "AB_ab");
	database_free(d);
}

Test(sql, of_a_key_given_twice_in_one_call_the_first_is_inserted)
{
	struct database *d = database_new();
	AUTO_FREE char *outcomes =
		ask(d->admin, "SELECT string_agg(ordinal || outcome, ' ' ORDER BY ordinal) FROM "
			      "commit_meter_reads("
			      "'{b,a,b,b}', '{m,m,m,m}', "
			      "'{2026-01-01,2026-01-01,2026-01-01,2026-01-01}', '{1,1,1,1}',"
			      " '{1.0,2,1,3}', '{A,A,A,A}', '{A,A,A,A}', '{null,null,null,null}')");

	cr_expect_str_eq(outcomes, "3duplicate 4conflict");
	database_free(d);
}

Test(sql, reads_are_looked_up_by_the_index_even_where_the_table_was_small_at_first)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(10);
	long scans = ask_number(d->admin, SCANS);

	commit_batch(s, b);
	run_sql(d->admin,
		"VACUUM ANALYZE meter_read"); /* before, the planner takes it for larger */
	commit_batch(s, b);
	expect_all(b, OUTCOME_DUPLICATE);
	sink_pg_free(s); /* its session hands in its statistics */
	await_true(d->admin,
		"SELECT idx_scan >= 10 FROM pg_stat_user_tables WHERE relname = 'meter_read'");
	cr_expect_eq(ask_number(d->admin, SCANS), scans);
	batch_free(b);
	database_free(d);
}

Test(sql, arrays_of_different_lengths_are_refused)
{
	struct database *d = database_new();

	cr_expect_str_eq(
		sqlstate_of(d->admin, CALL "('{k}', '{m}', '{2026-01-01}', '{1}', '{1}', '{}',"
					   " '{A}', '{null}')"),
		"22023");
	cr_expect_str_eq(
		sqlstate_of(d->admin, CALL "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"),
		"22023");
	cr_expect_str_eq(sqlstate_of(d->admin, "SELECT FROM commit_meter_reads_isolated("
					       "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"),
		"22023");
	cr_expect_str_eq(
		sqlstate_of(d->admin, "SELECT FROM commit_meter_reads_isolated('{k}', '{m}',"
				      " '{2026-01-01}', '{1}', '{1}', '{}', '{A}', '{null}')"),
		"22023");
	database_free(d);
}

Test(sql, the_view_shows_the_highest_sequence_per_meter_instant_and_type)
{
	struct database *d = database_new();

	run_sql(d->admin,
		CALL "('{a,b,c,d}', '{m,m,m,m}',"
		     " '{2026-01-01,2026-01-01,2026-01-01,2026-01-02}', '{1,2,1,1}',"
		     " '{1,2,3,4}', '{X,X,NULL,X}', '{A,A,A,A}', '{null,null,null,null}')");
	AUTO_FREE char *keys = ask(d->admin,
		"SELECT string_agg(idempotency_key, '' ORDER BY 1) FROM meter_read_current"
		"");
	cr_expect_str_eq(keys, "bcd");
	database_free(d);
}

Test(sql, a_transaction_has_its_own_settings_whatever_the_defaults)
{
	struct database *d = database_new();
	struct batch *b = batch_new(1);
	struct sink *s;

	run_sql(d->admin, "ALTER DATABASE %s SET synchronous_commit = off", d->name);
	run_sql(d->admin, "ALTER DATABASE %s SET default_transaction_isolation = serializable",
		d->name);
	run_sql(d->admin, "ALTER DATABASE %s SET statement_timeout = '1h'", d->name);
	run_sql(d->admin, "CREATE TABLE seen AS SELECT ''::text AS settings LIMIT 0");
	set_trap(d->admin,
		"INSERT INTO seen SELECT concat_ws(' ',"
		"current_setting('synchronous_commit'), current_setting('transaction_isolation'),"
		"current_setting('statement_timeout'), current_setting('lock_timeout'),"
		"current_setting('application_name'));");
	b->reads[0].meter_id = BAD;
	s = sink_of(d);
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	AUTO_FREE char *seen = ask(d->admin, "SELECT settings FROM seen");
	cr_expect_str_eq(seen, "on read committed 5s 300ms meter-dlq-test");
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

Test(sql, a_duplicate_is_durable_when_its_commit_returns)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(1);
	PGconn *other = connect_as(d->conninfo);

	/* so that nothing but a commit flushes the log */
	run_sql(d->admin, "ALTER SYSTEM SET wal_writer_delay = '10s'");
	run_sql(d->admin, "SELECT pg_reload_conf()");
	cr_assert_eq(probe(s).class, SQL_OK);
	run_sql(other, "SET synchronous_commit = off");
	run_sql(other,
		CALL "('{r00000}', '{MTR-00000000}', '{2026-07-17T00:00:00Z}', '{1}', '{1.5}',"
		     " '{1-0:1.8.0*255}', '{MEASURED}', '{null}')");
	AUTO_FREE char *end = ask(other, "SELECT pg_current_wal_insert_lsn()");
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_DUPLICATE);
	AUTO_FREE char *flushed =
		ask(other, "SELECT pg_current_wal_flush_lsn() >= '%s'::pg_lsn", end);
	cr_expect_str_eq(flushed, "t");
	run_sql(d->admin, "ALTER SYSTEM RESET wal_writer_delay");
	run_sql(d->admin, "SELECT pg_reload_conf()");
	PQfinish(other);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

/* A live pipeline in another process: the same keys, in the opposite order, 100 a call. */
static pid_t start_live_writer(const struct database *d)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		PGconn *conn = PQconnectdb(d->conninfo);
		PGresult *r = PQexec(conn,
			"DO $$ BEGIN FOR i IN REVERSE 49..0 LOOP PERFORM commit_meter_reads("
			"array_agg('r' || lpad(k::text, 5, '0') ORDER BY k DESC),"
			"array_agg('MTR-' || lpad(k::text, 8, '0') ORDER BY k DESC),"
			"array_agg('2026-07-17T00:00:00Z'::timestamptz), array_agg(1::bigint),"
			"array_agg(1.5), array_agg('1-0:1.8.0*255'::text), "
			"array_agg('MEASURED'::text),"
			"array_agg(NULL::jsonb)) FROM generate_series(i * 100, i * 100 + 99) k;"
			"COMMIT; END LOOP; END $$");

		_exit(PQresultStatus(r) == PGRES_COMMAND_OK ? 0 : 1);
	}
	return pid;
}

Test(sql, a_live_writer_of_the_same_keys_loses_and_doubles_nothing)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(5000);
	size_t inserted = 0;
	int status = -1;
	pid_t pid;

	cr_assert_eq(probe(s).class, SQL_OK);
	pid = start_live_writer(d);
	await_true(d->admin, "SELECT count(*) > 500 FROM meter_read");
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
	for (size_t i = 0; i < b->n; i++) {
		cr_assert(b->outcomes[i].kind == OUTCOME_COMMITTED ||
			  b->outcomes[i].kind == OUTCOME_DUPLICATE);
		inserted += b->outcomes[i].kind == OUTCOME_COMMITTED;
	}
	cr_expect_eq(ask_number(d->admin, "SELECT count(*) FROM meter_read"), 5000);
	cr_expect_lt(inserted, 5000);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

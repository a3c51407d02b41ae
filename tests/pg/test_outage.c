/* Trouble with the server burns no attempt, and the sink recovers by itself. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "proxy.h"

/* A sink that reaches its database through a proxy. */
struct fixture {
	struct database *d;
	struct proxy *proxy;
	char *conninfo;
	struct sink *s;
	struct batch *b;
	bool cut; /* the fault has been made */
};

static struct fixture fixture_new(size_t n)
{
	struct fixture f = {.d = database_new(), .b = batch_new(n)};
	struct sink_pg_config config;

	f.proxy = proxy_new(atoi(PQport(f.d->admin)));
	cr_assert_gt(asprintf(&f.conninfo, "%s host=127.0.0.1 port=%d connect_timeout=1",
			     f.d->conninfo, proxy_port(f.proxy)),
		0);
	config = sink_config(f.conninfo);
	config.statement_timeout_ms = 500;
	f.s = sink_pg_new(&config);
	return f;
}

static void fixture_free(struct fixture *f)
{
	sink_pg_free(f->s);
	proxy_free(f->proxy);
	batch_free(f->b);
	database_free(f->d);
	free(f->conninfo);
}

static void expect_probe(struct fixture *f, enum sql_class class)
{
	struct sink_result r = probe(f->s);

	cr_assert_eq(r.class, class, "%s: %s %s", sql_class_name(r.class), r.code, r.message);
}

/* All is well again: every read is committed, or was. */
static void expect_recovery(struct fixture *f)
{
	cr_assert_eq(commit_batch(f->s, f->b), COMMIT_DONE, "%s", f->b->commit.last.message);
	for (size_t i = 0; i < f->b->n; i++)
		cr_assert(f->b->outcomes[i].kind == OUTCOME_COMMITTED ||
			  f->b->outcomes[i].kind == OUTCOME_DUPLICATE);
	cr_expect_eq(ask_number(f->d->admin, "SELECT count(*) FROM meter_read"), (long)f->b->n);
}

Test(outage, a_server_that_refuses_connections_is_an_outage)
{
	struct fixture f = fixture_new(10);

	proxy_set(f.proxy, PROXY_CUT);
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_OUTAGE);
	expect_all(f.b, OUTCOME_OUTAGE);
	cr_expect_eq(f.b->calls, 2);
	cr_expect(!f.b->commit.last.backend_lost);
	proxy_set(f.proxy, PROXY_PASS);
	expect_recovery(&f);
	fixture_free(&f);
}

Test(outage, a_server_that_does_not_answer_to_connections_is_an_outage_within_the_time_to_connect)
{
	struct fixture f = fixture_new(10);
	int64_t begin = now_ms();

	proxy_set(f.proxy, PROXY_SILENT);
	f.s->ops->send(f.s, SINK_COMMIT, f.b->pointers, f.b->n);
	cr_expect_lt(now_ms() - begin, 500, "send does not wait");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_OUTAGE);
	expect_all(f.b, OUTCOME_OUTAGE);
	cr_expect_lt(now_ms() - begin, 6000);
	fixture_free(&f);
}

Test(outage, a_socket_that_goes_silent_under_a_call_is_given_up_at_the_deadline)
{
	struct fixture f = fixture_new(10);
	int64_t begin = now_ms();

	expect_probe(&f, SQL_OK);
	proxy_set(f.proxy, PROXY_SILENT);
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_OUTAGE);
	expect_all(f.b, OUTCOME_OUTAGE);
	cr_expect_lt(now_ms() - begin, 16000);
	proxy_set(f.proxy, PROXY_PASS);
	expect_recovery(&f);
	fixture_free(&f);
}

/* Once the rows are there, the connection breaks and its reply is lost. */
static void cut_after_commit(void *arg)
{
	struct fixture *f = arg;

	if (f->cut || ask_number(f->d->admin, "SELECT count(*) FROM meter_read") != (long)f->b->n)
		return;
	f->cut = true;
	proxy_set(f->proxy, PROXY_CUT);
	await_true(f->d->admin, "SELECT count(*) = 0 FROM pg_stat_activity"
				" WHERE application_name = 'meter-dlq-test'");
	proxy_set(f->proxy, PROXY_PASS);
}

Test(outage, a_commit_whose_reply_is_lost_is_found_committed_by_the_next_call)
{
	struct fixture f = fixture_new(1000);

	expect_probe(&f, SQL_OK);
	proxy_set(f.proxy, PROXY_HOLD_REPLIES);
	cr_assert_eq(commit_batch_meanwhile(f.s, f.b, cut_after_commit, &f), COMMIT_DONE, "%s",
		f.b->commit.last.message);
	expect_all(f.b, OUTCOME_DUPLICATE);
	cr_expect_eq(ask_number(f.d->admin, "SELECT count(*) FROM meter_read"), 1000);
	cr_expect_eq(
		ask_number(f.d->admin, "SELECT count(DISTINCT committed_at) FROM meter_read"), 1);
	fixture_free(&f);
}

Test(outage, a_connection_that_ended_between_two_calls_costs_nothing)
{
	struct database *d = database_new();
	struct sink *s = sink_of(d);
	struct batch *b = batch_new(1);

	cr_assert_eq(probe(s).class, SQL_OK);
	run_sql(d->admin, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
			  " WHERE application_name = 'meter-dlq-test'");
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE);
	expect_all(b, OUTCOME_COMMITTED);
	cr_expect_eq(b->calls, 1);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

static void set_standby(struct database *d, const char *name)
{
	run_sql(d->admin, "ALTER SYSTEM SET synchronous_standby_names = '%s'", name);
	run_sql(d->admin, "SELECT pg_reload_conf()");
	await_true(d->admin, "SELECT current_setting('synchronous_standby_names') = '%s'", name);
}

/* Once the COMMIT waits for the standby that is not there. */
static void cancel_wait_for_standby(void *arg)
{
	struct fixture *f = arg;

	if (f->cut ||
		!ask_number(f->d->admin,
			"SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
			" WHERE application_name = 'meter-dlq-test' AND wait_event = 'SyncRep'"))
		return;
	f->cut = true;
	await_true(f->d->admin,
		"SELECT count(*) = 0 FROM pg_stat_activity"
		" WHERE application_name = 'meter-dlq-test' AND wait_event = 'SyncRep'");
	set_standby(f->d, "");
}

Test(outage, a_commit_that_a_warning_says_is_not_replicated_is_no_answer)
{
	struct fixture f = fixture_new(10);

	expect_probe(&f, SQL_OK);
	set_standby(f.d, "nobody");
	cr_assert_eq(commit_batch_meanwhile(f.s, f.b, cancel_wait_for_standby, &f), COMMIT_DONE);
	cr_expect(strstr(f.b->commit.last.message, "synchronous replication"), "%s",
		f.b->commit.last.message);
	expect_all(f.b, OUTCOME_DUPLICATE);
	fixture_free(&f);
}

Test(outage, a_primary_that_became_read_only_is_an_outage_and_the_connection_is_made_anew)
{
	struct fixture f = fixture_new(10);

	expect_probe(&f, SQL_OK);
	run_sql(f.d->admin, "ALTER SYSTEM SET default_transaction_read_only = on");
	run_sql(f.d->admin, "SELECT pg_reload_conf()");
	await_true(f.d->admin, "SELECT current_setting('default_transaction_read_only') = 'on'");
	cr_expect_eq(commit_batch(f.s, f.b), COMMIT_OUTAGE);
	expect_all(f.b, OUTCOME_OUTAGE);
	cr_expect(strstr(f.b->commit.last.message, "session is read-only"), "%s",
		f.b->commit.last.message);
	run_sql(f.d->admin, "ALTER SYSTEM RESET default_transaction_read_only");
	run_sql(f.d->admin, "SELECT pg_reload_conf()");
	await_true(f.d->admin, "SELECT current_setting('default_transaction_read_only') = 'off'");
	expect_recovery(&f);
	fixture_free(&f);
}

Test(outage, too_many_connections_are_an_outage)
{
	struct fixture f = fixture_new(10);
	struct sink_pg_config config;
	AUTO_FREE char *conninfo = NULL;
	struct sink_result r;

	run_sql(f.d->admin, "CREATE ROLE %s LOGIN CONNECTION LIMIT 0", f.d->name);
	cr_assert_gt(asprintf(&conninfo, "%s user=%s", f.d->conninfo, f.d->name), 0);
	config = sink_config(conninfo);
	sink_pg_free(f.s);
	f.s = sink_pg_new(&config);
	r = probe(f.s);
	cr_expect_eq(r.class, SQL_OUTAGE, "%s", r.message);
	cr_expect_str_eq(r.code, "53300");
	run_sql(f.d->admin, "DROP ROLE %s", f.d->name);
	fixture_free(&f);
}

Test(outage, a_table_that_another_session_locks_is_an_outage_because_the_probe_waits_too)
{
	struct fixture f = fixture_new(10);

	run_sql(f.d->admin, "BEGIN; LOCK TABLE meter_read");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_OUTAGE);
	expect_all(f.b, OUTCOME_OUTAGE);
	cr_expect_str_eq(f.b->commit.last.code, "55P03");
	run_sql(f.d->admin, "ROLLBACK");
	expect_recovery(&f);
	fixture_free(&f);
}

Test(outage, what_fails_without_any_read_is_no_fault_of_a_read_alone)
{
	struct fixture f = fixture_new(1);

	run_sql(f.d->admin, "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql"
			    " AS $$ BEGIN RAISE 'closed'; END $$;"
			    "CREATE TRIGGER no BEFORE INSERT ON meter_read EXECUTE FUNCTION no()");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_OUTAGE);
	expect_all(f.b, OUTCOME_OUTAGE);
	run_sql(f.d->admin, "DROP TRIGGER no ON meter_read");
	expect_recovery(&f);
	fixture_free(&f);
}

Test(outage, more_than_twenty_reads_that_only_fail_with_an_outage_class_are_an_outage)
{
	struct fixture f = fixture_new(30);

	for (size_t i = 0; i < f.b->n; i++)
		f.b->reads[i].meter_id = BAD;
	set_trap(f.d->admin, "RAISE 'no space' USING ERRCODE = 'disk_full';");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_OUTAGE);
	expect_all(f.b, OUTCOME_OUTAGE);
	set_trap(f.d->admin, "NULL;");
	expect_recovery(&f);
	fixture_free(&f);
}

Test(outage, a_disk_that_runs_full_under_a_batch_burns_no_attempt)
{
	struct fixture f = fixture_new(5000);
	const char *tiny = getenv("PG_TEST_TINY");
	size_t committed = 0;

	cr_assert_not_null(tiny, "PG_TEST_TINY: a folder on a tiny file system is needed");
	run_sql(f.d->admin, "CREATE TABLESPACE tiny LOCATION '%s'", tiny);
	run_sql(f.d->admin, "ALTER TABLE meter_read SET TABLESPACE tiny");
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_OUTAGE);
	cr_expect_str_eq(f.b->commit.last.code, "53100", "%s", f.b->commit.last.message);
	for (size_t i = 0; i < f.b->n; i++) {
		cr_assert(f.b->outcomes[i].kind == OUTCOME_COMMITTED ||
				  f.b->outcomes[i].kind == OUTCOME_OUTAGE,
			"read %zu: %d %s", i, (int)f.b->outcomes[i].kind, f.b->outcomes[i].code);
		committed += f.b->outcomes[i].kind == OUTCOME_COMMITTED;
	}
	cr_expect_eq((size_t)ask_number(f.d->admin, "SELECT count(*) FROM meter_read"), committed);
	run_sql(f.d->admin, "ALTER TABLE meter_read SET TABLESPACE pg_default");
	run_sql(f.d->admin, "DROP TABLESPACE tiny");
	expect_recovery(&f);
	fixture_free(&f);
}

/* After a crash, which ends every connection. */
static void reconnect(struct database *d)
{
	int64_t end = now_ms() + 20000;

	while (PQstatus(d->admin) == CONNECTION_OK && now_ms() < end)
		PQclear(PQexec(d->admin, "SELECT 1"));
	while (PQstatus(d->admin) != CONNECTION_OK && now_ms() < end)
		PQreset(d->admin);
	PQfinish(d->admin);
	d->admin = connect_as(d->conninfo);
}

/* Once the batch waits for the row that the admin holds. */
static void kill_waiting_backend(void *arg)
{
	PGconn *conn = arg;

	sqlstate_of(conn,
		"DO $$ DECLARE victim int := (SELECT pid FROM pg_stat_activity"
		" WHERE application_name = 'meter-dlq-test' AND wait_event_type = 'Lock');"
		"BEGIN IF victim IS NOT NULL THEN EXECUTE format("
		"'COPY (SELECT 1) TO PROGRAM ''kill -9 %s''', victim); END IF; END $$");
}

Test(outage, a_backend_that_dies_by_sigkill_takes_the_server_down_and_no_read_has_failed)
{
	struct fixture f = fixture_new(1000);
	struct sink_pg_config config = sink_config(f.conninfo);
	PGconn *killer = connect_as(f.d->conninfo);

	config.lock_timeout_ms = 5000;
	sink_pg_free(f.s);
	f.s = sink_pg_new(&config);
	run_sql(f.d->admin,
		"BEGIN; INSERT INTO meter_read VALUES ('r00500', 'other', now(), 1, 1)");
	commit_batch_meanwhile(f.s, f.b, kill_waiting_backend, killer);
	for (size_t i = 0; i < f.b->n; i++)
		cr_assert(f.b->outcomes[i].kind != OUTCOME_FAILED &&
			  f.b->outcomes[i].kind != OUTCOME_CONFLICT);
	PQfinish(killer);
	reconnect(f.d);
	expect_recovery(&f);
	fixture_free(&f);
}

/* A trigger that kills its own backend hard, for reads of the meter BAD. */
static void set_crash(PGconn *conn)
{
	set_trap(conn, "EXECUTE format('COPY (SELECT 1) TO PROGRAM ''kill -9 %s''',"
		       " pg_backend_pid()); PERFORM pg_sleep(10);");
}

Test(outage, a_read_that_crashes_the_server_each_time_fails_and_its_neighbours_commit)
{
	struct fixture f = fixture_new(40);
	struct sink_pg_config config = sink_config(f.d->conninfo);

	sink_pg_free(f.s);
	f.s = sink_pg_new(&config);
	set_crash(f.d->admin);
	f.b->reads[25].meter_id = BAD;
	cr_assert_eq(commit_batch(f.s, f.b), COMMIT_DONE, "%s", f.b->commit.last.message);
	expect_one_failed(f.b, 25, "08006");
	reconnect(f.d);
	cr_expect_eq(ask_number(f.d->admin, "SELECT count(*) FROM meter_read"), 39);
	fixture_free(&f);
}

/* tests/support/servers does verb to the server of these tests. */
static void server(const char *verb)
{
	const char *folder = getenv("PG_TEST_SERVER");
	AUTO_FREE char *command = NULL;

	cr_assert_not_null(folder, "PG_TEST_SERVER: the folder of tests/support/servers is needed");
	cr_assert_gt(
		asprintf(&command, "'%s/servers' %s '%s' postgres", SUPPORT_DIR, verb, folder), 0);
	cr_assert_eq(system(command), 0, "%s", command);
}

static void kill_server_once(void *arg)
{
	bool *killed = arg;

	if (!*killed)
		server("kill");
	*killed = true;
}

Test(outage, a_postmaster_that_dies_by_sigkill_is_an_outage_until_it_is_back)
{
	struct fixture f = fixture_new(1000);
	bool killed = false;

	f.b->reads[500].meter_id = BAD;
	set_trap(f.d->admin, "PERFORM pg_sleep(60);");
	cr_assert_eq(commit_batch_meanwhile(f.s, f.b, kill_server_once, &killed), COMMIT_OUTAGE);
	expect_all(f.b, OUTCOME_OUTAGE);
	server("start");
	reconnect(f.d);
	set_trap(f.d->admin, "NULL;");
	expect_recovery(&f);
	fixture_free(&f);
}

Test(outage, neither_sending_nor_looking_for_the_result_waits_for_a_busy_server)
{
	struct database *d = database_new();
	struct sink_pg_config config = sink_config(d->conninfo);
	struct batch *b = batch_new(5000);
	struct buf json = {0};
	struct sink *s;
	struct sink_result r;
	struct err err;
	bool done = false;
	int64_t begin;

	config.statement_timeout_ms = 3000;
	s = sink_pg_new(&config);
	cr_assert_eq(probe(s).class, SQL_OK);
	buf_printf(&json, "{\"a\": \"%04000d\"}", 0); /* 20 MB in all, more than buffers hold */
	for (size_t i = 0; i < b->n; i++)
		b->reads[i].attributes = slice_of(json.p, json.n);
	b->reads[0].meter_id = BAD;
	set_trap(d->admin, "PERFORM pg_sleep(60);");
	begin = now_ms();
	s->ops->send(s, SINK_COMMIT, b->pointers, b->n);
	cr_assert_lt(now_ms() - begin, 1500);
	while (!done) {
		begin = now_ms();
		cr_assert_eq(s->ops->result(s, 0, &b->answers, b->outcomes, &done, &r, &err), 0);
		cr_assert_lt(now_ms() - begin, 1500);
	}
	cr_expect_str_eq(r.code, "57014");
	buf_free(&json);
	batch_free(b);
	sink_pg_free(s);
	database_free(d);
}

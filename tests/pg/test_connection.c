/* Connections as a DBA expects: service files, URIs, environment, standbys. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

static struct sink_result probe_conninfo(const char *conninfo)
{
	struct sink_pg_config config = sink_config(conninfo);
	struct sink *s = sink_pg_new(&config);
	struct sink_result r = probe(s);

	sink_pg_free(s);
	return r;
}

static void expect_ok(const char *conninfo)
{
	struct sink_result r = probe_conninfo(conninfo);

	cr_expect_eq(r.class, SQL_OK, "%s: %s %s", conninfo, r.code, r.message);
}

/* A service "meters" that leads to the database, and the environment names the file. */
static void write_service(const struct database *d, const char *path)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	fprintf(f, "[meters]\nhost=%s\nport=%s\nuser=%s\ndbname=%s\n", PQhost(d->admin),
		PQport(d->admin), PQuser(d->admin), d->name);
	fclose(f);
	setenv("PGSERVICEFILE", path, 1);
}

Test(connection, a_service_leads_to_the_database_and_its_conninfo_goes_before_it)
{
	struct database *d = database_new();
	char path[] = "/tmp/meter-dlq-service-XXXXXX";
	struct sink_result r;

	close(mkstemp(path));
	write_service(d, path);
	expect_ok("service=meters");
	expect_ok("postgresql:///?service=meters");
	setenv("PGSERVICE", "meters", 1);
	expect_ok("");
	setenv("PGDATABASE", "no_such_database",
		1); /* libpq: a service goes before the environment */
	expect_ok("");
	r = probe_conninfo("service=meters dbname=no_such_database");
	cr_expect_str_eq(r.code, "3D000", "%s", r.message);
	r = probe_conninfo("service=no_such_service");
	cr_expect_eq(r.class, SQL_OUTAGE);
	cr_expect(strstr(r.message, "no_such_service"), "%s", r.message);
	unlink(path);
	unsetenv("PGSERVICE");
	database_free(d);
}

Test(connection, what_a_uri_says_goes_before_the_environment_and_the_rest_comes_from_there)
{
	struct database *d = database_new();
	AUTO_FREE char *uri = NULL;

	cr_assert_gt(asprintf(&uri, "postgresql://%s@/%s?host=%s", PQuser(d->admin), d->name,
			     PQhost(d->admin)),
		0);
	setenv("PGPORT", PQport(d->admin), 1);
	setenv("PGDATABASE", "no_such_database", 1);
	setenv("PGUSER", "no_such_role", 1);
	expect_ok(uri);
	setenv("PGPORT", "1", 1);
	cr_expect_eq(probe_conninfo(uri).class, SQL_OUTAGE);
	database_free(d);
}

/* The name that Postgres shows of a sink's connection. */
static char *name_shown(const struct database *d, const char *words)
{
	AUTO_FREE char *conninfo = NULL;
	struct sink_pg_config config;
	struct sink *s;
	char *name;

	cr_assert_gt(asprintf(&conninfo, "%s %s", d->conninfo, words), 0);
	config = sink_config(conninfo);
	s = sink_pg_new(&config);
	cr_assert_eq(probe(s).class, SQL_OK);
	name = ask(d->admin, "SELECT application_name FROM pg_stat_activity"
			     " WHERE datname = current_database() AND pid <> pg_backend_pid()");
	sink_pg_free(s);
	await_true(d->admin, "SELECT count(*) = 1 FROM pg_stat_activity"
			     " WHERE datname = current_database()");
	return name;
}

Test(connection, application_name_is_ours_unless_the_user_says_otherwise)
{
	struct database *d = database_new();
	AUTO_FREE char *ours = name_shown(d, "");
	AUTO_FREE char *conninfo = name_shown(d, "application_name=theirs");

	cr_expect_str_eq(ours, "meter-dlq-test");
	cr_expect_str_eq(conninfo, "theirs");
	setenv("PGAPPNAME", "environment", 1);
	AUTO_FREE char *environment = name_shown(d, "");
	cr_expect_str_eq(environment, "environment");
	database_free(d);
}

/* --- a standby --- */

static void standby(const char *verb, const char *arguments)
{
	const char *folder = getenv("PG_TEST_SERVER");
	AUTO_FREE char *command = NULL;

	cr_assert_not_null(folder, "PG_TEST_SERVER: the folder of tests/support/servers is needed");
	cr_assert_gt(
		asprintf(&command, "'%s/standby' %s '%s' %s", HERE, verb, folder, arguments), 0);
	cr_assert_eq(system(command), 0, "%s", command);
}

static void expect_committed(struct sink *s, struct batch *b)
{
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
	expect_all(b, OUTCOME_COMMITTED);
}

static struct sink *sink_at(const struct database *d, const char *ports, const char *words)
{
	AUTO_FREE char *conninfo = NULL;
	struct sink_pg_config config;

	cr_assert_gt(asprintf(&conninfo, "%s %s %s", d->conninfo, ports, words), 0);
	config = sink_config(conninfo);
	return sink_pg_new(&config);
}

Test(connection, a_standby_is_passed_over_and_is_an_outage_until_it_is_promoted)
{
	struct database *d = database_new();
	int port = free_port();
	AUTO_FREE char *make = NULL;
	AUTO_FREE char *alone = NULL;
	AUTO_FREE char *both = NULL;
	struct sink *at_both, *at_standby, *at_any;
	struct batch *b = batch_new(10);
	struct sink_result r;

	cr_assert_gt(asprintf(&make, "\"%s\" %d", d->conninfo, port), 0);
	cr_assert_gt(asprintf(&alone, "host=127.0.0.1 port=%d", port), 0);
	cr_assert_gt(
		asprintf(&both, "host=127.0.0.1,127.0.0.1 port=%d,%s", port, PQport(d->admin)), 0);
	at_both = sink_at(d, both, "");
	at_standby = sink_at(d, alone, "");
	at_any = sink_at(d, alone, "target_session_attrs=any");

	standby("make", make);
	standby("start", "hot_standby=off"); /* as in recovery after a crash */
	r = probe(at_standby);
	cr_expect_eq(r.class, SQL_OUTAGE);
	cr_expect_str_eq(r.code, "57P03", "%s", r.message);

	standby("stop", "");
	standby("start", "hot_standby=on");
	r = probe(at_standby);
	cr_expect_eq(r.class, SQL_OUTAGE, "%s %s", r.code, r.message);
	cr_expect_eq(commit_batch(at_any, b), COMMIT_OUTAGE);
	cr_expect_str_eq(b->commit.last.code, "25006", "%s", b->commit.last.message);
	expect_all(b, OUTCOME_OUTAGE);
	b->n = 5;
	expect_committed(at_both, b);
	cr_expect_eq(ask_number(d->admin, "SELECT count(*) FROM meter_read"), 5);

	standby("promote", "");
	memmove(b->pointers, b->pointers + 5, 5 * sizeof(b->pointers[0]));
	expect_committed(at_standby, b);
	standby("stop", "");
	sink_pg_free(at_both);
	sink_pg_free(at_standby);
	sink_pg_free(at_any);
	batch_free(b);
	database_free(d);
}

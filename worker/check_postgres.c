/* check: Postgres, the two functions, what they rest on, and the rights of the role. */
#include "check.h"
#include "pg_blocking.h"

#include <stdlib.h>

#define OLDEST_VERSION 140000
#define ARGUMENTS "text[],text[],timestamptz[],bigint[],numeric[],text[],text[],jsonb[]"

static const struct {
	const char *suffix, *result; /* schemas/README.md, "The SQL contract" */
} functions[] = {
	{"", "TABLE(ordinal integer, outcome text, committed jsonb)"},
	{"_isolated", "TABLE(ordinal integer, outcome text, committed jsonb, sqlstate text, "
		      "message text)"},
};

static const char run_init[] = "run `meter-dlq init` as a role that may create functions";

/* The one value of a query; NULL: it failed, which has been said. */
static const char *ask(
	struct checking *c, PGconn *pg, const char *sql, const char *what, const char *todo)
{
	CLEANUP(pg_clearp) PGresult *res = PQexec(pg, sql);
	struct err err;

	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1) {
		check_failed(c, pg_fail(pg, res, what, &err), &err, todo);
		return NULL;
	}
	return arena_cstr(
		&c->arena, slice_of(PQgetvalue(res, 0, 0), (size_t)PQgetlength(res, 0, 0)));
}

static const char *grant(struct checking *c, PGconn *pg)
{
	return arena_printf(&c->arena, "GRANT meter_read_writer TO \"%s\"", PQuser(pg));
}

static void check_server(struct checking *c, PGconn *pg)
{
	const char *standby = ask(c, pg,
		"SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool",
		"asking for its state", "see the server's log");

	if (PQserverVersion(pg) < OLDEST_VERSION)
		check_wrong(c,
			arena_printf(&c->arena, "Postgres %s is too old",
				PQparameterStatus(pg, "server_version")),
			"upgrade to 14 or newer");
	if (standby && *standby == 't')
		check_wrong(c, "Postgres takes no writes: it is a standby, or read-only",
			"let sink.conninfo name the primary, or all hosts with "
			"target_session_attrs=read-write");
	else if (standby)
		check_ok(c, "Postgres %s, database %s as role %s",
			PQparameterStatus(pg, "server_version"), PQdb(pg), PQuser(pg));
}

static bool check_signature(struct checking *c, PGconn *pg, const char *name, const char *wanted)
{
	const char *is = ask(c, pg,
		arena_printf(&c->arena,
			"SELECT coalesce((SELECT "
			"pg_get_function_result(to_regprocedure('%s(" ARGUMENTS ")'))), '')",
			name),
		arena_printf(&c->arena, "looking for function %s", name), grant(c, pg));

	if (!is)
		return false;
	if (!*is)
		check_wrong(c,
			arena_printf(&c->arena, "there is no function %s(" ARGUMENTS ")", name),
			run_init);
	else if (strcmp(is, wanted) != 0)
		check_wrong(c,
			arena_printf(&c->arena, "function %s returns %s, not %s", name, is, wanted),
			run_init);
	return strcmp(is, wanted) == 0;
}

static bool check_execute(struct checking *c, PGconn *pg, const char *name)
{
	const char *may = ask(c, pg,
		arena_printf(&c->arena,
			"SELECT has_function_privilege('%s(" ARGUMENTS ")', 'EXECUTE')", name),
		"asking for the right to execute it", grant(c, pg));

	if (may && *may != 't')
		check_wrong(c,
			arena_printf(
				&c->arena, "role %s may not execute function %s", PQuser(pg), name),
			grant(c, pg));
	return may && *may == 't';
}

/* With no reads it plans and runs all its statements, so that a missing table, column or unique
 * constraint shows, and changes nothing: the worker's own probe. */
static void check_call(struct checking *c, PGconn *pg, const char *name)
{
	if (ask(c, pg,
		    arena_printf(&c->arena,
			    "SELECT count(*) FROM %s('{}','{}','{}','{}','{}','{}','{}','{}')",
			    name),
		    arena_printf(&c->arena, "calling %s without reads", name), run_init))
		check_ok(c, "function %s is there, may be executed, and finds what it needs", name);
}

/* `audit` and `show` alone need it, so a worker does without. */
static void check_select(struct checking *c, PGconn *pg)
{
	const char *table, *may;
	struct err err;

	if (config_committed_table(&c->arena, c->config, &table, &err)) {
		check_ok(c, "advice: %s; `audit` and `show` need it", err.text);
		return;
	}
	may = ask(c, pg,
		arena_printf(&c->arena,
			"SELECT CASE WHEN to_regclass('%s') IS NOT NULL"
			" THEN has_table_privilege(to_regclass('%s'), 'SELECT') END",
			table, table),
		"asking for the right to read the table", run_init);
	if (may && *may == 't')
		check_ok(c, "table %s can be read, for `audit` and `show`", table);
	else if (may && *may)
		check_ok(c,
			"advice: `audit` and `show` cannot read table %s, which `run` need not; "
			"GRANT SELECT ON %s TO \"%s\"",
			table, table, PQuser(pg));
	else if (may)
		check_ok(
			c, "advice: there is no table %s, which `audit` and `show` look in", table);
}

void check_postgres(struct checking *c)
{
	CLEANUP(pg_finishp) PGconn *pg = NULL;
	struct err err;
	int r = pg_connect(c->config->sink_conninfo, &pg, &err);

	if (r) {
		check_failed(c, r, &err, "start Postgres, or correct sink.conninfo");
		return;
	}
	check_server(c, pg);
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		const char *name = arena_printf(
			&c->arena, "%s%s", c->config->sink_function, functions[i].suffix);

		if (check_signature(c, pg, name, functions[i].result) && check_execute(c, pg, name))
			check_call(c, pg, name);
	}
	check_select(c, pg);
}

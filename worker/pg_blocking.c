#include "pg_blocking.h"

#include "sqlstate.h"

#include <string.h>

void pg_finishp(PGconn **conn)
{
	PQfinish(*conn);
}

void pg_clearp(PGresult **res)
{
	PQclear(*res);
}

static void drop_notice(void *arg, const PGresult *res)
{
	(void)arg;
	(void)res;
}

int pg_connect(const char *conninfo, PGconn **ret, struct err *err)
{
	/* The later ones win; what conninfo says stands behind dbname, which is expanded. */
	static const char *const names[] = {"application_name", "connect_timeout", "dbname", NULL};
	const char *values[] = {"meter-dlq", "10", conninfo, NULL};
	PGconn *conn = PQconnectdbParams(names, values, 1);

	if (PQstatus(conn) != CONNECTION_OK) {
		err_set(err, ERR_UNREACHABLE, "Postgres: %s", PQerrorMessage(conn));
		PQfinish(conn);
		return ERR_UNREACHABLE;
	}
	PQsetNoticeReceiver(conn, drop_notice, NULL);
	*ret = conn;
	return 0;
}

int pg_fail(PGconn *conn, const PGresult *res, const char *what, struct err *err)
{
	const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
	const char *text = res ? PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	enum err_class class = ERR_CONFIG;

	if (!state || PQstatus(conn) != CONNECTION_OK || sqlstate_class(state) == SQL_OUTAGE)
		class = ERR_UNREACHABLE;
	return err_set(err, class, "Postgres: %s: %s%s%s", what, state ? state : "",
		state ? " " : "", text ? text : PQerrorMessage(conn));
}

int pg_run(PGconn *conn, const char *sql, const char *what, struct err *err)
{
	PGresult *res = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(res);
	int r = 0;

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		r = pg_fail(conn, res, what, err);
	PQclear(res);
	return r;
}

/* pg_blocking.h: blocking Postgres connections, for the commands beside the worker. */
#ifndef WORKER_PG_BLOCKING_H
#define WORKER_PG_BLOCKING_H

#include "err.h"

#include <libpq-fe.h>

/* conninfo "": the usual PG* variables alone. The caller finishes *ret. */
MUST_CHECK int pg_connect(const char *conninfo, PGconn **ret, struct err *err);
void pg_finishp(PGconn **conn);
void pg_clearp(PGresult **res);

/* Runs statements without a result. what is for the error. */
MUST_CHECK int pg_run(PGconn *conn, const char *sql, const char *what, struct err *err);

/* The class and text of a failed result; res may be NULL. */
int pg_fail(PGconn *conn, const PGresult *res, const char *what, struct err *err);

#endif

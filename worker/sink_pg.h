/*
 * sink_pg.h: the real sink: Postgres through the two functions of schemas/sql. Its connections are
 * made when needed and anew after any trouble with them. Each takes a range of a call's reads, a
 * statement's at least, in a transaction of its own. The loop's thread only.
 */
#ifndef WORKER_SINK_PG_H
#define WORKER_SINK_PG_H

#include "sink.h"

struct sink_pg_config {
	/* As libpq takes it: key words, URI or database name; "": PG* variables and defaults. */
	const char *conninfo;
	/* NAME or SCHEMA.NAME, verbatim; the isolated one is the same with _isolated. */
	const char *function;
	const char *application_name;
	size_t connections;			   /* > 0; share the reads of a call */
	size_t statement_records;		   /* reads per call of the function, > 0 */
	int statement_timeout_ms, lock_timeout_ms; /* > 0 */
};

/* ERR_CONFIG where conninfo cannot be parsed or function is no such name. */
MUST_CHECK int sink_pg_check(const struct sink_pg_config *config, struct err *err);
/* Copies config. Does not connect: the first call does. */
struct sink *sink_pg_new(const struct sink_pg_config *config);
void sink_pg_free(struct sink *sink); /* NULL is fine */

#endif

/*
 * pg_arrays.h: reads as the eight array parameters of the SQL functions (formats:
 * schemas/README.md, "The SQL contract"). The loop's thread only.
 */
#ifndef WORKER_PG_ARRAYS_H
#define WORKER_PG_ARRAYS_H

#include <libpq-fe.h>

#include "meter_read.h"

#define PG_COLUMNS 8

/* Zero-initialise; memory is kept from call to call. */
struct pg_arrays {
	struct buf columns[PG_COLUMNS];
};

/*
 * Queues one statement with parameters $1 to $8: text[], text[], timestamptz[], bigint[], text[]
 * (the amounts: Postgres parses decimals), text[], text[], jsonb[]. False: see PQerrorMessage.
 */
bool pg_arrays_send(struct pg_arrays *a, PGconn *conn, const char *sql,
	const struct meter_read *const *reads, size_t n);
void pg_arrays_free(struct pg_arrays *a);

#endif

#include "row.h"

#include "pg_blocking.h"

#include <stdlib.h>

/* A table or view of somebody else's (audit.table) need not have attributes and committed_at. */
#define MICROSECONDS(column) "(extract(epoch FROM " column ") * 1000000)::bigint"
#define ATTRIBUTES_OF "nullif(to_jsonb(t) -> 'attributes', 'null')"
static const char query[] = "SELECT meter_id, " MICROSECONDS(
	"read_at") ", sequence, kwh, "
		   "reading_type, quality, " ATTRIBUTES_OF ", " MICROSECONDS(
			   "(to_jsonb(t) ->> 'committed_at')::timestamptz") ", "
									    "NOT to_jsonb(t) ? "
									    "'attributes' "
									    "OR " ATTRIBUTES_OF
									    " IS NOT DISTINCT FROM "
									    "$2::jsonb "
									    "FROM %s t WHERE "
									    "idempotency_key = $1";
enum {
	METER_ID,
	READ_AT,
	SEQUENCE,
	KWH,
	READING_TYPE,
	QUALITY,
	ATTRIBUTES,
	COMMITTED_AT,
	SAME_ATTRIBUTES
};

static struct slice field(const PGresult *res, struct arena *a, int column)
{
	if (PQgetisnull(res, 0, column))
		return SLICE_NULL;
	return arena_dup(
		a, slice_of(PQgetvalue(res, 0, column), (size_t)PQgetlength(res, 0, column)));
}

static int64_t number(const PGresult *res, int column)
{
	return strtoll(PQgetvalue(res, 0, column), NULL, 10);
}

int row_find(PGconn *pg, const char *table, struct arena *a, struct slice key,
	struct slice attributes, struct row *ret, struct err *err)
{
	const char *parameters[] = {
		arena_cstr(a, key), slice_is_null(attributes) ? NULL : arena_cstr(a, attributes)};
	CLEANUP(pg_clearp)
	PGresult *res =
		PQexecParams(pg, arena_printf(a, query, table), 2, NULL, parameters, NULL, NULL, 0);

	*ret = (struct row){0};
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return pg_fail(pg, res,
			arena_printf(a, "reading %s (it needs: GRANT SELECT ON %s)", table, table),
			err);
	if (PQntuples(res) == 0)
		return 0;
	*ret = (struct row){
		.found = true,
		.read = {.idempotency_key = key,
			.meter_id = field(res, a, METER_ID),
			.read_at_us = number(res, READ_AT),
			.sequence = number(res, SEQUENCE),
			.kwh = field(res, a, KWH),
			.reading_type = field(res, a, READING_TYPE),
			.quality = field(res, a, QUALITY),
			.attributes = field(res, a, ATTRIBUTES)},
		.committed_us =
			PQgetisnull(res, 0, COMMITTED_AT) ? ROW_NO_TIME : number(res, COMMITTED_AT),
		.same_attributes = *PQgetvalue(res, 0, SAME_ATTRIBUTES) == 't',
	};
	return 0;
}

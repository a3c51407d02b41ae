#include "row.h"

#include "pg_blocking.h"

#include <stdlib.h>

#define MICROSECONDS(column) "(extract(epoch FROM " column ") * 1000000)::bigint"
static const char query[] = "SELECT meter_id, " MICROSECONDS(
	"read_at") ", sequence, kwh, "
		   "reading_type, quality, attributes, " MICROSECONDS(
			   "committed_at") ", "
					   "attributes IS NOT DISTINCT FROM $2::jsonb FROM "
					   "meter_read WHERE idempotency_key = $1";
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

int row_find(PGconn *pg, struct arena *a, struct slice key, struct slice attributes,
	struct row *ret, struct err *err)
{
	const char *parameters[] = {
		arena_cstr(a, key), slice_is_null(attributes) ? NULL : arena_cstr(a, attributes)};
	CLEANUP(pg_clearp)
	PGresult *res = PQexecParams(pg, query, 2, NULL, parameters, NULL, NULL, 0);

	*ret = (struct row){0};
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return pg_fail(pg, res,
			"reading the table meter_read (it needs: GRANT SELECT ON meter_read)", err);
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
		.committed_us = number(res, COMMITTED_AT),
		.same_attributes = *PQgetvalue(res, 0, SAME_ATTRIBUTES) == 't',
	};
	return 0;
}

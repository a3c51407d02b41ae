#include "audit.h"
#include "decimal.h"
#include "meter_read.h"
#include "pg_blocking.h"

#include <stdlib.h>

/* Rows in the order of slice_cmp. */
static const char query[] =
	"SELECT idempotency_key, meter_id, (extract(epoch FROM read_at) * 1000000)::bigint, "
	"sequence,"
	" kwh, reading_type, quality FROM %s WHERE idempotency_key = ANY ($1::text[])"
	" ORDER BY idempotency_key COLLATE \"C\"";
enum { KEY, METER_ID, READ_AT, SEQUENCE, KWH, READING_TYPE, QUALITY };

char *audit_rows_query(const char *table)
{
	struct buf text = {0};

	buf_printf(&text, query, table);
	buf_add_byte(&text, 0);
	return (char *)text.p;
}

/* An element of an array literal (PostgreSQL manual, 8.15.6). */
static void add_element(struct buf *out, struct slice s)
{
	buf_add_byte(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			buf_add_byte(out, '\\');
		buf_add_byte(out, s.p[i]);
	}
	buf_add_byte(out, '"');
}

static void keys_literal(const struct audit_batch *b, struct buf *out)
{
	buf_add_byte(out, '{');
	for (size_t i = 0; i < b->n; i++) {
		if (b->v[i].unfit)
			continue;
		if (out->n > 1)
			buf_add_byte(out, ',');
		add_element(out, b->v[i].key);
	}
	buf_add(out, "}", 2);
}

static struct slice field(const PGresult *res, int row, int column)
{
	if (PQgetisnull(res, row, column))
		return SLICE_NULL;
	return slice_of(PQgetvalue(res, row, column), (size_t)PQgetlength(res, row, column));
}

/* The content of a row; false where it is none that we would have written. */
static bool row_content(const PGresult *res, int row, uint64_t *ret)
{
	struct meter_read read = {
		.idempotency_key = field(res, row, KEY),
		.meter_id = field(res, row, METER_ID),
		.read_at_us = strtoll(PQgetvalue(res, row, READ_AT), NULL, 10),
		.sequence = strtoll(PQgetvalue(res, row, SEQUENCE), NULL, 10),
		.kwh = field(res, row, KWH),
		.reading_type = field(res, row, READING_TYPE),
		.quality = field(res, row, QUALITY),
	};

	if (!decimal_valid(read.kwh))
		return false;
	*ret = meter_read_content(&read);
	return true;
}

/* The row of that key; -1 for none. */
static int find_row(const PGresult *res, struct slice key)
{
	int low = 0, high = PQntuples(res);

	while (low < high) {
		int middle = low + (high - low) / 2;
		int order = slice_cmp(field(res, middle, KEY), key);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

static enum audit_row compare(const PGresult *res, const struct audit_read *read)
{
	int row = read->unfit ? -1 : find_row(res, read->key);
	uint64_t content;

	if (row < 0)
		return ROW_NONE;
	if (row_content(res, row, &content) &&
		(content == read->content || content == read->content_today))
		return ROW_SAME;
	return ROW_OTHER;
}

int audit_rows_send(struct audit *a, struct audit_batch *b, struct err *err)
{
	CLEANUP(buf_free) struct buf keys = {0};
	const char *parameters[1];

	keys_literal(b, &keys);
	parameters[0] = (const char *)keys.p;
	if (!PQsendQueryParams(a->pg, a->query, 1, NULL, parameters, NULL, NULL, 0))
		return pg_fail(a->pg, NULL, "looking for rows", err);
	b->sent = true;
	return 0;
}

int audit_rows_take(struct audit *a, struct audit_batch *b, struct err *err)
{
	CLEANUP(pg_clearp) PGresult *res = PQgetResult(a->pg);
	CLEANUP(pg_clearp) PGresult *end = PQgetResult(a->pg);

	(void)end; /* NULL: then the next may be sent */
	b->sent = false;
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return pg_fail(a->pg, res, "looking for rows (see audit.table)", err);
	for (size_t i = 0; i < b->n; i++)
		b->v[i].row = compare(res, &b->v[i]);
	return 0;
}

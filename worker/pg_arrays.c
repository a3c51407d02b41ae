#include "pg_arrays.h"

#include <endian.h>

/* pg_type.dat */
enum {
	OID_INT8 = 20,
	OID_TEXT = 25,
	OID_TIMESTAMPTZ = 1184,
	OID_JSONB = 3802,
	OID_TEXT_ARRAY = 1009,
	OID_INT8_ARRAY = 1016,
	OID_TIMESTAMPTZ_ARRAY = 1185,
	OID_JSONB_ARRAY = 3807,
};

enum column { KEY, METER_ID, READ_AT, SEQUENCE, KWH, READING_TYPE, QUALITY, ATTRIBUTES };

static const struct {
	Oid array, element;
} TYPES[PG_COLUMNS] = {
	[KEY] = {OID_TEXT_ARRAY, OID_TEXT},
	[METER_ID] = {OID_TEXT_ARRAY, OID_TEXT},
	[READ_AT] = {OID_TIMESTAMPTZ_ARRAY, OID_TIMESTAMPTZ},
	[SEQUENCE] = {OID_INT8_ARRAY, OID_INT8},
	[KWH] = {OID_TEXT_ARRAY, OID_TEXT},
	[READING_TYPE] = {OID_TEXT_ARRAY, OID_TEXT},
	[QUALITY] = {OID_TEXT_ARRAY, OID_TEXT},
	[ATTRIBUTES] = {OID_JSONB_ARRAY, OID_JSONB},
};

/* timestamptz on the wire: microseconds since 2000-01-01T00:00:00Z. */
#define POSTGRES_EPOCH_US INT64_C(946684800000000)
/* The first byte of jsonb on the wire (jsonb_recv). */
#define JSONB_VERSION 1
#define LENGTH_OF_NULL (-1)

static void add_int32(struct buf *b, int32_t v)
{
	uint32_t wire = htobe32((uint32_t)v);

	buf_add(b, &wire, sizeof(wire));
}

static void add_int64_element(struct buf *b, int64_t v)
{
	uint64_t wire = htobe64((uint64_t)v);

	add_int32(b, sizeof(wire));
	buf_add(b, &wire, sizeof(wire));
}

static void add_text_element(struct buf *b, struct slice s)
{
	if (slice_is_null(s)) {
		add_int32(b, LENGTH_OF_NULL);
		return;
	}
	add_int32(b, (int32_t)s.n);
	buf_add(b, s.p, s.n);
}

static void add_jsonb_element(struct buf *b, struct slice s)
{
	if (slice_is_null(s)) {
		add_int32(b, LENGTH_OF_NULL);
		return;
	}
	add_int32(b, (int32_t)s.n + 1);
	buf_add_byte(b, JSONB_VERSION);
	buf_add(b, s.p, s.n);
}

/* array_recv() in src/backend/utils/adt/arrayfuncs.c: dimensions, flags, type, (size, lower bound).
 */
static void begin_array(struct buf *b, Oid element, size_t n)
{
	b->n = 0;
	add_int32(b, n ? 1 : 0);
	add_int32(b, 1); /* may contain nulls */
	add_int32(b, (int32_t)element);
	if (n) {
		add_int32(b, (int32_t)n);
		add_int32(b, 1);
	}
}

static void add_read(struct buf *columns, const struct meter_read *r)
{
	add_text_element(&columns[KEY], r->idempotency_key);
	add_text_element(&columns[METER_ID], r->meter_id);
	add_int64_element(&columns[READ_AT], r->read_at_us - POSTGRES_EPOCH_US);
	add_int64_element(&columns[SEQUENCE], r->sequence);
	add_text_element(&columns[KWH], r->kwh);
	add_text_element(&columns[READING_TYPE], r->reading_type);
	add_text_element(&columns[QUALITY], r->quality);
	add_jsonb_element(&columns[ATTRIBUTES], r->attributes);
}

/* In the order of their keys reads lie anywhere in memory, and so do their payloads. */
static void prefetch(const struct meter_read *const *reads, size_t n, size_t i)
{
	if (i + 8 < n) {
		__builtin_prefetch(reads[i + 8]);
		__builtin_prefetch(&reads[i + 8]->kwh);
	}
	if (i + 4 < n) {
		__builtin_prefetch(reads[i + 4]->idempotency_key.p);
		__builtin_prefetch(reads[i + 4]->kwh.p);
	}
}

bool pg_arrays_send(struct pg_arrays *a, PGconn *conn, const char *sql,
	const struct meter_read *const *reads, size_t n)
{
	Oid types[PG_COLUMNS];
	const char *values[PG_COLUMNS];
	int lengths[PG_COLUMNS], binary[PG_COLUMNS];

	for (size_t i = 0; i < PG_COLUMNS; i++)
		begin_array(&a->columns[i], TYPES[i].element, n);
	for (size_t i = 0; i < n; i++) {
		prefetch(reads, n, i);
		add_read(a->columns, reads[i]);
	}
	for (size_t i = 0; i < PG_COLUMNS; i++) {
		types[i] = TYPES[i].array;
		values[i] = (const char *)a->columns[i].p;
		lengths[i] = (int)a->columns[i].n;
		binary[i] = 1;
	}
	return PQsendQueryParams(conn, sql, PG_COLUMNS, types, values, lengths, binary, 0);
}

void pg_arrays_free(struct pg_arrays *a)
{
	for (size_t i = 0; i < PG_COLUMNS; i++)
		buf_free(&a->columns[i]);
}

/*
 * read_fields.h: the fields of one read as texts, between the encoding they came in and the read
 * that they, with the idempotency key, make up. Pure; any thread.
 */
#ifndef COMMON_READ_FIELDS_H
#define COMMON_READ_FIELDS_H

#include "meter_read.h"

struct avro_schema;
struct framing;

/* Null where the payload has none. UTF-8 without a NUL. */
struct read_fields {
	struct slice meter_id, read_at, sequence, kwh, reading_type, quality;
	struct slice attributes; /* see struct meter_read */
};

/*
 * All return NULL, or the reason in words why the payload is malformed. On success the slices of
 * *ret borrow from payload, key or arena.
 */
const char *read_fields_from_json(struct arena *a, const struct read_names *names,
	struct slice payload, struct read_fields *ret);
/* schema: the writer's, which is the one that framing names. payload: all of it. */
const char *read_fields_from_avro(struct arena *a, const struct read_names *names,
	const struct avro_schema *schema, const struct framing *framing, struct slice payload,
	struct read_fields *ret);
/* key: see meter_read_from_json; null or opaque gives nothing. */
const char *read_fields_resolve(
	struct arena *a, const struct read_fields *f, struct slice key, struct meter_read *ret);

/* "meter_id|read_at|sequence" as they stand; null where one is missing. In the arena. */
struct slice read_fields_key(struct arena *a, const struct read_fields *f);

#endif

/*
 * avro_json.h: a bounded walk over Avro values by their writer's schema, as JSON text.
 * Pure; any thread.
 */
#ifndef COMMON_AVRO_JSON_H
#define COMMON_AVRO_JSON_H

#include "avro_schema.h"
#include "wire.h"

#define AVRO_VALUE_DEPTH 64
/* Values of no bytes (null, an empty record) that one block may declare. */
#define AVRO_WEIGHTLESS_ITEMS 65536

/*
 * Where a walk stands. What it writes is bounded by the bytes it reads, because a few of them can
 * stand for much: items of no bytes, records of many nulls, long names of short values. No value is
 * written without a byte, so that bounds the work as well.
 */
struct avro_walk {
	struct wire_reader reader;
	const char *field; /* at the top level, for the error's text */
	size_t text;	   /* bytes that attributes may have */
	unsigned depth;	   /* of the next value; that of the record has been 0 */
};

/* body: within payload, where positions in errors count from. schema: its name, for them. */
struct avro_walk avro_walk_new(
	struct slice payload, struct slice body, const char *schema, struct err *err);

/* The type of the value that comes next: node, or the branch of it that the bytes say. */
const struct avro_node *avro_walk_branch(struct avro_walk *w, const struct avro_node *node);

/* Text: UTF-8 without a NUL. Null where the walk has failed. */
struct slice avro_walk_string(struct avro_walk *w);
struct slice avro_walk_symbol(struct avro_walk *w, const struct avro_node *node);

/*
 * Reads a value and appends it to *out as JSON:
 *
 * - int, long: digits
 * - float, double: the shortest digits that are the same number; "NaN", "Infinity", "-Infinity"
 * - bytes, fixed: a string, base64
 * - decimal: a string, "-12.50"
 * - dates, times, timestamps: a string, see avro_time_text(); digits where there is no such one
 * - uuid, enum: a string
 * - record, map: an object
 * - array: an array
 * - union: the value itself
 *
 * Where the bytes are no such value the walk's reader has failed, and *out is of no use.
 */
void avro_walk_json(struct avro_walk *w, const struct avro_node *node, struct buf *out);

/* "text" */
void avro_json_string(struct slice s, struct buf *out);

#endif

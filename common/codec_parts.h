/* codec_parts.h: what the codecs of our records have in common. For codec*.c alone. */
#ifndef COMMON_CODEC_PARTS_H
#define COMMON_CODEC_PARTS_H

#include "codec.h"
#include "wire.h"

/* Avro single-object encoding: C3 01 and the fingerprint of the writer's schema. */
#define FRAME_BYTES 10

/*
 * Takes the frame off bytes and sets *r to read the body. Returns the version of the schema that
 * wrote it, from 1; ERR_DATA for what is not this schema's; ERR_CONFIG for a later version.
 */
MUST_CHECK int frame_open(
	struct wire_reader *r, enum schema_id id, struct slice bytes, struct err *err);
void frame_write(struct wire_writer *w, enum schema_id id);

/* The most bytes, topic aside. */
#define POSITION_BYTES (WIRE_LENGTH_BYTES + WIRE_INT_BYTES + WIRE_LONG_BYTES)
struct origin position_read(struct wire_reader *r, const char *name);
void position_write(struct wire_writer *w, struct origin position);

/* The encoded array as it is, checked to its end. Null and empty: no items. */
struct slice headers_read(struct wire_reader *r);
void headers_write(struct wire_writer *w, struct slice headers);

#endif

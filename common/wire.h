/*
 * wire.h: Avro binary on the wire, bounded (Avro 1.11 specification, "Binary Encoding").
 * Reading allocates nothing, never leaves the bytes, and remembers its first failure: later reads
 * return zero or null, so a record is read in a straight line and judged once, by wire_read_end().
 * Pure; any thread.
 */
#ifndef COMMON_WIRE_H
#define COMMON_WIRE_H

#include "err.h"
#include "mem.h"

struct wire_reader {
	const uint8_t *begin, *p, *end;
	const char *schema; /* for the error's text */
	struct err *err;    /* borrowed; may be NULL */
	bool failed;
};

/* name: the field, a literal, for the error's text. */
int64_t wire_read_long_slow(struct wire_reader *r, const char *name);
int32_t wire_read_int(struct wire_reader *r, const char *name);
uint32_t wire_read_count(struct wire_reader *r, const char *name); /* an int >= 0 */
unsigned wire_read_enum(struct wire_reader *r, const char *name, unsigned symbols);
uint64_t wire_read_fixed64(struct wire_reader *r, const char *name); /* fixed(8), big-endian */
/* Just n bytes: borrowed, null if failed. */
struct slice wire_read_raw(struct wire_reader *r, const char *name, size_t n);
/* Bytes or string: borrowed, never null unless failed. */
struct slice wire_read_bytes(struct wire_reader *r, const char *name);
/* The union null | something: whether there is something. */
bool wire_read_present(struct wire_reader *r, const char *name);
/* null | bytes or null | string */
struct slice wire_read_optional(struct wire_reader *r, const char *name);
/* Everything has been read: 0, or the ERR_DATA that is in *r->err. */
MUST_CHECK int wire_read_end(struct wire_reader *r);
/* For a rule that is not Avro's. "schema.name at byte n: text", unless it has failed before. */
__attribute__((cold, format(printf, 3, 4))) void wire_fail(
	struct wire_reader *r, const char *name, const char *fmt, ...);

/* Most numbers of a record, every length and every union branch are one byte. */
static inline int64_t wire_read_long(struct wire_reader *r, const char *name)
{
	if (r->p < r->end && *r->p < 0x80) {
		int64_t zigzag = *r->p++;

		return (zigzag >> 1) ^ -(zigzag & 1);
	}
	return wire_read_long_slow(r, name);
}

/* Where an array's reader stands. Zero-initialise. */
struct wire_array {
	uint64_t left;		  /* items left in the block */
	const uint8_t *block_end; /* of a block that gives its size; else NULL */
	uint64_t weightless;	  /* how many items of no bytes a block may declare */
};
/* True: an item is next. False: the array is over, or the reader has failed. */
bool wire_array_next(struct wire_reader *r, struct wire_array *a, const char *name);

/* The most bytes that a number takes. */
#define WIRE_LONG_BYTES 10
#define WIRE_INT_BYTES 5
#define WIRE_LENGTH_BYTES 5 /* of less than 16 GiB */

/* Writes into room that its maker has computed; aborts rather than write past it. */
struct wire_writer {
	uint8_t *begin, *p, *end;
};

struct wire_writer wire_writer_new(struct arena *a, size_t room);
struct slice wire_written(const struct wire_writer *w);

void wire_write_long(struct wire_writer *w, int64_t value);
void wire_write_count(struct wire_writer *w, uint32_t value); /* an int; saturates */
void wire_write_fixed64(struct wire_writer *w, uint64_t value);
void wire_write_bytes(struct wire_writer *w, struct slice s); /* null as empty */
void wire_write_optional(struct wire_writer *w, struct slice s);
void wire_write_raw(struct wire_writer *w, struct slice s); /* encoded already */
size_t wire_long_size(int64_t value);

#endif

/*
 * codec.h: our records as bytes: Avro binary in single-object encoding (C3 01, fingerprint of the
 * writer's schema, body). Own bounded reader and writer; avro-c is the oracle in the tests.
 * Decoding borrows slices from the bytes and accepts nothing but a whole, well-formed record:
 * 0, ERR_DATA (says what and where) or ERR_CONFIG for a schema version later than ours.
 * Pure; any thread.
 */
#ifndef COMMON_CODEC_H
#define COMMON_CODEC_H

#include "err.h"
#include "mem.h"
#include "record.h"

enum schema_id {
	SCHEMA_DEAD_LETTER_RECORD,
	SCHEMA_PARKED_RECORD,
	SCHEMA_INBOX_RECORD,
	SCHEMA_CHECKPOINT,
};
#define SCHEMA_COUNT 4
/* CRC-64-AVRO of the parsing canonical form (Avro 1.11 specification, "Schema Fingerprints");
 * a test compares it with the files in schemas/avro. */
uint64_t schema_fingerprint(enum schema_id id);

/* Encoding: bytes in the arena. */
struct slice record_encode(struct arena *a, const struct record *r);
struct slice parked_encode(struct arena *a, const struct parked *p);
struct slice inbox_encode(struct arena *a, const struct inbox *i);
struct slice checkpoint_encode(struct arena *a, const struct checkpoint *c);

MUST_CHECK int record_decode(struct slice bytes, struct record *ret, struct err *err);
MUST_CHECK int parked_decode(struct slice bytes, struct parked *ret, struct err *err);
MUST_CHECK int inbox_decode(struct slice bytes, struct inbox *ret, struct err *err);
/* ret->sources is in the arena; at most CHECKPOINT_SOURCES_MAX. */
MUST_CHECK int checkpoint_decode(
	struct arena *a, struct slice bytes, struct checkpoint *ret, struct err *err);

/* Record headers as they travel inside our records: one Avro array, kept encoded. */
struct header {
	struct slice key;   /* UTF-8 expected, any bytes possible (written as they are) */
	struct slice value; /* may be null */
};
/*
 * Encodes headers up to RECORD_HEADERS_BYTES. Where there are more, headers_cut.h chooses: stack
 * traces go first. *ret_cut counts the bytes of keys and values left out.
 */
struct slice headers_encode(struct arena *a, const struct header *v, size_t n, uint32_t *ret_cut);
/* Walks encoded headers: start with *pos = 0; false at the end. The bytes were decoded before. */
bool headers_next(struct slice headers, size_t *pos, struct header *ret);
/* The newest (last) header of that name; null where absent or null. */
struct slice headers_last(struct slice headers, const char *name);

#endif

/*
 * avro_schema.h: a writer's schema (Avro 1.12 specification, "Schema Declaration") as a tree to
 * walk payloads by. What only readers need, defaults and aliases of types, is left out. Pure; a
 * parsed schema does not change, so any thread.
 */
#ifndef COMMON_AVRO_SCHEMA_H
#define COMMON_AVRO_SCHEMA_H

#include "err.h"
#include "mem.h"

#define AVRO_SCHEMA_BYTES 1048576
#define AVRO_SCHEMA_DEPTH 64
#define AVRO_SCHEMA_PARTS 65536 /* types, fields, symbols, branches and aliases in all */
#define AVRO_SCHEMA_NAMES 2048	/* records, enums and fixed */
#define AVRO_FIELDS 4096	/* of one record */
#define AVRO_NAME_BYTES 512
/* The most digits that a Postgres numeric has after the point. */
#define AVRO_SCALE_MAX 16383

enum avro_type {
	AVRO_TYPE_NULL,
	AVRO_TYPE_BOOLEAN,
	AVRO_TYPE_INT,
	AVRO_TYPE_LONG,
	AVRO_TYPE_FLOAT,
	AVRO_TYPE_DOUBLE,
	AVRO_TYPE_BYTES,
	AVRO_TYPE_STRING,
	AVRO_TYPE_RECORD,
	AVRO_TYPE_ENUM,
	AVRO_TYPE_ARRAY,
	AVRO_TYPE_MAP,
	AVRO_TYPE_FIXED,
	AVRO_TYPE_UNION,
};
#define AVRO_TYPE_PRIMITIVES AVRO_TYPE_RECORD /* the types before it */
const char *avro_type_name(enum avro_type t);

/* What is unknown, or invalid where it stands, is no logical type: so the specification has it. */
enum avro_logical {
	AVRO_LOGICAL_NONE,
	AVRO_LOGICAL_DECIMAL,
	AVRO_LOGICAL_UUID,
	AVRO_LOGICAL_DATE,
	AVRO_LOGICAL_TIME_MILLIS,
	AVRO_LOGICAL_TIME_MICROS,
	AVRO_LOGICAL_TIMESTAMP_MILLIS,
	AVRO_LOGICAL_TIMESTAMP_MICROS,
	AVRO_LOGICAL_TIMESTAMP_NANOS,
	AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS,
	AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS,
	AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS,
};
const char *avro_logical_name(enum avro_logical l); /* "decimal", ... */

/* All slices end in a NUL that is not counted, so p is also a C string. */
struct avro_field {
	struct slice name;
	struct slice *aliases; /* the names it had before */
	uint32_t n_aliases;
	const struct avro_node *type;
};

struct avro_node {
	enum avro_type type;
	enum avro_logical logical;
	struct slice name; /* full name of a record, enum or fixed; else null */
	uint32_t ordinal;  /* of the named ones, by where they are defined */
	uint32_t scale;	   /* AVRO_LOGICAL_DECIMAL */
	uint32_t size;	   /* fixed: bytes */
	uint32_t n;	   /* fields, symbols or branches */
	union {
		struct avro_field *fields;
		struct slice *symbols;
		const struct avro_node **branches;
		const struct avro_node *item; /* array, map */
	};
};

struct avro_schema {
	struct arena arena;	      /* holds all of it */
	const struct avro_node *root; /* recursive schemas lead back to themselves */
	uint64_t fingerprint;	      /* CRC-64-AVRO of the parsing canonical form */
};

/*
 * Parses the schema's JSON text. On success moves a new schema into *ret; the caller frees it.
 * Else ERR_DATA, with what is wrong and in which record and field; err may be NULL.
 */
MUST_CHECK int avro_schema_parse(struct slice text, struct avro_schema **ret, struct err *err);

/* A type that a schema names without defining it, as registries keep them ("references"). */
struct avro_reference {
	struct slice name; /* in full */
	struct slice text; /* its schema; it may name others in turn */
};
#define AVRO_REFERENCES 64
/* The same for a schema with n references, in any order. */
MUST_CHECK int avro_schema_parse_with(struct slice text, const struct avro_reference *v, size_t n,
	struct avro_schema **ret, struct err *err);
void avro_schema_free(struct avro_schema *s); /* accepts NULL */

/* Appends the parsing canonical form ("Transforming into Parsing Canonical Form") to *out. */
void avro_schema_canonical(const struct avro_schema *s, struct buf *out);

/* CRC-64-AVRO ("Schema Fingerprints"). */
uint64_t avro_crc64(struct slice s);

#endif

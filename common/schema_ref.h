/*
 * schema_ref.h: how a payload names the schema that it was written by, and how the core asks for
 * that schema. Plain data; any thread.
 */
#ifndef COMMON_SCHEMA_REF_H
#define COMMON_SCHEMA_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_ref_kind {
	SCHEMA_BY_ID,	       /* of a registry: GET /schemas/ids/{id} */
	SCHEMA_BY_GLOBAL_ID,   /* 8 bytes of an old Apicurio client: maybe another number */
	SCHEMA_BY_GUID,	       /* of a registry: GET /schemas/guids/{guid} */
	SCHEMA_BY_FINGERPRINT, /* CRC-64-AVRO: avro_schema.h computes it for a schema at hand */
};

/* From framing.h; zeroed where it does not apply, so that all of it may be compared and hashed. */
struct schema_ref {
	enum schema_ref_kind kind;
	uint64_t number;  /* id, global id or fingerprint */
	uint8_t guid[16]; /* big-endian, as its text reads */
};

#define SCHEMA_REF_TEXT_BYTES 64
/* For people: "schema id 7", "schema 89791762-2336-4186-9674-299b90a802e2". Returns ret. */
const char *schema_ref_text(const struct schema_ref *ref, char ret[static SCHEMA_REF_TEXT_BYTES]);

bool schema_ref_same(const struct schema_ref *a, const struct schema_ref *b);

struct avro_schema;

enum schema_state {
	SCHEMA_FOUND,	/* Avro */
	SCHEMA_IS_JSON, /* a JSON Schema: behind its frame the payload is JSON */
	SCHEMA_UNKNOWN, /* there is none, or none that we can use: the read's own failure */
	SCHEMA_AWAY,	/* nobody can tell now: the read waits, and that costs it no attempt */
};

struct schema_answer {
	enum schema_state state;
	/* Both borrowed, valid until the source is called again. */
	const struct avro_schema *avro; /* SCHEMA_FOUND */
	const char *why; /* SCHEMA_UNKNOWN: in words ("not in the registry", "is Protobuf"); may be
			  * NULL */
};

/*
 * Where schemas come from. find is called once for each payload that has a frame, on the thread
 * that decodes, and should answer from memory: whoever can fetch schemas does it when find has
 * answered SCHEMA_AWAY and the read waits. What a reference names never changes, so a schema that
 * was found may be kept for ever; that there is none may change, and is to be asked again after a
 * while.
 */
struct schema_source {
	struct schema_answer (*find)(void *ctx, const struct schema_ref *ref);
	void *ctx;
};

#endif

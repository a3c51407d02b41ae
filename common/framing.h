/*
 * framing.h: what stands around a payload's body and names its schema: the wire formats of
 * Confluent's and Apicurio's registry clients, and Avro's single-object encoding. Pure; any thread.
 */
#ifndef COMMON_FRAMING_H
#define COMMON_FRAMING_H

#include "mem.h"
#include "schema_ref.h"

#define FRAMING_HEADER "__value_schema_id"

enum framing_kind {
	FRAMING_NONE,  /* JSON, or nothing that we know: the body is the whole payload */
	FRAMING_SCHEMA /* the body is by the schema */
};

struct framing {
	enum framing_kind kind;
	struct schema_ref schema; /* FRAMING_SCHEMA */
	struct slice body;	  /* borrowed from the payload */
};

/*
 * headers: encoded, see codec.h. Returns NULL, or why the frame is broken, in words (a literal).
 * Where FRAMING_HEADER names the schema, the whole payload is the body, whatever it begins with.
 */
const char *framing_detect(struct slice headers, struct slice payload, struct framing *ret);

#endif

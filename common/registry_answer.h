/*
 * registry_answer.h: what a schema registry's answer says (Confluent's API, "Schema Registry API
 * Reference", which Apicurio, Karapace and Redpanda have as well). Pure; any thread.
 */
#ifndef COMMON_REGISTRY_ANSWER_H
#define COMMON_REGISTRY_ANSWER_H

#include "mem.h"

#include <jansson.h>

#define REGISTRY_ANSWER_BYTES ((size_t)1024 * 1024)

enum registry_verdict {
	REGISTRY_OK,   /* json is the answer */
	REGISTRY_NONE, /* what was asked for is not there */
	/* It failed; the later, the more is known of it. */
	REGISTRY_TROUBLE, /* it is away: nothing is known */
	REGISTRY_ODD,	  /* an answer that may be due to what was asked for */
	REGISTRY_REFUSED, /* it does not let us, be it in or at what was asked for */
};

struct registry_answer {
	enum registry_verdict verdict;
	json_t *json;	/* OK: an object or array, owned */
	char why[512];	/* else, in words */
	int error_code; /* of the API, 0: none */
};

/* status: of HTTP. */
void registry_answer_read(long status, struct slice body, struct registry_answer *ret);
void registry_answer_free(struct registry_answer *a);

/* A schema as in an answer of /schemas/ids, /schemas/guids or /subjects/.../versions. */
enum registry_schema_type { REGISTRY_AVRO, REGISTRY_JSON, REGISTRY_OTHER };
struct registry_schema {
	enum registry_schema_type type;
	const char *type_name;
	struct slice text;
	const json_t *references; /* an array; NULL: none */
};
/* Everything is borrowed from json. False: it is no such answer. */
bool registry_schema_read(const json_t *json, struct registry_schema *ret);

struct registry_reference {
	const char *name, *subject;
	json_int_t version;
};
bool registry_reference_read(const json_t *json, struct registry_reference *ret);

#endif

/*
 * payload.h: a payload, framed and encoded as it may be, to the fields of a read.
 * Pure but for what schema_source asks for; any thread.
 */
#ifndef COMMON_PAYLOAD_H
#define COMMON_PAYLOAD_H

#include "read_fields.h"
#include "schema_ref.h"

/*
 * headers: encoded, see codec.h. Returns NULL, or why the payload is malformed, in words. Where the
 * schema is away it sets *ret_wait, and the text says what is waited for: then nobody knows yet
 * whether the payload is malformed.
 * On success the slices of *ret borrow from payload, schema or arena.
 */
const char *payload_read_fields(struct arena *a, const struct read_names *names,
	const struct schema_source *schemas, struct slice headers, struct slice payload,
	struct read_fields *ret, bool *ret_wait);

#endif

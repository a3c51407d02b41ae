/* meter_read.h: the decoded read, and its content. Pure; any thread. */
#ifndef COMMON_METER_READ_H
#define COMMON_METER_READ_H

#include "mem.h"
#include "read_names.h"

struct meter_read {
	struct slice idempotency_key;
	struct slice meter_id;
	int64_t read_at_us;		    /* microseconds since 1970, UTC */
	int64_t sequence;		    /* >= 0 */
	struct slice kwh;		    /* decimal text as it arrived, see decimal_valid() */
	struct slice reading_type, quality; /* null where absent */
	struct slice attributes; /* JSON object of all other fields, numbers verbatim; null: none */
};

/*
 * The content hash over meter, instant, sequence, amount by value, reading_type and quality
 * (schemas/README.md defines the canonical form). Layout, encoding, attributes and the key do not
 * count.
 */
uint64_t meter_read_content(const struct meter_read *r);

/*
 * Decodes a JSON payload. key gives what the payload lacks, and must agree with what it has.
 * On success the slices of *ret borrow from payload, key or arena. Returns NULL, or why the payload
 * is malformed, in words (a literal or in the arena): "no amount", "several reads",
 * "key and payload disagree on sequence", ...
 * Nesting, field count and sizes are bounded; yajl does the parsing (JSON numbers arrive as text).
 */
const char *meter_read_from_json(struct arena *a, const struct read_names *names, struct slice key,
	struct slice payload, struct meter_read *ret);

#endif

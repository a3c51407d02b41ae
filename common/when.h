/* when.h: points of time as people give them to a command. Pure; any thread. */
#ifndef COMMON_WHEN_H
#define COMMON_WHEN_H

#include "mem.h"

/*
 * A time with an offset (RFC 3339), a date (its midnight, UTC), or an age such as 90m, 2h, 3d (so
 * long before now_us). Microseconds since 1970. Returns NULL, or what is wrong, in words (a literal
 * or in the arena).
 */
const char *when_parse(struct arena *a, const char *text, int64_t now_us, int64_t *ret_us);

/* A date alone: its midnight, UTC. */
const char *when_parse_date(const char *text, int64_t *ret_us);

#define WHEN_AGE_BYTES 24
/* A duration in the largest unit that it has two of: "45s", "90m", "36h", "12d". What is negative
 * is "0s". Returns ret. */
const char *when_age(int64_t duration_us, char ret[static WHEN_AGE_BYTES]);

#endif

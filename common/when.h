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

#endif

/* when.h: a point in time as people give it to a command. Pure; any thread. */
#ifndef COMMON_WHEN_H
#define COMMON_WHEN_H

#include "slice.h"

/*
 * RFC 3339 with an offset (see instant.h), a date (its beginning in UTC), or an age such as 90s,
 * 30m, 12h, 3d, 2w before now. Returns NULL, or the reason in words why it is none.
 */
const char *when_parse(struct slice text, int64_t now_us, int64_t *ret_us);

#endif

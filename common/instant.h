/*
 * instant.h: instants as microseconds since 1970-01-01T00:00:00Z (int64), proleptic Gregorian.
 * Pure; any thread. No time zone database: an instant carries its offset or is UTC by type.
 */
#ifndef COMMON_INSTANT_H
#define COMMON_INSTANT_H

#include "slice.h"

#define INSTANT_TEXT_BYTES 40

/*
 * RFC 3339 with an offset (Z or +hh:mm, also +hhmm and +hh; "T", "t" or a blank between date and
 * time; years 0001 to 9999). Seconds 60 are the second after (RFC 3339 section 5.7). Returns NULL,
 * or the reason in words: "no offset", "not a date", "finer than a microsecond", ...
 */
const char *instant_parse(struct slice text, int64_t *ret_us);

/* "2026-07-17T00:00:00.000000Z", without the fraction where it is zero. Returns its length. */
size_t instant_format(int64_t us, char ret[static INSTANT_TEXT_BYTES]);

#endif

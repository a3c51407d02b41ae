/* avro_text.h: Avro's scalars as text that says exactly what they are. Pure; any thread. */
#ifndef COMMON_AVRO_TEXT_H
#define COMMON_AVRO_TEXT_H

#include "avro_schema.h"

/*
 * The instant, local date and time, date, or time of day that v is by its logical type, in
 * microseconds since 1970 or midnight, and nanoseconds beyond them. False: l is no such type, or v
 * is not within the years 0001 to 9999, or the 24 hours of a day.
 */
bool avro_time(enum avro_logical l, int64_t v, int64_t *ret_us, int *ret_ns);

/*
 * Appends that as RFC 3339 has it: "2026-07-17T00:00:00Z", without the Z where it is local,
 * "2026-07-17", "00:00:00"; with six digits of a second where they are not zero, nine for
 * nanoseconds. False as above.
 */
bool avro_time_text(enum avro_logical l, int64_t v, struct buf *out);

/*
 * Appends v as JSON: digits that are the same number when read again, or a string where JSON has no
 * such number: "NaN", "Infinity", "-Infinity".
 */
void avro_double_json(double v, struct buf *out);
void avro_float_json(float v, struct buf *out);

void avro_uuid_text(const uint8_t bytes[static 16], struct buf *out);

/* RFC 4648 section 4, with padding. */
void avro_base64_text(struct slice bytes, struct buf *out);

#endif

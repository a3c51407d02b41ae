/* read_diff.h: what two reads differ in. Pure; any thread. */
#ifndef COMMON_READ_DIFF_H
#define COMMON_READ_DIFF_H

#include "meter_read.h"

/* Into ret the fields that make other content of one than of the other: see meter_read_content().
 * Amounts are compared by value. Returns how many; 0 where the contents are the same. */
size_t read_diff(const struct meter_read *a, const struct meter_read *b,
	enum read_field ret[static READ_FIELD_COUNT]);

/* A field as text: in the read's own digits, an instant as RFC 3339. Null where it is. */
struct slice read_field_text(struct arena *arena, const struct meter_read *r, enum read_field f);

#endif

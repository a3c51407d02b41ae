/*
 * read_names.h: what a payload calls the fields of a read: payload.fields. Pure; any thread.
 */
#ifndef COMMON_READ_NAMES_H
#define COMMON_READ_NAMES_H

#include "err.h"
#include "slice.h"

enum read_field {
	READ_METER_ID,
	READ_READ_AT,
	READ_SEQUENCE,
	READ_KWH,
	READ_READING_TYPE,
	READ_QUALITY,
};
#define READ_FIELD_COUNT 6

/* By field; null where the payload's name is ours. So the zero value is our own names. */
struct read_names {
	struct slice theirs[READ_FIELD_COUNT];
};

extern const struct slice read_names_ours[READ_FIELD_COUNT];

/* The name in the payload. */
static inline struct slice read_name(const struct read_names *names, enum read_field f)
{
	return slice_is_null(names->theirs[f]) ? read_names_ours[f] : names->theirs[f];
}

/*
 * items: "OURS:THEIRS", such as "kwh:energy". ERR_CONFIG where OURS is none of our fields or comes
 * twice, THEIRS is empty, or one name would be that of two fields. *ret borrows from items.
 */
MUST_CHECK int read_names_parse(
	char *const *items, size_t n, struct read_names *ret, struct err *err);

#endif

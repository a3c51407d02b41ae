/* decimal.h: exact decimals as text. No double anywhere. Pure; any thread. */
#ifndef COMMON_DECIMAL_H
#define COMMON_DECIMAL_H

#include "mem.h"

/*
 * Whether text is [+-]digits[.digits][(e|E)[+-]digits] with a digit before or after the point, and
 * an exponent within +-100000. NaN, Infinity, hex, blanks and the empty text are not.
 */
bool decimal_valid(struct slice text);

/*
 * Appends the value's canonical form to *out: [-]digits "e" exponent, digits without leading or
 * trailing zeros ("0e0" for any zero), so that 12.5, 12.50 and 1.25e1 are one. text is valid.
 */
void decimal_canonical(struct slice text, struct buf *out);

#define DECIMAL_BINARY_BYTES 1024 /* significant ones: 2466 digits */

/*
 * Appends the decimal whose unscaled value is the two's complement, big-endian integer in bytes,
 * with scale digits after the point: -1234 and 2 are "-12.34". Leading sign bytes may be any
 * number. NULL, or why it is none, in words.
 */
const char *decimal_from_binary(struct slice bytes, uint32_t scale, struct buf *out);

/* An exact sum. Zero-initialise; decimal_sum_free releases. */
struct decimal_sum {
	int64_t *digits;
	int low, n; /* position of the first digit; how many */
};
#define DECIMAL_SUM_POSITIONS 1000

/* False where text is no decimal, or has a digit more than DECIMAL_SUM_POSITIONS places from the
 * point, which no amount of energy has: then it is not in the sum. */
bool decimal_sum_add(struct decimal_sum *s, struct slice text);
/* Appends the sum in plain digits, without zeros that say nothing: "-12.5". */
void decimal_sum_text(const struct decimal_sum *s, struct buf *out);
void decimal_sum_free(struct decimal_sum *s);

#endif

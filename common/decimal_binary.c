/* A two's complement integer to decimal digits. */
#include "decimal.h"

#define LIMBS (DECIMAL_BINARY_BYTES / 4)
#define CHUNK 1000000000u /* of nine digits: the most that one limb's division yields */
#define CHUNK_DIGITS 9
/* log10(2^32) is below 9.64 digits a limb. */
#define DIGITS (LIMBS * 964 / 100 + CHUNK_DIGITS)

static struct slice drop_sign_bytes(struct slice s, bool negative)
{
	const uint8_t sign = negative ? 0xff : 0;

	while (s.n > 1 && s.p[0] == sign && (s.p[1] & 0x80) == (sign & 0x80)) {
		s.p++;
		s.n--;
	}
	return s;
}

/* The absolute value, least significant limb first. Returns how many limbs it has. */
static size_t load(struct slice s, bool negative, uint32_t limbs[static LIMBS])
{
	size_t n = (s.n + 3) / 4;
	uint64_t carry = negative;

	memset(limbs, 0, n * sizeof(*limbs));
	for (size_t i = 0; i < s.n; i++) {
		size_t from_end = s.n - 1 - i;
		uint8_t byte = negative ? (uint8_t)~s.p[i] : s.p[i];

		limbs[from_end / 4] |= (uint32_t)byte << 8 * (from_end % 4);
	}
	for (size_t i = 0; i < n; i++) {
		carry += limbs[i];
		limbs[i] = (uint32_t)carry;
		carry >>= 32;
	}
	return n;
}

/* Returns the remainder. */
static uint32_t divide(uint32_t *limbs, size_t n)
{
	uint64_t rest = 0;

	while (n-- > 0) {
		rest = rest << 32 | limbs[n];
		limbs[n] = (uint32_t)(rest / CHUNK);
		rest %= CHUNK;
	}
	return (uint32_t)rest;
}

/* Into the end of digits, without leading zeros; none for zero. Returns where they begin. */
static size_t digits_of(uint32_t *limbs, size_t n, char digits[static DIGITS])
{
	size_t at = DIGITS;

	while (n > 0) {
		uint32_t chunk = divide(limbs, n);

		for (int i = 0; i < CHUNK_DIGITS; i++, chunk /= 10)
			digits[--at] = (char)('0' + chunk % 10);
		while (n > 0 && !limbs[n - 1])
			n--;
	}
	while (at < DIGITS && digits[at] == '0')
		at++;
	return at;
}

static void put(struct buf *out, const char *digits, size_t n, uint32_t scale)
{
	size_t whole = n > scale ? n - scale : 0;

	buf_add(out, whole ? digits : "0", whole ? whole : 1);
	if (!scale)
		return;
	buf_add_byte(out, '.');
	for (size_t zeros = whole ? 0 : scale - n; zeros > 0; zeros--)
		buf_add_byte(out, '0');
	buf_add(out, digits + whole, n - whole);
}

const char *decimal_from_binary(struct slice bytes, uint32_t scale, struct buf *out)
{
	bool negative = bytes.n && bytes.p[0] & 0x80;
	uint32_t limbs[LIMBS];
	char digits[DIGITS];
	size_t at;

	if (!bytes.n)
		return "a decimal of no bytes";
	bytes = drop_sign_bytes(bytes, negative);
	if (bytes.n > DECIMAL_BINARY_BYTES)
		return "a decimal of more than 1024 bytes";
	at = digits_of(limbs, load(bytes, negative, limbs), digits);
	if (negative)
		buf_add_byte(out, '-');
	put(out, digits + at, DIGITS - at, scale);
	return NULL;
}

#include "utf8.h"

#define HIGH_BITS 0x8080808080808080u

/* The length of the well-formed sequence at p (Unicode 15.0, table 3-7), or 0. n > 0. */
static size_t sequence_at(const uint8_t *p, size_t n)
{
	uint8_t low = 0x80, high = 0xBF;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return 0;
	len = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	if (p[0] == 0xE0)
		low = 0xA0;
	else if (p[0] == 0xED)
		high = 0x9F;
	else if (p[0] == 0xF0)
		low = 0x90;
	else if (p[0] == 0xF4)
		high = 0x8F;
	if (n < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	}
	return len;
}

static bool eight_ascii(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return !(word & HIGH_BITS);
}

bool utf8_valid(struct slice s)
{
	size_t i = 0;

	while (i < s.n) {
		size_t len;

		if (s.n - i >= 8 && eight_ascii(s.p + i)) {
			i += 8;
			continue;
		}
		len = sequence_at(s.p + i, s.n - i);
		if (!len)
			return false;
		i += len;
	}
	return true;
}

bool utf8_text(struct slice s)
{
	return utf8_valid(s) && (!s.n || !memchr(s.p, '\0', s.n));
}

/* The longest prefix of at most max bytes that ends at a character of the text s. */
static size_t prefix(struct slice s, size_t max)
{
	if (s.n <= max)
		return s.n;
	while (max && (s.p[max] & 0xC0) == 0x80)
		max--;
	return max;
}

struct slice utf8_clean(struct arena *a, struct slice s, size_t max, uint32_t *cut)
{
	static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD};
	size_t i = 0, n = 0;
	uint8_t *out;

	if (slice_is_null(s))
		return s;
	if (utf8_text(s)) {
		i = n = prefix(s, max);
		*cut += (uint32_t)(s.n - i);
		return slice_of(s.p, n);
	}
	out = arena_alloc(a, max);
	while (i < s.n) {
		size_t len = s.p[i] ? sequence_at(s.p + i, s.n - i) : 0;
		struct slice c = len ? slice_of(s.p + i, len) : slice_of(replacement, 3);

		if (c.n > max - n)
			break;
		memcpy(out + n, c.p, c.n);
		n += c.n;
		i += len ? len : 1;
	}
	*cut += (uint32_t)(s.n - i);
	return slice_of(out, n);
}

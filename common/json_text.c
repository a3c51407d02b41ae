#include "json_text.h"

#include "utf8.h"

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The value of \uXXXX at p, or -1. */
static int escape_at(const uint8_t *p, const uint8_t *end)
{
	int v = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int digit = hex_digit(p[i]);

		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

/*
 * yajl turns half a surrogate pair into "?", or into bytes that are no UTF-8 (yajl_encode.c). A
 * backslash stands only in strings, else the text is no JSON, so they need not be told apart.
 */
static const char *check_escapes(struct slice s)
{
	const uint8_t *p = s.p, *end = s.p + s.n;

	while ((p = memchr(p, '\\', (size_t)(end - p)))) {
		int unit = escape_at(p, end); /* of UTF-16; -1: another escape */
		ptrdiff_t length = unit < 0 ? 2 : 6;

		if (unit == 0)
			return "payload holds a NUL";
		if ((unit & 0xFC00) == 0xD800) {
			unit = escape_at(p + 6, end);
			if (unit < 0xDC00 || unit > 0xDFFF)
				return "payload holds half a surrogate pair";
			length = 12;
		} else if ((unit & 0xFC00) == 0xDC00) {
			return "payload holds half a surrogate pair";
		}
		if (end - p < length)
			break; /* yajl says what is wrong with it */
		p += length;
	}
	return NULL;
}

const char *json_text_check(struct slice s)
{
	if (slice_is_null(s))
		return "no payload";
	if (!s.n)
		return "empty payload";
	if (memchr(s.p, '\0', s.n))
		return "payload holds a NUL";
	if (!utf8_valid(s))
		return "payload is not valid UTF-8";
	return check_escapes(s);
}

#include "visible.h"

#include "utf8.h"

/* The character at p of well-formed UTF-8, and its length. */
static uint32_t character_at(const uint8_t *p, size_t *ret_n)
{
	if (p[0] < 0x80) {
		*ret_n = 1;
		return p[0];
	}
	if (p[0] < 0xE0) {
		*ret_n = 2;
		return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
	}
	if (p[0] < 0xF0) {
		*ret_n = 3;
		return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
	}
	*ret_n = 4;
	return 0x10000; /* no control among them */
}

/* Unicode's Bidi_Control, and the line and paragraph separators. */
static bool turns_text(uint32_t c)
{
	return c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static void add_character(struct buf *out, const uint8_t *p, uint32_t c, size_t n)
{
	if (c == '\n')
		buf_add_str(out, "\\n");
	else if (c == '\r')
		buf_add_str(out, "\\r");
	else if (c == '\t')
		buf_add_str(out, "\\t");
	else if (c < ' ' || c == 0x7F)
		buf_printf(out, "\\x%02x", c);
	else if ((c >= 0x80 && c < 0xA0) || turns_text(c))
		buf_printf(out, "\\u%04x", c);
	else
		buf_add(out, p, n);
}

const char *visible(struct arena *a, struct slice s, size_t max)
{
	CLEANUP(buf_free) struct buf out = {0};
	uint32_t cut = 0;
	size_t n;

	if (slice_is_null(s))
		return "-";
	s = utf8_clean(a, s, max, &cut);
	for (size_t i = 0; i < s.n; i += n) {
		uint32_t c = character_at(s.p + i, &n);

		add_character(&out, s.p + i, c, n);
	}
	if (cut)
		buf_add_str(&out, "...");
	return out.n ? arena_cstr(a, slice_of(out.p, out.n)) : "";
}

size_t visible_width_n(const char *text, size_t n)
{
	size_t width = 0;

	for (size_t i = 0; i < n; i++)
		width += ((uint8_t)text[i] & 0xC0) != 0x80;
	return width;
}

size_t visible_width(const char *text)
{
	return visible_width_n(text, strlen(text));
}

#include "glob.h"

#define NOWHERE SIZE_MAX

static size_t find(struct slice text, size_t from, uint8_t c)
{
	const uint8_t *p = from < text.n ? memchr(text.p + from, c, text.n - from) : NULL;

	return p ? (size_t)(p - text.p) : NOWHERE;
}

/*
 * After a mismatch only the last "*" can take more bytes: an earlier one would gain nothing. It
 * takes all up to the next byte that can follow it.
 */
bool glob_match(struct slice pattern, struct slice text)
{
	size_t p = 0, t = 0, behind_star = 0, from = 0;

	while (p < pattern.n || t < text.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			while (p < pattern.n && pattern.p[p] == '*')
				p++;
			if (p == pattern.n)
				return true;
			behind_star = p;
			t = from = find(text, t, pattern.p[p]);
		} else if (p < pattern.n && t < text.n && pattern.p[p] == text.p[t]) {
			p++;
			t++;
		} else if (behind_star) {
			p = behind_star;
			t = from = find(text, from + 1, pattern.p[p]);
		} else {
			return false;
		}
		if (t == NOWHERE)
			return false;
	}
	return true;
}

/* Of Java, .NET, Ruby and Python names. */
static bool separates(uint8_t c)
{
	return c == '.' || c == '$' || c == ':' || c == '+' || c == '/';
}

bool glob_match_name(struct slice pattern, struct slice name)
{
	if (!pattern.n || !name.n)
		return false;
	if (pattern.p[0] == '*')
		return glob_match(pattern, name);
	for (size_t i = find(name, 0, pattern.p[0]); i != NOWHERE;
		i = find(name, i + 1, pattern.p[0])) {
		bool begins = i == 0 || separates(name.p[i - 1]);

		if (begins && glob_match(pattern, slice_of(name.p + i, name.n - i)))
			return true;
	}
	return false;
}

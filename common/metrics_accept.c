/* Which exposition format an Accept header asks for (RFC 9110, 12.5.1). */
#include "metrics.h"

#include <string.h>
#include <strings.h>

static struct slice trim(struct slice s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* Takes what is before the separator off the front of *s. */
static struct slice cut(struct slice *s, char separator)
{
	const uint8_t *end = s->n ? memchr(s->p, separator, s->n) : NULL;
	size_t n = end ? (size_t)(end - s->p) : s->n;
	struct slice head = slice_of(s->p, n);

	s->p += n + (end != NULL);
	s->n -= n + (end != NULL);
	return trim(head);
}

static bool is(struct slice s, const char *word)
{
	return s.n == strlen(word) && strncasecmp((const char *)s.p, word, s.n) == 0;
}

/* A weight in thousandths; what is none counts as 1. */
static int weight(struct slice parameters)
{
	while (parameters.n) {
		struct slice p = cut(&parameters, ';');
		int value = 0, unit = 1000;

		if (p.n < 3 || (p.p[0] | 0x20) != 'q' || p.p[1] != '=')
			continue;
		for (size_t i = 2; i < p.n && unit; i++) {
			if (p.p[i] == '.')
				continue;
			if (p.p[i] < '0' || p.p[i] > '9')
				return 1000;
			value += (p.p[i] - '0') * unit;
			unit /= 10;
		}
		return value;
	}
	return 1000;
}

enum metrics_form metrics_form_accepted(const char *accept)
{
	struct slice rest = slice_str(accept ? accept : "");
	int open = 0, text = 0;

	while (rest.n) {
		struct slice range = cut(&rest, ',');
		struct slice type = cut(&range, ';');
		int q = weight(range);

		if (is(type, "application/openmetrics-text"))
			open = q > open ? q : open;
		else if (is(type, "text/plain") || is(type, "text/*") || is(type, "*/*"))
			text = q > text ? q : text;
	}
	return open && open >= text ? METRICS_OPENMETRICS : METRICS_TEXT;
}

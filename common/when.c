#include "when.h"

#include "instant.h"

#define US_PER_SECOND INT64_C(1000000)
#define DATE_BYTES 10

/* 0: not one of them. */
static int64_t unit_us(uint8_t letter)
{
	switch (letter) {
	case 's':
		return US_PER_SECOND;
	case 'm':
		return 60 * US_PER_SECOND;
	case 'h':
		return 3600 * US_PER_SECOND;
	case 'd':
		return 86400 * US_PER_SECOND;
	default:
		return 0;
	}
}

/* False where text is not digits and a unit. */
static bool age_parse(struct slice text, int64_t *ret_us)
{
	int64_t n = 0;

	if (text.n < 2 || !unit_us(text.p[text.n - 1]))
		return false;
	for (size_t i = 0; i + 1 < text.n; i++)
		if (text.p[i] < '0' || text.p[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, text.p[i] - '0', &n))
			return false;
	return !__builtin_mul_overflow(n, unit_us(text.p[text.n - 1]), ret_us);
}

static const char *date_parse(struct slice text, int64_t *ret_us)
{
	static const char midnight[] = "T00:00:00Z";
	char whole[DATE_BYTES + sizeof(midnight)];

	memcpy(whole, text.p, DATE_BYTES);
	memcpy(whole + DATE_BYTES, midnight, sizeof(midnight));
	return instant_parse(slice_str(whole), ret_us);
}

const char *when_parse(struct arena *a, const char *text, int64_t now_us, int64_t *ret_us)
{
	struct slice s = slice_str(text);
	const char *why;
	int64_t age_us;

	if (age_parse(s, &age_us))
		return __builtin_sub_overflow(now_us, age_us, ret_us) ? "too long ago" : NULL;
	why = s.n == DATE_BYTES ? date_parse(s, ret_us) : instant_parse(s, ret_us);
	if (!why)
		return NULL;
	return arena_printf(a,
		"%s; give a time with an offset (2026-07-17T08:00:00+02:00), a date (2026-07-17), "
		"or an age (90m, 2h, 3d)",
		why);
}

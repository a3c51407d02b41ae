#include "decimal.h"

#include <stdlib.h>

/*
 * A sum is held as signed digits by position that are not carried: adding an amount adds its
 * digits, and only the text carries them. A position overflows after 2^60 additions.
 */

/* Makes room for the positions from low to high-1; position 0 is that of the units. */
static void widen(struct decimal_sum *s, int low, int high)
{
	int old_high = s->low + s->n;
	struct decimal_sum wide;

	if (s->n && s->low <= low && old_high >= high)
		return;
	wide.low = s->n && s->low < low ? s->low : low;
	wide.n = (s->n && old_high > high ? old_high : high) - wide.low;
	wide.digits = mem_zalloc((size_t)wide.n * sizeof(*wide.digits));
	if (s->n)
		memcpy(wide.digits + (s->low - wide.low), s->digits,
			(size_t)s->n * sizeof(*s->digits));
	free(s->digits);
	*s = wide;
}

bool decimal_sum_add(struct decimal_sum *s, struct slice text)
{
	CLEANUP(buf_free) struct buf canonical = {0};
	const char *p;
	char *end;
	int digits, low, sign;

	if (!decimal_valid(text))
		return false;
	decimal_canonical(text, &canonical);
	buf_add_byte(&canonical, '\0');
	p = (const char *)canonical.p;
	sign = *p == '-' ? -1 : 1;
	p += *p == '-';
	digits = (int)strcspn(p, "e");
	low = (int)strtol(p + digits + 1, &end, 10);
	if (low < -DECIMAL_SUM_POSITIONS || digits > DECIMAL_SUM_POSITIONS - low)
		return false;
	widen(s, low, low + digits);
	for (int i = 0; i < digits; i++)
		s->digits[low + digits - 1 - i - s->low] += (int64_t)sign * (p[i] - '0');
	return true;
}

#define CARRY_DIGITS 20

/* Digits times sign, carried, the lowest first, into ret[n + CARRY_DIGITS]. False: negative. */
static bool carried(const struct decimal_sum *s, int sign, char *ret)
{
	int64_t carry = 0;

	for (int i = 0; i < s->n + CARRY_DIGITS; i++) {
		int64_t v = carry + (i < s->n ? sign * s->digits[i] : 0);
		int64_t digit = v % 10;

		digit += digit < 0 ? 10 : 0;
		ret[i] = (char)('0' + digit);
		carry = (v - digit) / 10;
	}
	return carry == 0;
}

static char digit_at(const struct decimal_sum *s, const char *digits, int position)
{
	bool held = position >= s->low && position < s->low + s->n + CARRY_DIGITS;

	return held ? digits[position - s->low] : '0';
}

void decimal_sum_text(const struct decimal_sum *s, struct buf *out)
{
	AUTO_FREE char *digits = mem_zalloc((size_t)s->n + CARRY_DIGITS);
	bool negative = !carried(s, 1, digits) && carried(s, -1, digits);
	int high = s->low + s->n + CARRY_DIGITS, low = s->low < 0 ? s->low : 0;

	while (high > 0 && digit_at(s, digits, high) == '0')
		high--;
	while (low < 0 && digit_at(s, digits, low) == '0')
		low++;
	if (negative)
		buf_add_byte(out, '-');
	for (int i = high > 0 ? high : 0; i >= low; i--) {
		if (i == -1)
			buf_add_byte(out, '.');
		buf_add_byte(out, (uint8_t)digit_at(s, digits, i));
	}
}

void decimal_sum_free(struct decimal_sum *s)
{
	free(s->digits);
	*s = (struct decimal_sum){0};
}

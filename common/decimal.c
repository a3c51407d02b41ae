#include "decimal.h"

#define EXPONENT_MAX 100000

/* The parts of [sign]whole[.fraction][e exponent]. */
struct parts {
	bool negative;
	struct slice whole, fraction;
	int64_t exponent;
};

static struct slice take_digits(const uint8_t **p, const uint8_t *end)
{
	const uint8_t *from = *p;

	while (*p < end && **p >= '0' && **p <= '9')
		(*p)++;
	return slice_of(from, (size_t)(*p - from));
}

static bool take_sign(const uint8_t **p, const uint8_t *end)
{
	bool negative = *p < end && **p == '-';

	if (*p < end && (**p == '-' || **p == '+'))
		(*p)++;
	return negative;
}

static bool take_exponent(const uint8_t **p, const uint8_t *end, int64_t *ret)
{
	bool negative = take_sign(p, end);
	struct slice digits = take_digits(p, end);
	int64_t v = 0;

	for (size_t i = 0; i < digits.n; i++) {
		v = v * 10 + (digits.p[i] - '0');
		if (v > EXPONENT_MAX)
			return false;
	}
	*ret = negative ? -v : v;
	return digits.n > 0;
}

static bool split(struct slice text, struct parts *ret)
{
	const uint8_t *p = text.p, *end = text.n ? p + text.n : p;

	*ret = (struct parts){.negative = take_sign(&p, end)};
	ret->whole = take_digits(&p, end);
	if (p < end && *p == '.') {
		p++;
		ret->fraction = take_digits(&p, end);
	}
	if (!ret->whole.n && !ret->fraction.n)
		return false;
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (!take_exponent(&p, end, &ret->exponent))
			return false;
	}
	return p == end;
}

bool decimal_valid(struct slice text)
{
	struct parts parts;

	return split(text, &parts);
}

static void skip_leading_zeros(struct slice *s)
{
	while (s->n && s->p[0] == '0') {
		s->p++;
		s->n--;
	}
}

/* Returns how many there were. */
static int64_t drop_trailing_zeros(struct slice *s)
{
	size_t n = s->n;

	while (s->n && s->p[s->n - 1] == '0')
		s->n--;
	return (int64_t)(n - s->n);
}

void decimal_canonical(struct slice text, struct buf *out)
{
	struct parts d;

	split(text, &d);
	skip_leading_zeros(&d.whole);
	drop_trailing_zeros(&d.fraction);
	d.exponent -= (int64_t)d.fraction.n;
	if (!d.fraction.n)
		d.exponent += drop_trailing_zeros(&d.whole);
	if (!d.whole.n)
		skip_leading_zeros(&d.fraction);
	if (!d.whole.n && !d.fraction.n) {
		buf_add_str(out, "0e0");
		return;
	}
	if (d.negative)
		buf_add_byte(out, '-');
	buf_add(out, d.whole.p, d.whole.n);
	buf_add(out, d.fraction.p, d.fraction.n);
	buf_add_byte(out, 'e');
	buf_add_i64(out, d.exponent);
}

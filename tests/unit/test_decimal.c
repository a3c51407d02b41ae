#include <criterion/criterion.h>
#include <stdio.h>

#include "codec_random.h"
#include "decimal.h"

Test(decimal, takes_plain_and_scientific_text)
{
	const char *valid[] = {"0", "-0", "+1", "12.50", "-12.5", ".5", "5.", "-.5", "007", "1e3",
		"1E+3", "1.25e1", "1e-100000", "1e100000", "1e000000000000005",
		"123456789012345678901234567890.123456789012345678901234567890"};

	for (size_t i = 0; i < ARRAY_LEN(valid); i++)
		cr_expect(decimal_valid(slice_str(valid[i])), "%s", valid[i]);
}

Test(decimal, takes_nothing_else)
{
	const char *invalid[] = {"", "+", "-", ".", "-.", "e5", ".e5", "1e", "1e+", "1e1.0", "1 ",
		" 1", "1,5", "1_000", "--1", "+-1", "0x10", "NaN", "nan", "Infinity", "-inf",
		"1e100001", "1e-100001", "1e99999999999999999999999", "12.5.0", "1e5e5", "\xd9\xa1",
		"$5", "1d"};

	for (size_t i = 0; i < ARRAY_LEN(invalid); i++)
		cr_expect(!decimal_valid(slice_str(invalid[i])), "%s", invalid[i]);
	cr_expect(!decimal_valid(SLICE_NULL));
	cr_expect(!decimal_valid(slice_of("1\0", 2)));
}

static const struct {
	const char *text, *canonical;
} canonicals[] = {
	{"12.5", "125e-1"},
	{"12.50", "125e-1"},
	{"1.25e1", "125e-1"},
	{"0012.500", "125e-1"},
	{"+12.5", "125e-1"},
	{"1250e-2", "125e-1"},
	{"-12.5", "-125e-1"},
	{"0", "0e0"},
	{"-0", "0e0"},
	{"0.00", "0e0"},
	{"0e99", "0e0"},
	{".0e-5", "0e0"},
	{"100", "1e2"},
	{"100.", "1e2"},
	{"1e2", "1e2"},
	{"0.001", "1e-3"},
	{".00100", "1e-3"},
	{"10.01", "1001e-2"},
	{"100e100000", "1e100002"},
	{"0.01e-100000", "1e-100002"},
	{"-.5", "-5e-1"},
};

Test(decimal, canonical_form_is_one_per_value)
{
	for (size_t i = 0; i < ARRAY_LEN(canonicals); i++) {
		CLEANUP(buf_free) struct buf b = {0};

		decimal_canonical(slice_str(canonicals[i].text), &b);
		cr_expect(slice_eq(slice_of(b.p, b.n), slice_str(canonicals[i].canonical)),
			"%s: %.*s", canonicals[i].text, (int)b.n, (char *)b.p);
	}
}

Test(decimal, canonical_form_is_appended)
{
	CLEANUP(buf_free) struct buf b = {0};

	buf_add_str(&b, "kwh=");
	decimal_canonical(SLICE_LIT("1.0"), &b);
	cr_assert(slice_eq(slice_of(b.p, b.n), SLICE_LIT("kwh=1e0")));
}

/* --- the property: canonical forms are equal exactly where the values are --- */

#define PLACES 40 /* each side of the point */

/* The slow way: every digit to its place, no zeros left to argue about. */
static void spread(const char *text, char ret[2 * PLACES + 2])
{
	const char *e = strpbrk(text, "eE"), *p = text;
	long exponent = e ? strtol(e + 1, NULL, 10) : 0, place = -1;
	bool zero = true;

	memset(ret, '0', 2 * PLACES + 1);
	ret[2 * PLACES + 1] = '\0';
	for (const char *d = text + strspn(text, "+-"); *d >= '0' && *d <= '9'; d++)
		place++;
	for (p += strspn(p, "+-"); *p && p != e; p++) {
		if (*p == '.')
			continue;
		ret[PLACES - (place + exponent)] = *p;
		zero = zero && *p == '0';
		place--;
	}
	ret[0] = text[0] == '-' && !zero ? '-' : '+';
}

/* Few digits, many zeros, so that equal values in different clothes are common. */
static void random_decimal(struct random *r, char ret[64])
{
	size_t whole = random_below(r, 5), fraction = random_below(r, 5);
	char *p = ret;

	if (random_below(r, 2))
		*p++ = "+-"[random_below(r, 2)];
	for (size_t i = 0; i < whole; i++)
		*p++ = "00012"[random_below(r, 5)];
	if (!whole || fraction || random_below(r, 4) == 0)
		*p++ = '.';
	for (size_t i = 0; i < fraction + !whole; i++)
		*p++ = "00012"[random_below(r, 5)];
	*p = '\0';
	if (random_below(r, 2))
		sprintf(p, "%c%d", "eE"[random_below(r, 2)], (int)random_below(r, 9) - 4);
}

Test(decimal, canonical_forms_are_equal_exactly_where_values_are)
{
	struct random r = {.state = 3};
	int equal = 0, unequal = 0;

	for (int i = 0; i < 300000; i++) {
		CLEANUP(buf_free) struct buf canon_a = {0}, canon_b = {0};
		char a[64], b[64], places_a[2 * PLACES + 2], places_b[2 * PLACES + 2];
		bool same;

		random_decimal(&r, a);
		random_decimal(&r, b);
		cr_assert(decimal_valid(slice_str(a)), "%s", a);
		spread(a, places_a);
		spread(b, places_b);
		same = strcmp(places_a, places_b) == 0;
		decimal_canonical(slice_str(a), &canon_a);
		decimal_canonical(slice_str(b), &canon_b);
		cr_assert_eq(
			slice_eq(slice_of(canon_a.p, canon_a.n), slice_of(canon_b.p, canon_b.n)),
			same, "%s and %s", a, b);
		equal += same;
		unequal += !same;
	}
	cr_assert_gt(equal, 10000);
	cr_assert_gt(unequal, 10000);
}

Test(decimal, canonical_form_is_a_decimal_of_the_same_value)
{
	struct random r = {.state = 4};

	for (int i = 0; i < 100000; i++) {
		CLEANUP(buf_free) struct buf once = {0}, twice = {0};
		char text[64];

		random_decimal(&r, text);
		decimal_canonical(slice_str(text), &once);
		cr_assert(decimal_valid(slice_of(once.p, once.n)), "%s", text);
		decimal_canonical(slice_of(once.p, once.n), &twice);
		cr_assert(
			slice_eq(slice_of(once.p, once.n), slice_of(twice.p, twice.n)), "%s", text);
	}
}

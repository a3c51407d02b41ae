/* Sums of decimals. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "decimal.h"

static void sums_to(const char *const *amounts, const char *expected)
{
	struct decimal_sum s = {0};
	struct buf text = {0};

	for (; *amounts; amounts++)
		cr_assert(decimal_sum_add(&s, slice_str(*amounts)), "%s", *amounts);
	decimal_sum_text(&s, &text);
	buf_add_byte(&text, '\0');
	cr_expect_str_eq((const char *)text.p, expected);
	buf_free(&text);
	decimal_sum_free(&s);
}
#define SUM(expected, ...) sums_to((const char *const[]){__VA_ARGS__, NULL}, expected)

Test(decimal_sum, is_exact_where_a_double_is_not)
{
	SUM("0.3", "0.1", "0.2");
	SUM("9007199254740993.1", "9007199254740992", "1.1");
	SUM("100000000000000000000000000000.000000000000000000000000000001",
		"100000000000000000000000000000", "1e-30");
}

Test(decimal_sum, of_nothing_and_of_what_cancels_out_is_zero)
{
	SUM("0", NULL);
	SUM("0", "0", "-0.00");
	SUM("0", "12.50", "-12.5");
	SUM("0", "1e30", "-1e30");
}

Test(decimal_sum, carries_and_borrows_over_any_number_of_digits)
{
	SUM("1000000000000", "999999999999", "1");
	SUM("999.99", "1000", "-0.01");
	SUM("-999.99", "-1000", "0.01");
	SUM("-0.05", "-0.1", "0.05");
	SUM("1", "0.5", "0.5");
}

Test(decimal_sum, is_plain_digits_whatever_form_the_amounts_have)
{
	SUM("1250", "1.25e3");
	SUM("100", "1e2");
	SUM("0.00125", "1.25e-3");
	SUM("-0.5", "-.5");
	SUM("20.5", "+7.", "0013.50");
}

Test(decimal_sum, of_a_million_cents_is_ten_thousand)
{
	struct decimal_sum s = {0};
	struct buf text = {0};

	for (int i = 0; i < 1000000; i++)
		cr_assert(decimal_sum_add(&s, SLICE_LIT("0.01")));
	decimal_sum_text(&s, &text);
	cr_assert_eq(text.n, 5);
	cr_assert_arr_eq(text.p, "10000", 5);
	buf_free(&text);
	decimal_sum_free(&s);
}

Test(decimal_sum, takes_no_amount_with_digits_a_thousand_places_away_and_nothing_that_is_none)
{
	struct decimal_sum s = {0};
	struct buf text = {0};

	cr_assert(decimal_sum_add(&s, SLICE_LIT("1")));
	cr_assert(decimal_sum_add(&s, SLICE_LIT("1e999")));
	cr_assert(decimal_sum_add(&s, SLICE_LIT("-1e999")));
	cr_assert_not(decimal_sum_add(&s, SLICE_LIT("1e1000")));
	cr_assert_not(decimal_sum_add(&s, SLICE_LIT("1e-1001")));
	cr_assert_not(decimal_sum_add(&s, SLICE_LIT("NaN")));
	cr_assert_not(decimal_sum_add(&s, SLICE_NULL));
	decimal_sum_text(&s, &text);
	cr_assert_eq(text.n, 1);
	cr_assert_eq(text.p[0], '1');
	buf_free(&text);
	decimal_sum_free(&s);
}

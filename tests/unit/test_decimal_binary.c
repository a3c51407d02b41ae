#include <criterion/criterion.h>

#include "avro_fixture.h"
#include "codec_random.h"
#include "decimal.h"

/* By Python: int.to_bytes(..., "big", signed=True) and format(Decimal(v).scaleb(-scale), "f"). */
static const struct {
	const char *hex;
	uint32_t scale;
	const char *text;
} values[] = {
	{"00", 0, "0"},
	{"00", 2, "0.00"},
	{"0000000000", 38, "0.00000000000000000000000000000000000000"},
	{"01", 0, "1"},
	{"ff", 0, "-1"},
	{"ff", 1, "-0.1"},
	{"0000000000000009", 0, "9"},
	{"0a", 1, "1.0"},
	{"fffffff6", 1, "-1.0"},
	{"63", 2, "0.99"},
	{"64", 2, "1.00"},
	{"9c", 3, "-0.100"},
	{"7f", 0, "127"},
	{"0080", 0, "128"},
	{"80", 0, "-128"},
	{"ff7f", 0, "-129"},
	{"00ff", 2, "2.55"},
	{"0100", 2, "2.56"},
	{"ff00", 2, "-2.56"},
	{"04e2", 2, "12.50"},
	{"fffffb1e", 2, "-12.50"},
	{"3b9ac9ff", 0, "999999999"},
	{"3b9aca00", 0, "1000000000"},
	{"3b9aca00", 9, "1.000000000"},
	{"c4653600", 10, "-0.1000000000"},
	{"0080000000", 3, "2147483.648"},
	{"80000000", 3, "-2147483.648"},
	{"00ffffffff", 6, "4294.967295"},
	{"0100000000", 6, "4294.967296"},
	{"ff00000000", 6, "-4294.967296"},
	{"7fffffffffffffff", 18, "9.223372036854775807"},
	{"8000000000000000", 18, "-9.223372036854775808"},
	{"00010000000000000000", 19, "1.8446744073709551616"},
	{"0de0b6b3a763ffff", 6, "999999999999.999999"},
	{"4b3b4ca85a86c47a098a223fffffffff", 0, "99999999999999999999999999999999999999"},
	{"4b3b4ca85a86c47a098a223fffffffff", 38, "0.99999999999999999999999999999999999999"},
	{"b4c4b357a5793b85f675ddc000000001", 19, "-9999999999999999999.9999999999999999999"},
	{"ffffffffffb4c4b357a5793b85f675ddc000000000", 38,
		"-1.00000000000000000000000000000000000000"},
	{"7fffffffffffffffffffffffffffffff", 37, "17.0141183460469231731687303715884105727"},
	{"80000000000000000000000000000000", 37, "-17.0141183460469231731687303715884105728"},
	{"009f4f2726179a224501d762422c946590d91000000000000007", 20,
		"10000000000000000000000000000000000000000.00000000000000000007"},
};

Test(decimal_binary, gives_the_digits_that_python_gives)
{
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		CLEANUP(arena_free) struct arena a = {0};
		CLEANUP(buf_free) struct buf text = {0};

		cr_assert_null(
			decimal_from_binary(unhex(&a, values[i].hex), values[i].scale, &text));
		cr_expect(slice_eq(slice_of(text.p, text.n), slice_str(values[i].text)), "%s: %.*s",
			values[i].hex, (int)text.n, (char *)text.p);
	}
}

/* Digit by digit, least significant first: digits * 256 + byte. */
static size_t append_byte(uint8_t *digits, size_t n, unsigned byte)
{
	for (size_t i = 0; i < n || byte; i++) {
		byte += i < n ? digits[i] * 256u : 0;
		digits[i] = (uint8_t)(byte % 10);
		byte /= 10;
		n = i < n ? n : i + 1;
	}
	return n;
}

static void expect_same(struct slice bytes)
{
	CLEANUP(buf_free) struct buf text = {0};
	uint8_t digits[2600];
	size_t n = 0;

	for (size_t i = 0; i < bytes.n; i++)
		n = append_byte(digits, n, bytes.p[i]);
	cr_assert_null(decimal_from_binary(bytes, 0, &text));
	cr_assert_eq(text.n, n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(
			text.p[i], '0' + digits[n - 1 - i], "%zu bytes, digit %zu", bytes.n, i);
}

Test(decimal_binary, of_every_length_is_what_a_slower_way_gives)
{
	uint8_t bytes[DECIMAL_BINARY_BYTES];
	struct random random = {1, NULL};

	for (size_t n = 1; n <= sizeof(bytes); n += n < 64 ? 1 : 61) {
		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)random_next(&random);
		bytes[0] = (uint8_t)(1 + bytes[0] % 127); /* positive, no sign byte */
		expect_same(slice_of(bytes, n));
	}
}

Test(decimal_binary, of_1024_bytes_is_the_longest)
{
	uint8_t bytes[2 * DECIMAL_BINARY_BYTES] = {0};
	CLEANUP(buf_free) struct buf text = {0};

	memset(bytes + DECIMAL_BINARY_BYTES, 0xff, DECIMAL_BINARY_BYTES);
	bytes[DECIMAL_BINARY_BYTES] = 0x7f;
	expect_same(slice_of(bytes + DECIMAL_BINARY_BYTES, DECIMAL_BINARY_BYTES));
	/* 1024 more bytes of sign count for nothing. */
	cr_assert_null(decimal_from_binary(slice_of(bytes, sizeof(bytes)), 0, &text));
	cr_expect_eq(text.n, 2466);
	bytes[DECIMAL_BINARY_BYTES] = 0xff;
	cr_expect_str_eq(decimal_from_binary(slice_of(bytes, sizeof(bytes)), 0, &text),
		"a decimal of more than 1024 bytes");
}

Test(decimal_binary, of_the_least_1024_bytes_does_not_overflow)
{
	uint8_t bytes[DECIMAL_BINARY_BYTES] = {0x80};
	CLEANUP(buf_free) struct buf text = {0};

	cr_assert_null(decimal_from_binary(slice_of(bytes, sizeof(bytes)), 2466, &text));
	cr_expect_eq(text.n, 3 + 2466);
	cr_expect_eq(memcmp(text.p, "-0.54537406780970", 17), 0, "%.20s", (char *)text.p);
}

Test(decimal_binary, of_no_bytes_is_none)
{
	struct buf text = {0};

	cr_expect_str_eq(decimal_from_binary(SLICE_LIT(""), 2, &text), "a decimal of no bytes");
}

Test(decimal_binary, scale_may_be_any_number_of_digits)
{
	CLEANUP(buf_free) struct buf text = {0};

	cr_assert_null(decimal_from_binary(SLICE_LIT("\x05"), 16383, &text));
	cr_expect_eq(text.n, 2 + 16383);
	cr_expect_eq(text.p[text.n - 1], '5');
	cr_expect(decimal_valid(slice_of(text.p, text.n)));
}

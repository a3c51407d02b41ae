#include <criterion/criterion.h>

#include "utf8.h"

/* The number of code points tells it all: overlong forms, surrogates and the end at 10FFFF. */
Test(utf8, exactly_the_code_points_are_valid)
{
	unsigned twos = 0, threes = 0, fours = 0;
	uint8_t b[4];

	for (unsigned i = 0x80; i < 0x100; i++) {
		b[0] = (uint8_t)i;
		cr_expect(!utf8_valid(slice_of(b, 1)), "%02x", i);
		for (unsigned j = 0; j < 0x100; j++) {
			b[1] = (uint8_t)j;
			twos += utf8_valid(slice_of(b, 2));
			for (unsigned k = 0; k < 0x100; k++) {
				b[2] = (uint8_t)k;
				b[3] = 0xBF;
				threes += i >= 0xE0 && utf8_valid(slice_of(b, 3));
				fours += i >= 0xF0 && utf8_valid(slice_of(b, 4));
			}
		}
	}
	cr_expect_eq(twos, 0x800 - 0x80);
	cr_expect_eq(threes, 0x10000 - 0x800 - 0x800);
	cr_expect_eq(fours, 0x100000 / 64);
}

Test(utf8, is_checked_wherever_it_stands_among_ascii)
{
	char text[] = "aaaaaaaaaaaaaaaaaaaaaaaa";

	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		char bad[sizeof(text)];

		memcpy(bad, text, sizeof(text));
		bad[i] = '\x80';
		cr_expect(!utf8_valid(slice_str(bad)), "at %zu", i);
		cr_expect(!utf8_text(slice_str(bad)), "at %zu", i);
		bad[i] = '\0';
		cr_expect(utf8_valid(slice_of(bad, sizeof(text) - 1)), "NUL at %zu", i);
		cr_expect(!utf8_text(slice_of(bad, sizeof(text) - 1)), "NUL at %zu", i);
	}
}

Test(utf8, null_and_empty_are_text)
{
	cr_expect(utf8_text(SLICE_NULL));
	cr_expect(utf8_text(SLICE_LIT("")));
}

static void expect_clean(const char *text, size_t max, const char *expected, uint32_t cut)
{
	CLEANUP(arena_free) struct arena a = {0};
	uint32_t n = 0;
	struct slice s = utf8_clean(&a, slice_str(text), max, &n);

	cr_expect(slice_eq(s, slice_str(expected)), "%s: %.*s", text, SLICE_FMT(s));
	cr_expect_eq(n, cut, "%s: %u cut", text, n);
}

Test(utf8, clean_cuts_at_a_character)
{
	expect_clean("h\xc3\xa4", 3, "h\xc3\xa4", 0);
	expect_clean("h\xc3\xa4h", 3, "h\xc3\xa4", 1);
	expect_clean("h\xc3\xa4", 2, "h", 2);
	expect_clean("\xf0\x9f\x98\x80", 3, "", 4);
	expect_clean("abc", 0, "", 3);
	expect_clean(NULL, 5, NULL, 0);
}

Test(utf8, clean_replaces_what_is_no_text)
{
	expect_clean("a\xff"
		     "b",
		9,
		"a\xef\xbf\xbd"
		"b",
		0);
	expect_clean("\xe4\xb8", 9, "\xef\xbf\xbd\xef\xbf\xbd", 0);
	expect_clean("\xff\xff", 5, "\xef\xbf\xbd", 1);
}

Test(utf8, clean_replaces_a_nul_and_adds_to_the_count)
{
	CLEANUP(arena_free) struct arena a = {0};
	uint32_t cut = 7;
	struct slice s = utf8_clean(&a, slice_of("a\0bc", 4), 5, &cut);

	cr_expect(slice_eq(s, SLICE_LIT("a\xef\xbf\xbd"
					"b")));
	cr_expect_eq(cut, 8);
}

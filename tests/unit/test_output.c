/* What may be printed: CSV, text for a terminal, trace ids, and what must not: secrets. */
#include <criterion/criterion.h>

#include "codec.h"
#include "config.h"
#include "csv.h"
#include "secret.h"
#include "trace.h"
#include "visible.h"

Test(csv, quotes_what_asks_for_it_and_changes_no_byte)
{
	CLEANUP(buf_free) struct buf expected = {0};
	struct csv csv = {0};

	csv_add_text(&csv, "plain");
	csv_add_text(&csv, "a,b");
	csv_add_text(&csv, "say \"no\"");
	csv_add_text(&csv, "two\r\nlines");
	csv_add_text(&csv, NULL);
	csv_add_text(&csv, " blank");
	csv_add_number(&csv, -7);
	csv_end_row(&csv);
	csv_add(&csv, SLICE_LIT("\xff\xc3\xa9"));
	csv_add_text(&csv, "");
	csv_end_row(&csv);
	buf_add_str(&expected,
		"plain,\"a,b\",\"say \"\"no\"\"\",\"two\r\nlines\",,\" blank\",-7\r\n"
		"\xff\xc3\xa9,\r\n");
	cr_assert_eq(csv.out.n, expected.n);
	cr_assert_arr_eq(csv.out.p, expected.p, expected.n);
	buf_free(&csv.out);
}

static void shows(struct slice s, size_t max, const char *expected)
{
	struct arena a = {0};
	const char *text = visible(&a, s, max);

	cr_expect_str_eq(text, expected);
	arena_free(&a);
}

Test(visible, no_control_character_reaches_a_terminal_raw)
{
	struct arena a = {0};

	shows(SLICE_LIT("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), 100,
		"plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	shows(SLICE_LIT("\x1b[31mred\x07"), 100, "\\x1b[31mred\\x07");
	shows(SLICE_LIT("a\nb\r\tc\x7f"), 100, "a\\nb\\r\\tc\\x7f");
	shows(SLICE_LIT("\xc2\x9b"
			"31m"),
		100, "\\u009b31m");
	shows(SLICE_LIT("\xe2\x80\xae"
			"evil\xe2\x81\xa6\xd8\x9c"),
		100, "\\u202eevil\\u2066\\u061c");
	shows(SLICE_LIT("a\0b\xff"), 100,
		"a\xef\xbf\xbd"
		"b\xef\xbf\xbd");
	for (int c = 0; c < 256; c++) {
		uint8_t byte = (uint8_t)c, pair[2] = {0xC2, (uint8_t)c};
		const char *one = visible(&a, slice_of(&byte, 1), 10);
		const char *two = visible(&a, slice_of(pair, 2), 10);

		for (const char *p = one; *p; p++)
			cr_assert((uint8_t)*p >= ' ' && *p != 0x7f, "%d", c);
		cr_assert(!(c >= 0x80 && c < 0xA0) || strncmp(two, "\\u", 2) == 0, "%d", c);
	}
	arena_free(&a);
}

Test(visible, is_cut_at_a_character_and_says_so)
{
	shows(SLICE_LIT("\xc3\xa9\xc3\xa9\xc3\xa9"), 5, "\xc3\xa9\xc3\xa9...");
	shows(SLICE_LIT("abc"), 3, "abc");
	shows(SLICE_NULL, 3, "-");
	shows(SLICE_LIT(""), 3, "");
	cr_expect_eq(visible_width("\xc3\xa9\xe2\x82\xac"
				   "a"),
		3);
}

static void trace_is(const char *value, const char *expected)
{
	struct arena a = {0};
	uint32_t cut = 0;
	const struct header h = {SLICE_LIT("traceparent"), slice_str(value)};
	struct slice id = trace_id(headers_encode(&a, &h, 1, &cut));

	cr_expect(slice_eq(id, slice_str(expected)), "%s", value);
	arena_free(&a);
}

Test(trace, is_the_second_field_of_a_valid_traceparent)
{
#define ID "0af7651916cd43dd8448eb211c80319c"
	trace_is("00-" ID "-b7ad6b7169203331-01", ID);
	trace_is("01-" ID "-b7ad6b7169203331-01-more", ID);
	trace_is("00-" ID "-b7ad6b7169203331-01more", NULL);
	trace_is("00-" ID "-0000000000000000-01", NULL);
	trace_is("00-00000000000000000000000000000000-b7ad6b7169203331-01", NULL);
	trace_is("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", NULL);
	trace_is("00-" ID "-b7ad6b7169203331-0", NULL);
	trace_is("00-" ID "xb7ad6b7169203331-01", NULL);
	trace_is("", NULL);
	trace_is(NULL, NULL);
	cr_expect(slice_is_null(trace_id(SLICE_NULL)));
}

Test(secret, names_of_passwords_keys_and_tokens_are_known)
{
	static const char *const secret[] = {"sasl.password", "ssl.key.password", "ssl.key.pem",
		"ssl.keystore.password", "sasl.oauthbearer.client.secret",
		"schema.registry.basic.auth.user.info", "registry.password",
		"sasl.oauthbearer.config", "sasl.jaas.config", "registry.bearer.auth.token",
		"aws.credentials"};
	static const char *const open[] = {"sasl.username", "ssl.ca.location", "ssl.key.location",
		"sink.conninfo", "sasl.oauthbearer.token.endpoint.url", "group.id"};

	for (size_t i = 0; i < ARRAY_LEN(secret); i++)
		cr_expect(secret_name(secret[i]), "%s", secret[i]);
	for (size_t i = 0; i < ARRAY_LEN(open); i++)
		cr_expect_not(secret_name(open[i]), "%s", open[i]);
}

Test(secret, the_password_in_a_url_is_masked)
{
	static const struct {
		const char *text, *shown;
	} urls[] = {{"http://registry:8081", "http://registry:8081"},
		{"https://me:p@ss:w@registry/x@y", "https://me:" SECRET_MASK "@registry/x@y"},
		{"http://a:1@h,http://b:2@i",
			"http://a:" SECRET_MASK "@h,http://b:" SECRET_MASK "@i"},
		{"http://me@registry", "http://me@registry"}, {"plain:text@x", "plain:text@x"},
		{"", ""}};
	struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		cr_expect_str_eq(secret_mask_urls(&a, urls[i].text), urls[i].shown);
	arena_free(&a);
}

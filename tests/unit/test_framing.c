#include <criterion/criterion.h>

#include "codec.h"
#include "framing.h"

#define GUID "\x89\x79\x17\x62\x23\x36\x41\x86\x96\x74\x29\x9b\x90\xa8\x02\xe2"

static const struct {
	struct slice payload;
	const char *by; /* schema_ref_text, NULL: no frame */
	enum schema_ref_kind kind;
	const char *body;
} framed[] = {
	{SLICE_INIT("\x00\x00\x00\x00\x07"
		    "body"),
		"schema id 7", SCHEMA_BY_ID, "body"},
	{SLICE_INIT("\x00\x7f\xff\xff\xff"), "schema id 2147483647", SCHEMA_BY_ID, ""},
	{SLICE_INIT("\x00\x00\x00\x01\x00"
		    "\x00"
		    "b"),
		"schema id 256", SCHEMA_BY_ID, NULL},
	{SLICE_INIT("\x00\x00\x00\x00\x00\x00\x00\x00\x07"
		    "body"),
		"8-byte schema id 7", SCHEMA_BY_GLOBAL_ID, "body"},
	{SLICE_INIT("\x00\x00\x00\x00\x00\xff\x00\x00\x07"), "8-byte schema id 4278190087",
		SCHEMA_BY_GLOBAL_ID, ""},
	{SLICE_INIT("\x01" GUID "body"), "schema 89791762-2336-4186-9674-299b90a802e2",
		SCHEMA_BY_GUID, "body"},
	{SLICE_INIT("\xc3\x01\x08\x07\x06\x05\x04\x03\x02\x01"
		    "body"),
		"schema fingerprint 0x0102030405060708", SCHEMA_BY_FINGERPRINT, "body"},
	{SLICE_INIT("{\"kwh\":1}"), NULL, SCHEMA_BY_ID, "{\"kwh\":1}"},
	{SLICE_INIT(" \n{}"), NULL, SCHEMA_BY_ID, " \n{}"},
	{SLICE_INIT("\xc3\xa4"), NULL, SCHEMA_BY_ID, "\xc3\xa4"},
	{SLICE_INIT("\xc3"), NULL, SCHEMA_BY_ID, "\xc3"},
	{SLICE_INIT("\x02"), NULL, SCHEMA_BY_ID, "\x02"},
	{SLICE_INIT(""), NULL, SCHEMA_BY_ID, ""},
};

Test(framing, is_told_by_the_first_bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(framed); i++) {
		char text[SCHEMA_REF_TEXT_BYTES];
		struct framing f;
		const char *why = framing_detect(SLICE_NULL, framed[i].payload, &f);

		cr_assert_null(why, "framed[%zu]: %s", i, why);
		cr_assert_eq(
			f.kind, framed[i].by ? FRAMING_SCHEMA : FRAMING_NONE, "framed[%zu]", i);
		if (framed[i].body)
			cr_expect(slice_eq(f.body, slice_str(framed[i].body)), "framed[%zu]", i);
		if (!framed[i].by)
			continue;
		cr_expect_eq(f.schema.kind, framed[i].kind, "framed[%zu]", i);
		cr_expect_str_eq(schema_ref_text(&f.schema, text), framed[i].by);
	}
}

static const struct {
	struct slice payload;
	const char *why;
} broken[] = {
	{SLICE_INIT("\x00"), "the payload ends inside its schema id"},
	{SLICE_INIT("\x00\x00\x00\x01"), "the payload ends inside its schema id"},
	{SLICE_INIT("\x00\x80\x00\x00\x00"
		    "body"),
		"the schema id is negative"},
	{SLICE_INIT("\x00\x00\x00\x00\x00\x00\x00\x01"),
		"the payload ends inside its 8-byte schema id"},
	{SLICE_INIT("\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		    "body"),
		"the schema id is zero"},
	{SLICE_INIT("\x01\x89\x79"), "the payload ends inside its schema GUID"},
	{SLICE_INIT("\xc3\x01\x08\x07\x06\x05\x04\x03\x02"),
		"the payload ends inside its schema fingerprint"},
};

Test(framing, that_is_broken_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct framing f;
		const char *why = framing_detect(SLICE_NULL, broken[i].payload, &f);

		cr_expect_str_eq(why ? why : "", broken[i].why);
	}
}

/* --- the header --- */

static struct arena arena;

static const char *detect(
	const struct header *headers, size_t n, struct slice payload, struct framing *ret)
{
	uint32_t cut;

	return framing_detect(headers_encode(&arena, headers, n, &cut), payload, ret);
}

Test(framing, a_header_names_the_schema_of_the_whole_payload)
{
	const struct slice payload = SLICE_LIT("\x00\x00\x00\x00\x07"
					       "body");
	const struct header guid[] = {
		{SLICE_LIT(FRAMING_HEADER), SLICE_LIT("\x00\x00\x00\x00\x05")},
		{SLICE_LIT("other"), SLICE_NULL},
		{SLICE_LIT(FRAMING_HEADER), SLICE_LIT("\x01" GUID)}};
	struct framing f;

	cr_assert_null(detect(guid, 1, payload, &f));
	cr_expect_eq(f.schema.kind, SCHEMA_BY_ID);
	cr_expect_eq(f.schema.number, 5);
	cr_expect(slice_eq(f.body, payload));
	/* The newest one counts. */
	cr_assert_null(detect(guid, 3, payload, &f));
	cr_expect_eq(f.schema.kind, SCHEMA_BY_GUID);
	cr_expect_arr_eq(f.schema.guid, GUID, 16);
	cr_expect(slice_eq(f.body, payload));
	cr_assert_null(detect(guid, 1, SLICE_LIT("{}"), &f));
	cr_expect_eq(f.kind, FRAMING_SCHEMA);
	arena_free(&arena);
}

Test(framing, a_header_without_a_value_names_nothing)
{
	const struct header null = {SLICE_LIT(FRAMING_HEADER), SLICE_NULL};
	const struct header empty = {SLICE_LIT(FRAMING_HEADER), SLICE_LIT("")};
	struct framing f;

	cr_assert_null(detect(&null, 1, SLICE_LIT("{}"), &f));
	cr_expect_eq(f.kind, FRAMING_NONE);
	cr_assert_null(detect(&empty, 1, SLICE_LIT("\x00\x00\x00\x00\x07"), &f));
	cr_expect_eq(f.schema.number, 7);
	arena_free(&arena);
}

Test(framing, a_header_in_front_of_no_payload_names_nothing)
{
	const struct header h = {SLICE_LIT(FRAMING_HEADER), SLICE_LIT("\x01" GUID)};
	struct framing f;

	cr_assert_null(detect(&h, 1, SLICE_NULL, &f));
	cr_expect_eq(f.kind, FRAMING_NONE);
	cr_expect(slice_is_null(f.body));
	arena_free(&arena);
}

Test(framing, a_broken_header_is_refused)
{
	const struct slice values[] = {SLICE_LIT("\x00\x00\x00\x05"),
		SLICE_LIT("\x00\x00\x00\x00\x00\x00\x00\x00\x05"), SLICE_LIT("5"),
		SLICE_LIT("\x01" GUID "\x00"), SLICE_LIT(GUID), SLICE_LIT("\x02\x00\x00\x00\x05"),
		SLICE_LIT("\x00\x00\x00\x00\x00"), SLICE_LIT("\x00\xff\xff\xff\xff")};

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		const struct header h = {SLICE_LIT(FRAMING_HEADER), values[i]};
		struct framing f;
		const char *why = detect(&h, 1, SLICE_LIT("body"), &f);

		cr_expect(why && strstr(why, FRAMING_HEADER), "values[%zu]", i);
	}
	arena_free(&arena);
}

Test(framing, parts_of_a_reference_that_do_not_apply_are_zero)
{
	static const struct schema_ref zero;
	struct framing f;

	memset(&f, 0xff, sizeof(f));
	cr_assert_null(framing_detect(SLICE_NULL, SLICE_LIT("\x00\x00\x00\x00\x07"), &f));
	cr_expect_arr_eq(f.schema.guid, zero.guid, sizeof(zero.guid));
	cr_assert_null(framing_detect(SLICE_NULL, SLICE_LIT("\x01" GUID), &f));
	cr_expect_eq(f.schema.number, 0);
}

#include <criterion/criterion.h>

#include "meter_read.h"
#include "text_file.h"

#define MIDNIGHT_US 1784246400000000

static const struct meter_read plain = {
	.meter_id = {(const uint8_t *)"MTR-00000001", 12},
	.read_at_us = MIDNIGHT_US,
	.sequence = 1,
	.kwh = {(const uint8_t *)"12.50", 5},
};

static void expect_documented(const struct meter_read *r, uint64_t content, const char *text)
{
	AUTO_FREE char *readme = text_file(SCHEMAS_DIR "/README.md");

	cr_expect_eq(meter_read_content(r), content, "%016lx", meter_read_content(r));
	cr_expect_not_null(strstr(readme, text), "README.md lacks the example %s", text);
}

Test(meter_read, content_is_as_documented)
{
	struct meter_read other = {
		.meter_id = SLICE_LIT("0042"),
		.read_at_us = -500000,
		.sequence = 0,
		.kwh = SLICE_LIT("-1200"),
		.reading_type = SLICE_LIT("1-0:2.8.0*255"),
		.quality = SLICE_LIT(""),
	};

	expect_documented(&plain, 0xedb11c8155cc33a6, "edb11c8155cc33a6");
	expect_documented(&other, 0x35d338e10d23b9fe, "35d338e10d23b9fe");
}

Test(meter_read, content_takes_the_amount_by_value)
{
	struct meter_read r = plain;
	const char *same[] = {"12.5", "12.500", "1.25e1", "+12.5", "0125E-1"};

	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		r.kwh = slice_str(same[i]);
		cr_expect_eq(meter_read_content(&r), meter_read_content(&plain), "%s", same[i]);
	}
}

Test(meter_read, content_ignores_key_and_attributes)
{
	struct meter_read r = plain;

	r.idempotency_key = SLICE_LIT("another");
	r.attributes = SLICE_LIT("{\"a\":1}");
	cr_assert_eq(meter_read_content(&r), meter_read_content(&plain));
}

Test(meter_read, content_differs_where_any_of_the_six_fields_does)
{
	struct meter_read v[12];

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		v[i] = plain;
	v[1].meter_id = SLICE_LIT("MTR-0000000");
	v[2].read_at_us++;
	v[3].sequence++;
	v[4].kwh = SLICE_LIT("12.51");
	v[5].kwh = SLICE_LIT("-12.50");
	v[6].reading_type = SLICE_LIT("A");
	v[7].reading_type = SLICE_LIT("");
	v[8].reading_type = SLICE_LIT("-");
	v[9].quality = SLICE_LIT("A");
	v[10].quality = SLICE_LIT("");
	v[11].reading_type = v[11].quality = SLICE_LIT("");
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		for (size_t j = 0; j < i; j++)
			cr_expect_neq(meter_read_content(&v[i]), meter_read_content(&v[j]),
				"%zu, %zu", i, j);
	}
}

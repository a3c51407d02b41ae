/* What two reads differ in. */
#include <criterion/criterion.h>

#include "read_diff.h"

static struct meter_read a_read(void)
{
	return (struct meter_read){
		.meter_id = SLICE_LIT("M"),
		.read_at_us = 1784246400000000,
		.sequence = 1,
		.kwh = SLICE_LIT("12.50"),
		.quality = SLICE_LIT(""),
	};
}

Test(read_diff, is_nothing_between_reads_of_the_same_content)
{
	struct meter_read a = a_read(), b = a_read();
	enum read_field fields[READ_FIELD_COUNT];

	b.kwh = SLICE_LIT("1.25e1");
	b.attributes = SLICE_LIT("{}");
	b.idempotency_key = SLICE_LIT("other");
	cr_assert_eq(read_diff(&a, &b, fields), 0);
	cr_assert_eq(meter_read_content(&a), meter_read_content(&b));
}

Test(read_diff, names_each_field_that_changes_the_content)
{
	struct arena arena = {0};
	struct meter_read changed[READ_FIELD_COUNT], a = a_read();
	static const char *const texts[] = {
		"N", "2026-07-17T00:00:00.000001Z", "2", "12.51", "", NULL};
	enum read_field fields[READ_FIELD_COUNT];

	for (int f = 0; f < READ_FIELD_COUNT; f++)
		changed[f] = a_read();
	changed[READ_METER_ID].meter_id = SLICE_LIT("N");
	changed[READ_READ_AT].read_at_us++;
	changed[READ_SEQUENCE].sequence++;
	changed[READ_KWH].kwh = SLICE_LIT("12.51");
	changed[READ_READING_TYPE].reading_type = SLICE_LIT(""); /* was null */
	changed[READ_QUALITY].quality = SLICE_NULL;
	for (int f = 0; f < READ_FIELD_COUNT; f++) {
		cr_assert_eq(read_diff(&a, &changed[f], fields), 1);
		cr_assert_eq(fields[0], (enum read_field)f);
		cr_assert_neq(meter_read_content(&a), meter_read_content(&changed[f]));
		cr_assert(slice_eq(read_field_text(&arena, &changed[f], (enum read_field)f),
			slice_str(texts[f])));
	}
	arena_free(&arena);
}

Test(read_diff, an_amount_that_is_none_differs_from_every_other)
{
	struct meter_read a = a_read(), b = a_read();
	enum read_field fields[READ_FIELD_COUNT];

	b.kwh = SLICE_LIT("NaN");
	cr_assert_eq(read_diff(&a, &b, fields), 1);
	cr_assert_eq(read_diff(&b, &b, fields), 0);
}

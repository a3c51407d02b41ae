#include <criterion/criterion.h>

#include "mem.h"
#include "meter_read.h"
#include "read_names.h"

#define KEY "MTR-1|2026-07-17T00:00:00Z|1"

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(read_names, .fini = free_arena);

static struct read_names parsed(const char *const *items, size_t n)
{
	struct read_names names;
	struct err err = {.text = ""};

	cr_assert_eq(read_names_parse((char *const *)items, n, &names, &err), 0, "%s", err.text);
	return names;
}
#define NAMES(...)                                                                                 \
	parsed((const char *const[]){__VA_ARGS__},                                                 \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void refused(const char *a, const char *b, const char *wanted)
{
	const char *const items[] = {a, b};
	struct read_names names;
	struct err err;

	cr_assert_eq(read_names_parse((char *const *)items, b ? 2 : 1, &names, &err), ERR_CONFIG);
	cr_expect_not_null(strstr(err.text, wanted), "%s", err.text);
}

Test(read_names, are_ours_where_none_is_given)
{
	struct read_names names = parsed(NULL, 0);

	cr_expect(slice_eq(read_name(&names, READ_METER_ID), SLICE_LIT("meter_id")));
	cr_expect(slice_eq(read_name(&names, READ_READ_AT), SLICE_LIT("read_at")));
	cr_expect(slice_eq(read_name(&names, READ_SEQUENCE), SLICE_LIT("sequence")));
	cr_expect(slice_eq(read_name(&names, READ_KWH), SLICE_LIT("kwh")));
	cr_expect(slice_eq(read_name(&names, READ_READING_TYPE), SLICE_LIT("reading_type")));
	cr_expect(slice_eq(read_name(&names, READ_QUALITY), SLICE_LIT("quality")));
}

Test(read_names, map_ours_to_theirs)
{
	struct read_names names = NAMES("kwh:energy", "meter_id:a:b");

	cr_expect(slice_eq(read_name(&names, READ_KWH), SLICE_LIT("energy")));
	cr_expect(slice_eq(read_name(&names, READ_METER_ID), SLICE_LIT("a:b")));
	cr_expect(slice_eq(read_name(&names, READ_QUALITY), SLICE_LIT("quality")));
	names = NAMES("kwh:kwh", "quality:reading_type", "reading_type:quality");
	cr_expect(slice_eq(read_name(&names, READ_QUALITY), SLICE_LIT("reading_type")));
}

Test(read_names, that_are_wrong_are_refused_with_the_reason)
{
	refused("kwh", NULL, "\"kwh\" is not of the form FIELD:NAME, such as kwh:energy");
	refused("kwh:", NULL, "not of the form");
	refused("", NULL, "not of the form");
	refused(":energy", NULL, "\"\" is none of meter_id, read_at, sequence, kwh");
	refused("kw:energy", NULL, "\"kw\" is none of meter_id");
	refused("kwh:energy", "kwh:power", "kwh comes twice");
	refused("kwh:x", "quality:x", "\"x\" would be the name of both kwh and quality");
	refused("kwh:quality", NULL, "\"quality\" would be the name of both kwh and quality");
}

Test(read_names, are_those_by_which_a_payload_is_read)
{
	struct read_names names = NAMES("kwh:energy", "meter_id:mp", "read_at:from", "sequence:no",
		"reading_type:obis", "quality:status");
	struct slice payload = SLICE_LIT("{\"energy\":\"12.50\",\"mp\":\"MTR-1\",\"from\":"
					 "\"2026-07-17T00:00:00Z\",\"no\":1,\"obis\":\"1.8.0\","
					 "\"status\":\"A\",\"kwh\":7}");
	struct meter_read read;

	cr_assert_null(meter_read_from_json(&arena, &names, SLICE_LIT("opaque"), payload, &read));
	cr_expect(slice_eq(read.kwh, SLICE_LIT("12.50")));
	cr_expect(slice_eq(read.meter_id, SLICE_LIT("MTR-1")));
	cr_expect_eq(read.read_at_us, 1784246400000000);
	cr_expect_eq(read.sequence, 1);
	cr_expect(slice_eq(read.reading_type, SLICE_LIT("1.8.0")));
	cr_expect(slice_eq(read.quality, SLICE_LIT("A")));
	/* Our own name is then one of theirs. */
	cr_expect(slice_eq(read.attributes, SLICE_LIT("{\"kwh\":7}")));
}

static void expect_malformed(
	const struct read_names *names, struct slice payload, const char *wanted)
{
	struct meter_read read;
	const char *why = meter_read_from_json(&arena, names, SLICE_LIT(KEY), payload, &read);

	cr_assert_not_null(why);
	cr_expect_str_eq(why, wanted);
}

Test(read_names, stand_in_the_reasons_why_a_payload_is_malformed)
{
	struct read_names names = NAMES("kwh:energy", "meter_id:mp");

	expect_malformed(&names, SLICE_LIT("{\"energy\":1,\"energy\":2}"), "repeated field energy");
	expect_malformed(
		&names, SLICE_LIT("{\"energy\":true}"), "energy is not a number or string");
	expect_malformed(&names, SLICE_LIT("{\"energy\":1,\"mp\":7}"), "mp is not a string");
	expect_malformed(&names, SLICE_LIT("{\"kwh\":1}"), "no amount");
}

#include <criterion/criterion.h>
#include <stdio.h>

#include "codec_random.h"
#include "key.h"
#include "utf8.h"

#define INSTANT "2026-07-17T00:00:00+00:00"

Test(key, parses_meter_instant_and_sequence)
{
	struct key_parts parts;

	cr_assert(key_parse(SLICE_LIT("MTR-00000001|" INSTANT "|1"), &parts));
	cr_expect(slice_eq(parts.meter_id, SLICE_LIT("MTR-00000001")));
	cr_expect_eq(parts.read_at_us, 1784246400000000);
	cr_expect_eq(parts.sequence, 1);
}

Test(key, a_meter_may_contain_bars)
{
	struct key_parts parts;

	cr_assert(key_parse(SLICE_LIT("|A|B||" INSTANT "|0"), &parts));
	cr_expect(slice_eq(parts.meter_id, SLICE_LIT("|A|B|")));
}

Test(key, sequence_goes_up_to_the_largest_bigint)
{
	struct key_parts parts;

	cr_assert(key_parse(SLICE_LIT("M|" INSTANT "|9223372036854775807"), &parts));
	cr_expect_eq(parts.sequence, INT64_MAX);
	cr_expect(!key_parse(SLICE_LIT("M|" INSTANT "|9223372036854775808"), &parts));
	cr_expect(!key_parse(SLICE_LIT("M|" INSTANT "|99999999999999999999999"), &parts));
	cr_assert(key_parse(SLICE_LIT("M|" INSTANT "|007"), &parts));
	cr_expect_eq(parts.sequence, 7);
}

Test(key, what_has_another_form_is_opaque)
{
	const char *opaque[] = {"", "|", "||", "MTR-1", "MTR-1|" INSTANT, "|" INSTANT "|1",
		"M|2026-07-17T00:00:00|1", "M|2026-07-17|1", "M|" INSTANT "|", "M|" INSTANT "|-1",
		"M|" INSTANT "|+1", "M|" INSTANT "|1.0", "M|" INSTANT "|1e2", "M|" INSTANT "| 1",
		"M|" INSTANT "|1|", "a5f3e9c0-0000-4000-8000-000000000000"};
	struct key_parts parts;

	for (size_t i = 0; i < ARRAY_LEN(opaque); i++)
		cr_expect(!key_parse(slice_str(opaque[i]), &parts), "%s", opaque[i]);
	cr_expect(!key_parse(SLICE_NULL, &parts));
}

Test(key, usable_is_utf8_text_without_nul_and_not_empty)
{
	cr_expect(key_usable(SLICE_LIT("x")));
	cr_expect(key_usable(SLICE_LIT("Z\xc3\xa4hler|1")));
	cr_expect(!key_usable(SLICE_NULL));
	cr_expect(!key_usable(SLICE_LIT("")));
	cr_expect(!key_usable(SLICE_LIT("a\0b")));
	cr_expect(!key_usable(SLICE_LIT("\0checkpoint")));
	cr_expect(!key_usable(SLICE_LIT("\xff")));
	cr_expect(!key_usable(SLICE_LIT("\xed\xa0\x80")));
}

Test(key, synthetic_is_topic_partition_offset)
{
	CLEANUP(arena_free) struct arena a = {0};

	cr_expect(slice_eq(key_synthetic(&a, "meter-reads.dead-letter", 3, 1234567890123),
		SLICE_LIT("meter-reads.dead-letter-3-1234567890123")));
}

Test(key, entry_key_has_the_content_only_where_suffixed)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct slice key = SLICE_LIT("M|" INSTANT "|1");

	cr_expect(slice_eq(key_of_entry(&a, key, false, 0xab), key));
	cr_expect(slice_eq(key_of_entry(&a, key, true, 0xab), SLICE_LIT("M|" INSTANT "|1\0"
									"00000000000000ab")));
}

Test(key, split_takes_no_other_form)
{
	const struct slice neither[] = {
		SLICE_NULL,
		SLICE_LIT(""),
		KEY_CHECKPOINT,
		SLICE_LIT("\0"
			  "00000000000000ab"), /* no idempotency key */
		SLICE_LIT("k\0"
			  "0000000000000ab"), /* 15 digits */
		SLICE_LIT("k\0"
			  "000000000000000ab"), /* 17 */
		SLICE_LIT("k\0"
			  "00000000000000AB"),
		SLICE_LIT("k\0"
			  "00000000000000xy"),
		SLICE_LIT("k\0k\0"
			  "00000000000000ab"),
		SLICE_LIT("\xff\0"
			  "00000000000000ab"),
		SLICE_LIT("\xff"),
	};

	for (size_t i = 0; i < ARRAY_LEN(neither); i++) {
		struct slice key = SLICE_LIT("untouched");
		bool suffixed = true;

		cr_expect(!key_split_entry(neither[i], &key, &suffixed), "%zu", i);
		cr_expect(slice_eq(key, SLICE_LIT("untouched")), "%zu", i);
	}
}

/* Any usable key, ones that end like a suffix included. */
static struct slice random_key(struct random *r)
{
	size_t n = 1 + random_below(r, 40);
	uint8_t *p = arena_alloc(r->arena, n);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t) "0123456789abcdefMTR-|+: Z\x01\x7f"[random_below(r, 27)];
	return slice_of(p, n);
}

Test(key, split_undoes_key_of_entry)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct random r = {.state = 5, .arena = &a};

	for (int i = 0; i < 100000; i++) {
		struct slice key = random_key(&r), back;
		bool suffixed = random_below(&r, 2), back_suffixed;
		struct slice dlq_key = key_of_entry(&a, key, suffixed, random_next(&r));

		cr_assert(key_split_entry(dlq_key, &back, &back_suffixed));
		cr_assert(slice_eq(back, key));
		cr_assert_eq(back_suffixed, suffixed);
		cr_assert(!key_is_checkpoint(dlq_key));
		arena_reset(&a);
	}
}

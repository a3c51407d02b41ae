#include <criterion/criterion.h>

#include "record.h"

Test(record, names_are_those_that_the_schemas_and_others_use)
{
	enum reason r;

	for (int i = 0; i < REASON_COUNT; i++)
		cr_expect(reason_parse(slice_str(reason_name((enum reason)i)), &r) && (int)r == i);
	cr_expect(!reason_parse(SLICE_LIT("invalid"), &r));
	cr_expect_str_eq(cause_name(CAUSE_POISON_CAP), "poison_cap");
	cr_expect_str_eq(cause_name(CAUSE_ORIGINAL_GONE), "original_gone");
	cr_expect_str_eq(cause_name(CAUSE_OPERATOR), "operator");
	cr_expect_str_eq(cause_name((enum cause)CAUSE_COUNT), "invalid");
	cr_expect_str_eq(parked_event_name(EVENT_PARKED), "parked");
	cr_expect_str_eq(parked_event_name(EVENT_REDRIVEN), "redriven");
	cr_expect_str_eq(parked_event_name(EVENT_RESOLVED), "resolved");
}

Test(record, only_what_is_parked_at_the_cap_or_expired_reopens)
{
	for (int i = 0; i < CAUSE_COUNT; i++)
		cr_expect_eq(cause_reopens((enum cause)i),
			i == CAUSE_POISON_CAP || i == CAUSE_EXPIRED, "%s",
			cause_name((enum cause)i));
}

Test(record, a_place_is_a_topic_a_partition_and_an_offset)
{
	static const char *const bad[] = {"", ":", "::", "t", "t:1", "t:1:", "t::1", ":1:1",
		"t:-1:1", "t:1:-1", "t:x:1", "a:t:1:1", "t:2147483648:1",
		"t:1:9223372036854775808"};
	struct origin o;

	cr_assert(origin_parse(SLICE_LIT("meter-reads.dead-letter:3:9223372036854775807"), &o));
	cr_expect(slice_eq(o.topic, SLICE_LIT("meter-reads.dead-letter")));
	cr_expect_eq(o.partition, 3);
	cr_expect_eq(o.offset, INT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(origin_parse(slice_str(bad[i]), &o), "%s", bad[i]);
}

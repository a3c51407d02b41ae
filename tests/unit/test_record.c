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

#include <criterion/criterion.h>
#include <stdlib.h>

#include "mem.h"
#include "repeats.h"

#define SECOND 1000000ll

static struct repeats *seen;
static unsigned left;
static struct repeats_slot evicted;

static void set_up(void)
{
	seen = mem_zalloc(sizeof(*seen));
}

static void tear_down(void)
{
	free(seen);
}

TestSuite(repeats, .init = set_up, .fini = tear_down);

static bool warn(const char *text, int64_t now_us)
{
	return repeats_admit(seen, 'W', "event", text, false, now_us, &left, &evicted);
}

static bool warn_of_record(const char *text, int64_t now_us)
{
	return repeats_admit(seen, 'W', "event", text, true, now_us, &left, &evicted);
}

Test(repeats, a_kind_is_written_once_in_ten_seconds_and_says_then_how_many_were_left_out)
{
	cr_expect(warn("no answer", 5 * SECOND));
	cr_expect_eq(left, 0);
	for (int i = 0; i < 41; i++)
		cr_expect_not(warn("no answer", 6 * SECOND));
	cr_expect(warn("another", 6 * SECOND));
	cr_expect_not(warn("no answer", 15 * SECOND - 1));
	cr_expect(warn("no answer", 15 * SECOND));
	cr_expect_eq(left, 42);
	cr_expect_not(warn("no answer", 16 * SECOND));
	cr_expect(warn("no answer", 25 * SECOND));
	cr_expect_eq(left, 1);
}

Test(repeats, twenty_events_about_records_are_written_for_their_records_differ)
{
	for (int i = 0; i < REPEATS_RECORDS; i++)
		cr_expect(warn_of_record("as conflict", SECOND));
	cr_expect_not(warn_of_record("as conflict", SECOND));
	cr_expect(warn_of_record("as expired", SECOND));
}

Test(repeats, numbers_that_stand_alone_make_no_kind_and_those_in_names_do)
{
	cr_expect(warn("next probe in 200 ms: 57P01", SECOND));
	cr_expect_not(warn("next probe in 31999 ms: 57P01", SECOND));
	cr_expect(warn("next probe in 200 ms: 57P02", SECOND));
	cr_expect(warn("topic reads-1 is missing", SECOND));
	cr_expect(warn("topic reads-2 is missing", SECOND));
	cr_expect(warn("topic reads2 is missing", SECOND));
}

Test(repeats, information_is_of_one_kind_only_word_for_word)
{
	cr_expect(repeats_admit(seen, 'I', "restored", "3 live", false, 1, &left, &evicted));
	cr_expect(repeats_admit(seen, 'I', "restored", "4 live", false, 1, &left, &evicted));
	cr_expect_not(repeats_admit(seen, 'I', "restored", "4 live", false, 1, &left, &evicted));
	cr_expect(repeats_admit(seen, 'I', "kafka", "took 3 ms", false, 1, &left, &evicted));
	cr_expect_not(repeats_admit(seen, 'I', "kafka", "took 4 ms", false, 1, &left, &evicted));
}

Test(repeats, what_no_later_event_tells_of_is_flushed_once_its_window_is_over)
{
	struct repeats_slot kind;

	warn("no answer for 1 s", SECOND);
	warn("no answer for 2 s", SECOND);
	warn("no answer for 3 s", SECOND);
	warn("another", SECOND);
	cr_expect_not(repeats_flush(seen, 11 * SECOND - 1, false, &kind));
	cr_expect(repeats_flush(seen, 11 * SECOND, false, &kind));
	cr_expect_eq(kind.left_out, 2);
	cr_expect_eq(kind.level, 'W');
	cr_expect_str_eq(kind.name, "event");
	cr_expect_str_eq(kind.text, "no answer for 3 s");
	cr_expect_not(repeats_flush(seen, 11 * SECOND, true, &kind));
}

Test(repeats, at_the_end_all_is_flushed)
{
	struct repeats_slot kind;

	warn("no answer", SECOND);
	warn("no answer", SECOND);
	cr_expect(repeats_flush(seen, SECOND, true, &kind));
	cr_expect_eq(kind.left_out, 1);
}

Test(repeats, nothing_left_out_is_forgotten_where_a_kind_makes_room)
{
	unsigned said = 0, left_out = 0;
	struct repeats_slot kind;

	for (int i = 0; i < 10 * REPEATS_SLOTS; i++) {
		char text[] = {(char)('a' + i % 26), (char)('a' + i / 26), 0};

		warn(text, SECOND);
		said += evicted.left_out;
		left_out += !warn(text, SECOND);
	}
	while (repeats_flush(seen, SECOND, true, &kind))
		said += kind.left_out;
	cr_expect_eq(left_out, 10 * REPEATS_SLOTS);
	cr_expect_eq(said, left_out);
}

Test(repeats, a_text_of_any_length_is_taken)
{
	char text[3 * REPEATS_TEXT_BYTES];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect(warn(text, SECOND));
	memset(text, '7', sizeof(text) - 1);
	cr_expect(warn(text, SECOND));
}

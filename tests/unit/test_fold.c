#include <criterion/criterion.h>

#include "fold.h"
#include "key.h"

static const struct fold_rules RULES = {.seed = {{1, 2, 3}}, .partitions = 1};
#define KEY SLICE_LIT("MTR-1|2026-07-17T00:00:00Z|1")

static struct record entry(uint64_t content, uint32_t attempts)
{
	return (struct record){.idempotency_key = KEY,
		.payload = SLICE_LIT("{\"kwh\":\"1\"}"),
		.attempts = attempts,
		.replays = attempts - 1,
		.first_seen_us = 10,
		.last_seen_us = 20,
		.due_us = 30,
		.upstream_attempts = -1,
		.dead_letter = {SLICE_LIT("dead"), 0, 5},
		.content = content};
}

static int dlq(struct partition *p, struct slice key, const struct record *r, int64_t offset)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct err err;

	return fold_dlq(p, &RULES, key, r ? record_encode(&a, r) : SLICE_NULL, offset, &err);
}

static int parked(struct partition *p, const struct record *r, enum parked_event event,
	enum cause cause, int64_t offset)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct parked v = {.entry = *r, .event = event, .cause = cause, .at_us = 99};
	struct err err;

	return fold_parked(p, &RULES, r->idempotency_key, parked_encode(&a, &v), offset, &err);
}

static struct ticket *find(struct partition *p, uint64_t content)
{
	return tickets_find(&p->tickets, hash_key(&RULES.seed, KEY), content);
}

Test(fold, an_entry_has_a_ticket_and_its_tombstone_takes_it_away)
{
	CLEANUP(partition_free) struct partition p = {0};
	struct record r = entry(7, 3);

	cr_assert_eq(dlq(&p, KEY, &r, 42), 0);
	cr_assert_eq(find(&p, 7)->offset, 42);
	cr_assert_eq(find(&p, 7)->attempts, 3);
	cr_assert_eq(find(&p, 7)->replays, 2);
	cr_assert_eq(dlq(&p, KEY, NULL, 43), 0);
	cr_assert_null(find(&p, 7));
}

Test(fold, two_contents_of_a_key_are_two_entries)
{
	CLEANUP(partition_free) struct partition p = {0};
	CLEANUP(arena_free) struct arena a = {0};
	struct record first = entry(7, 1), second = entry(8, 1);
	struct slice second_key = key_of_entry(&a, KEY, true, 8);

	dlq(&p, KEY, &first, 1);
	dlq(&p, second_key, &second, 2);
	cr_assert_eq(p.tickets.live, 2);
	cr_assert(find(&p, 8)->suffixed);
	dlq(&p, KEY, NULL, 3);
	cr_assert_null(find(&p, 7));
	cr_assert_not_null(find(&p, 8));
	dlq(&p, second_key, NULL, 4);
	cr_assert_eq(tickets_count(&p.tickets), 0);
}

Test(fold, one_dlq_key_never_holds_two_live_contents)
{
	CLEANUP(partition_free) struct partition p = {0};
	struct record first = entry(7, 1), second = entry(8, 1);

	dlq(&p, KEY, &first, 1);
	dlq(&p, KEY, &second, 2); /* the tombstone between was compacted away */
	cr_assert_eq(p.tickets.live, 1);
	cr_assert_null(find(&p, 7));
}

Test(fold, parked_redriven_and_resolved_leave_what_they_should)
{
	CLEANUP(partition_free) struct partition p = {0};
	struct record r = entry(7, 5);

	parked(&p, &r, EVENT_PARKED, CAUSE_POISON_CAP, 1);
	cr_assert_eq(find(&p, 7)->state, TICKET_PARKED);
	cr_assert_eq(find(&p, 7)->cause, CAUSE_POISON_CAP);
	parked(&p, &r, EVENT_REDRIVEN, CAUSE_POISON_CAP, 2);
	cr_assert_null(find(&p, 7));
	parked(&p, &r, EVENT_PARKED, CAUSE_CONFLICT, 3);
	parked(&p, &r, EVENT_RESOLVED, CAUSE_CONFLICT, 4);
	cr_assert_eq(find(&p, 7)->state, TICKET_RESOLVED);
}

Test(fold, the_order_between_the_two_topics_is_irrelevant)
{
	for (unsigned order = 0; order < 1u << 8; order++) {
		CLEANUP(partition_free) struct partition straight = {0}, mixed = {0};
		struct record r = entry(7, 1), bumped = entry(7, 5), again = entry(7, 1);
		int d = 0, k = 0;

		for (int i = 0; i < 4; i++) {
			dlq(&straight, KEY, i == 1 || i == 3 ? NULL : i ? &again : &r, i);
			parked(&straight, &bumped, i % 2 ? EVENT_REDRIVEN : EVENT_PARKED,
				CAUSE_POISON_CAP, i);
		}
		parked(&straight, &bumped, EVENT_PARKED, CAUSE_POISON_CAP, 4);
		for (int i = 0; i < 9; i++)
			if (d < 4 && (k == 5 || order >> (i % 8) & 1)) {
				dlq(&mixed, KEY, d == 1 || d == 3 ? NULL : d ? &again : &r, d);
				d++;
			} else {
				parked(&mixed, &bumped,
					k == 4	? EVENT_PARKED
					: k % 2 ? EVENT_REDRIVEN
						: EVENT_PARKED,
					CAUSE_POISON_CAP, k);
				k++;
			}
		cr_assert_eq(tickets_count(&mixed.tickets), tickets_count(&straight.tickets));
		cr_assert(ticket_eq(find(&mixed, 7), find(&straight, 7)));
	}
}

Test(fold, a_checkpoint_survives_the_bytes_it_came_from)
{
	CLEANUP(partition_free) struct partition p = {0};
	struct source_position at = {SLICE_LIT("dead"), 3, 77};
	struct checkpoint c = {.partitions = 1,
		.group_id = SLICE_LIT("g"),
		.key_rule = SLICE_LIT("auto"),
		.inbox_offset = 5,
		.sources = &at,
		.n_sources = 1};
	struct arena a = {0};
	struct err err;

	cr_assert_eq(fold_dlq(&p, &RULES, KEY_CHECKPOINT, checkpoint_encode(&a, &c), 0, &err), 0);
	arena_free(&a);
	cr_assert_eq(p.checkpoint.inbox_offset, 5);
	cr_assert_eq(p.checkpoint.sources[0].offset, 77);
	cr_assert(slice_eq(p.checkpoint.sources[0].topic, SLICE_LIT("dead")));
	cr_assert_eq(tickets_count(&p.tickets), 0);
}

Test(fold, what_is_not_ours_changes_nothing)
{
	CLEANUP(partition_free) struct partition p = {0};
	struct record r = entry(7, 1);
	struct err err;

	dlq(&p, KEY, &r, 1);
	cr_assert_eq(fold_dlq(&p, &RULES, KEY, SLICE_LIT("garbage"), 2, &err), ERR_DATA);
	cr_assert_eq(fold_parked(&p, &RULES, KEY, SLICE_NULL, 2, &err), ERR_DATA);
	cr_assert_eq(find(&p, 7)->offset, 1);
}

Test(fold, a_key_of_another_partition_is_refused)
{
	CLEANUP(partition_free) struct partition p = {.number = 1};
	struct fold_rules rules = {.partitions = 2};
	CLEANUP(arena_free) struct arena a = {0};
	struct record r = entry(7, 1);
	struct err err;

	p.number = 1 - hash_partition(KEY, 2);
	cr_assert_eq(fold_dlq(&p, &rules, KEY, record_encode(&a, &r), 1, &err), ERR_CONFIG);
}

#include <criterion/criterion.h>

#include "ticket.h"

static struct ticket ticket(uint64_t key, uint64_t content, enum ticket_state state)
{
	/* Few home slots, so that runs of the index collide and wrap. */
	return (struct ticket){.key = {key, key % 7}, .content = content, .state = state & 3};
}

Test(ticket, live_wins_over_parked_of_the_same_read)
{
	struct tickets t = {0};
	struct ticket parked = ticket(1, 5, TICKET_PARKED), live = ticket(1, 5, TICKET_LIVE);

	tickets_put(&t, &parked);
	tickets_put(&t, &live);
	cr_assert_eq(tickets_find(&t, live.key, 5)->state, TICKET_LIVE);
	tickets_remove(&t, tickets_find(&t, live.key, 5));
	cr_assert_eq(tickets_find(&t, live.key, 5)->state, TICKET_PARKED);
	cr_assert_null(tickets_find(&t, live.key, 6));
	tickets_free(&t);
}

Test(ticket, parked_becomes_resolved_in_place)
{
	struct tickets t = {0};
	struct ticket k = ticket(1, 5, TICKET_PARKED);

	tickets_put(&t, &k);
	k.state = TICKET_RESOLVED;
	tickets_put(&t, &k);
	cr_assert_eq(tickets_count(&t), 1);
	cr_assert_eq(t.parked, 0);
	cr_assert_eq(t.resolved, 1);
	tickets_free(&t);
}

Test(ticket, plain_finds_only_the_live_one_without_suffix)
{
	struct tickets t = {0};
	struct ticket plain = ticket(1, 5, TICKET_LIVE), other = ticket(1, 6, TICKET_LIVE);

	other.suffixed = 1;
	tickets_put(&t, &other);
	cr_assert_null(tickets_find_plain(&t, plain.key));
	tickets_put(&t, &plain);
	cr_assert_eq(tickets_find_plain(&t, plain.key)->content, 5);
	tickets_free(&t);
}

/* A model of the same multiset in a plain array, driven by the same random steps. */
#define MODEL_KEYS 64
#define MODEL_CONTENTS 3

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

Test(ticket, agrees_with_a_plain_array_over_random_steps)
{
	static bool model[MODEL_KEYS][MODEL_CONTENTS][2];
	struct tickets t = {0};
	uint64_t seed = 42;
	size_t n = 0;

	for (int step = 0; step < 200000; step++) {
		uint64_t key = next_random(&seed) % MODEL_KEYS;
		uint64_t content = next_random(&seed) % MODEL_CONTENTS;
		bool live = next_random(&seed) % 2;
		struct ticket k = ticket(key, content, live ? TICKET_LIVE : TICKET_PARKED);
		struct ticket *at = tickets_find_from(&t, k.key, content, live);
		bool *is = &model[key][content][live];

		cr_assert_eq(at != NULL, *is, "step %d", step);
		if (next_random(&seed) % 3) {
			tickets_put(&t, &k);
			n += !*is;
			*is = true;
		} else if (at) {
			tickets_remove(&t, at);
			n--;
			*is = false;
		}
		cr_assert_eq(tickets_count(&t), n);
	}
	tickets_free(&t);
}

Test(ticket, a_million_take_at_most_80_bytes_each_and_are_all_found)
{
	struct tickets t = {0};
	size_t pos = 0, seen = 0;

	for (uint64_t i = 0; i < 1000000; i++) {
		struct ticket k = {.key = {i, i * 0x9e3779b97f4a7c15u}, .state = TICKET_LIVE};

		tickets_put(&t, &k);
	}
	for (uint64_t i = 0; i < 1000000; i++)
		cr_assert_not_null(
			tickets_find(&t, (struct key128){i, i * 0x9e3779b97f4a7c15u}, 0));
	while (tickets_next(&t, &pos))
		seen++;
	cr_assert_eq(seen, 1000000);
	cr_assert_leq(tickets_bytes(&t), 80u * 1000000u);
	tickets_free(&t);
}

Test(ticket, room_of_removed_ones_is_used_again)
{
	struct tickets t = {0};
	size_t before;

	for (uint64_t i = 0; i < 10000; i++) {
		struct ticket k = ticket(i, 0, TICKET_LIVE);

		k.key.lo = i;
		tickets_put(&t, &k);
	}
	before = tickets_bytes(&t);
	for (uint64_t round = 1; round < 5; round++)
		for (uint64_t i = 0; i < 10000; i++) {
			struct ticket k = ticket(round * 10000 + i, 0, TICKET_LIVE);

			tickets_remove(&t, tickets_find(&t,
						   (struct key128){(round - 1) * 10000 + i,
							   (round - 1) * 10000 + i},
						   0));
			k.key.lo = round * 10000 + i;
			tickets_put(&t, &k);
		}
	cr_assert_eq(tickets_bytes(&t), before);
	tickets_free(&t);
}

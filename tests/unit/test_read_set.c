#include "read_set.h"

#include <criterion/criterion.h>

static const struct hash_seed seed = {{1, 2, 3}};

static struct key128 key_of(uint64_t n)
{
	return hash_key(&seed, slice_of(&n, sizeof(n)));
}

Test(read_set, a_read_is_its_key_and_its_content)
{
	struct read_set s = {0};

	cr_assert_eq(read_set_get(&s, &seed, key_of(1), 7), 0);
	cr_assert_eq(read_set_mark(&s, &seed, key_of(1), 7, 1), 0);
	cr_assert_eq(read_set_get(&s, &seed, key_of(1), 7), 1);
	cr_assert_eq(read_set_get(&s, &seed, key_of(1), 8), 0);
	cr_assert_eq(read_set_get(&s, &seed, key_of(2), 7), 0);
	cr_assert_eq(s.n, 1);
	read_set_free(&s);
}

Test(read_set, marking_again_tells_the_mark_before)
{
	struct read_set s = {0};

	cr_assert_eq(read_set_mark(&s, &seed, key_of(1), 7, 3), 0);
	cr_assert_eq(read_set_mark(&s, &seed, key_of(1), 7, 3), 3);
	cr_assert_eq(read_set_mark(&s, &seed, key_of(1), 7, 4), 3);
	cr_assert_eq(read_set_get(&s, &seed, key_of(1), 7), 4);
	cr_assert_eq(s.n, 1);
	read_set_free(&s);
}

Test(read_set, a_hundred_thousand_reads_are_kept_apart_in_48_bytes_each)
{
	struct read_set s = {0};

	for (uint64_t n = 0; n < 100000; n++)
		cr_assert_eq(read_set_mark(&s, &seed, key_of(n), n, (uint32_t)(n % 5 + 1)), 0);
	cr_assert_eq(s.n, 100000);
	for (uint64_t n = 0; n < 100000; n++)
		cr_assert_eq(read_set_get(&s, &seed, key_of(n), n), n % 5 + 1);
	cr_assert_eq(read_set_get(&s, &seed, key_of(100000), 100000), 0);
	cr_assert_leq((s.mask + 1) * sizeof(*s.v), 48 * s.n);
	read_set_free(&s);
}

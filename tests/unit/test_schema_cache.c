#include <criterion/criterion.h>

#include "avro_fixture.h"
#include "schema_cache.h"

#define SECOND 1000000ll
#define TTL (60 * SECOND)

static struct schema_cache *cache;

static void open_cache(void)
{
	cache = schema_cache_new(TTL);
}

static void close_cache(void)
{
	schema_cache_free(cache);
}

TestSuite(schema_cache, .init = open_cache, .fini = close_cache);

static struct schema_ref by_id(uint64_t id)
{
	return (struct schema_ref){.kind = SCHEMA_BY_ID, .number = id};
}

static enum schema_state state_of(uint64_t id, int64_t now_us)
{
	struct schema_ref ref = by_id(id);

	return schema_cache_find(cache, &ref, now_us).state;
}

/* The id of the next one to fetch; 0: none. */
static uint64_t take_wanted(void)
{
	struct schema_ref ref;

	return schema_cache_take_wanted(cache, &ref) ? ref.number : 0;
}

static void found(uint64_t id)
{
	struct schema_ref ref = by_id(id);

	schema_cache_found(cache, &ref, schema_of("\"string\""));
}

static void failed(uint64_t id, bool suspect)
{
	struct schema_ref ref = by_id(id);

	schema_cache_failed(cache, &ref, suspect, "HTTP 500");
}

static void answered(uint64_t id)
{
	struct schema_ref ref = by_id(id);

	schema_cache_answered(cache, &ref, 0);
}

Test(schema_cache, what_is_not_known_is_wanted_once_and_found_for_ever)
{
	cr_expect_eq(state_of(7, 0), SCHEMA_AWAY);
	cr_expect_eq(state_of(7, 0), SCHEMA_AWAY);
	cr_expect_eq(take_wanted(), 7);
	cr_expect_eq(take_wanted(), 0);
	cr_expect_eq(state_of(7, 0), SCHEMA_AWAY);
	cr_expect_eq(take_wanted(), 0, "it is being fetched");
	cr_expect_not(schema_cache_take_change(cache));
	found(7);
	cr_expect(schema_cache_take_change(cache));
	cr_expect_not(schema_cache_take_change(cache));
	cr_expect_eq(state_of(7, INT64_MAX), SCHEMA_FOUND);
}

Test(schema_cache, an_id_a_global_id_and_a_guid_of_the_same_bytes_are_three_schemas)
{
	struct schema_ref global = {.kind = SCHEMA_BY_GLOBAL_ID, .number = 7};
	struct schema_ref guid = {.kind = SCHEMA_BY_GUID, .guid = {[15] = 7}};

	found(7);
	cr_expect_eq(schema_cache_find(cache, &global, 0).state, SCHEMA_AWAY);
	cr_expect_eq(schema_cache_find(cache, &guid, 0).state, SCHEMA_AWAY);
}

Test(schema_cache, the_one_that_waits_longest_is_fetched_first)
{
	for (uint64_t id = 1; id <= 5; id++)
		state_of(id, 0);
	for (uint64_t id = 1; id <= 5; id++)
		cr_expect_eq(take_wanted(), id);
}

Test(schema_cache, that_there_is_none_is_asked_for_again_after_its_time)
{
	struct schema_ref ref = by_id(7);

	state_of(7, 0);
	take_wanted();
	schema_cache_unknown(cache, &ref, "not in the registry", 10);
	cr_expect_str_eq(schema_cache_find(cache, &ref, TTL + 9).why, "not in the registry");
	cr_expect(schema_cache_knows(cache, &ref, TTL + 9));
	cr_expect_not(schema_cache_knows(cache, &ref, TTL + 10));
	cr_expect_eq(state_of(7, TTL + 10), SCHEMA_AWAY);
	cr_expect_eq(take_wanted(), 7);
}

Test(schema_cache, a_failure_without_suspicion_is_never_charged)
{
	state_of(7, 0);
	for (int i = 0; i < 10; i++) {
		cr_expect_eq(take_wanted(), 7);
		failed(7, false);
		answered(8);
		cr_expect_eq(state_of(7, 0), SCHEMA_AWAY);
	}
	cr_expect_not(schema_cache_take_change(cache));
}

Test(schema_cache, a_suspect_is_charged_only_when_others_are_answered)
{
	state_of(7, 0);
	for (int i = 0; i < 10; i++) {
		cr_expect_eq(take_wanted(), 7);
		failed(7, true);
	}
	for (unsigned i = 1; i < SCHEMA_CACHE_FAILURES; i++) {
		answered(8);
		answered(8);
		cr_expect_eq(take_wanted(), 7);
		failed(7, true);
	}
	cr_expect_not(schema_cache_take_change(cache));
	answered(8);
	cr_expect(schema_cache_take_change(cache));
	cr_expect_eq(state_of(7, 0), SCHEMA_UNKNOWN);
	cr_expect_eq(take_wanted(), 0);
	cr_expect_eq(state_of(7, TTL), SCHEMA_AWAY, "it is given another chance");
}

Test(schema_cache, an_answer_for_the_suspect_itself_or_from_before_it_failed_charges_nothing)
{
	state_of(7, 0);
	for (int i = 0; i < 10; i++) {
		cr_expect_eq(take_wanted(), 7);
		failed(7, true);
		answered(7);
	}
	for (int i = 0; i < 10; i++)
		answered(8);
	cr_expect_eq(state_of(7, 0), SCHEMA_AWAY);
	cr_expect_not(schema_cache_take_change(cache));
}

Test(schema_cache, suspects_that_fail_together_do_not_charge_each_other)
{
	state_of(7, 0);
	state_of(9, 0);
	for (int i = 0; i < 20; i++) {
		failed(take_wanted(), true);
		cr_expect_eq(state_of(7, 0), SCHEMA_AWAY);
		cr_expect_eq(state_of(9, 0), SCHEMA_AWAY);
	}
}

Test(schema_cache, at_the_bound_the_least_recently_used_goes_but_nothing_pinned_or_wanted)
{
	struct schema_ref pinned = by_id(1), used = by_id(2), unused = by_id(3), wanted = by_id(4);

	schema_cache_pin(cache, &pinned, schema_of("\"long\""));
	found(2);
	found(3);
	state_of(4, 0);
	for (uint64_t id = 100; id < 100 + 2 * SCHEMA_CACHE_ENTRIES; id++) {
		found(id);
		schema_cache_find(cache, &used, 0);
	}
	cr_expect(schema_cache_knows(cache, &pinned, 0));
	cr_expect(schema_cache_knows(cache, &used, 0));
	cr_expect_not(schema_cache_knows(cache, &unused, 0));
	cr_expect_eq(take_wanted(), 4);
	cr_expect_not(schema_cache_knows(cache, &wanted, 0));
}

Test(schema_cache, full_of_wanted_ones_it_takes_no_more_until_one_is_known)
{
	for (uint64_t id = 1; id <= SCHEMA_CACHE_ENTRIES + 10; id++)
		cr_expect_eq(state_of(id, 0), SCHEMA_AWAY);
	for (uint64_t id = 1; id <= SCHEMA_CACHE_ENTRIES; id++)
		cr_expect_eq(take_wanted(), id);
	cr_expect_eq(take_wanted(), 0);
	found(1);
	cr_expect(schema_cache_take_change(cache), "who waits is to ask again");
	cr_expect_eq(state_of(SCHEMA_CACHE_ENTRIES + 1, 0), SCHEMA_AWAY);
	cr_expect_eq(take_wanted(), SCHEMA_CACHE_ENTRIES + 1);
}

Test(schema_cache, bytes_are_bounded)
{
	CLEANUP(buf_free) struct buf text = {0};
	uint64_t n = 0;

	buf_add_str(&text, "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"");
	for (int i = 0; i < 60000; i++)
		buf_printf(&text, ",\"SYMBOL%d\"", i);
	buf_add_str(&text, "]}");
	for (uint64_t id = 1; id <= 100; id++) {
		struct schema_ref ref = by_id(id);
		struct avro_schema *schema;

		cr_assert_eq(avro_schema_parse(slice_of(text.p, text.n), &schema, NULL), 0);
		schema_cache_found(cache, &ref, schema);
	}
	for (uint64_t id = 1; id <= 100; id++) {
		struct schema_ref ref = by_id(id);

		n += schema_cache_knows(cache, &ref, 0);
	}
	cr_expect(n > 5 && n < 60, "%lu", (unsigned long)n);
}

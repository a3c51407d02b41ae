/* The pattern's own verification, assertion by assertion, on the pure core. */
#include <criterion/criterion.h>

#include "merge.h"
#include "settle.h"

/* The store of the pattern: at most one entry per key; here there are two keys. */
struct store {
	struct record entries[2], parked[2];
	bool queued[2], is_parked[2];
	int commits[2]; /* committing writes seen */
};

struct drain_stats {
	int committed, requeued, parked;
};

static const struct replay_rules RULES = {.poison_cap = 5, .backoff_factor = 1};
static const struct hash_seed SEED = {{1}};
enum { GOOD, BAD };

static struct decoded decode(const char *key, const char *payload, struct arena *arena)
{
	struct dead_letter d = {.at = {SLICE_LIT("dead"), 0, 0},
		.seen_us = 1,
		.key = slice_str(key),
		.payload = slice_str(payload)};
	struct decode_rules rules = {.key = {KEY_FROM_AUTO, ""}, .max_bytes = 1 << 20};
	struct decoded decoded;

	dead_letter_decode(arena, &rules, &d, 1, &decoded);
	return decoded;
}

static void put(struct store *s, int which, const struct decoded *d)
{
	struct key128 key = hash_key(&SEED, d->record.idempotency_key);
	struct merge m = merge_dead_letter(NULL, d, key, false);

	cr_assert_eq(m.action, MERGE_NEW);
	s->entries[which] = d->record;
	ticket_to_record(&m.ticket, &s->entries[which]);
	s->queued[which] = true;
}

static struct drain_stats replay(struct store *s, enum outcome_kind commit)
{
	struct drain_stats stats = {0};

	for (int i = 0; i < 2; i++) {
		struct outcome outcome = {.kind = commit, .code = "08006"};
		CLEANUP(arena_free) struct arena arena = {0};
		struct settle settled;

		if (!s->queued[i])
			continue;
		s->commits[i] += commit == OUTCOME_COMMITTED;
		settled = settle_outcome(&arena, &RULES, &s->entries[i], &outcome, 2);
		s->queued[i] = settled.action == SETTLE_PUT;
		if (settled.record)
			s->entries[i] = *settled.record;
		stats.committed += settled.action == SETTLE_LEAVE;
		stats.requeued += settled.action == SETTLE_PUT;
		if (settled.action == SETTLE_PARK) {
			s->is_parked[i] = true;
			s->parked[i] = *settled.record;
			stats.parked++;
		}
	}
	return stats;
}

Test(seed, replay_is_idempotent_and_caps_poison)
{
	CLEANUP(arena_free) struct arena arena = {0};
	struct store store = {0};
	struct decoded good, bad;
	struct drain_stats stats, again;

	/* An exhausted read lands in the DLQ, then replays cleanly and leaves. */
	good = decode("MTR-00000001|2026-07-17T00:00:00+00:00|1", "{\"kwh\": \"12.50\"}", &arena);
	put(&store, GOOD, &good);
	stats = replay(&store, OUTCOME_COMMITTED);
	cr_assert_eq(stats.committed, 1);
	cr_assert_not(store.queued[GOOD]);
	cr_assert_eq(store.commits[GOOD], 1);

	/* Draining an empty queue again is a safe no-op. */
	again = replay(&store, OUTCOME_COMMITTED);
	cr_assert_eq(again.committed, 0);
	cr_assert_eq(again.requeued, 0);
	cr_assert_eq(again.parked, 0);
	cr_assert_eq(store.commits[GOOD], 1);

	/* A poison read that fails every replay is parked after the cap. */
	bad = decode("MTR-00000009|2026-07-17T00:00:00+00:00|1", "{\"kwh\": \"13\"}", &arena);
	put(&store, BAD, &bad);
	for (int i = 0; i < 5 + 2; i++)
		replay(&store, OUTCOME_FAILED);
	cr_assert(store.is_parked[BAD]);
	cr_assert_eq(store.parked[BAD].attempts, 5);
	cr_assert_not(store.queued[BAD]);
}

Test(seed, a_corrupt_amount_is_malformed_and_never_reaches_the_queue)
{
	CLEANUP(arena_free) struct arena arena = {0};
	struct decoded bad = decode(
		"MTR-00000009|2026-07-17T00:00:00+00:00|1", "{\"kwh\": \"corrupt\"}", &arena);

	cr_assert(bad.unfit);
	cr_assert_eq(bad.cause, CAUSE_MALFORMED);
}

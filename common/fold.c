#include "fold.h"

#include "key.h"

void partition_free(struct partition *p)
{
	tickets_free(&p->tickets);
	arena_free(&p->arena);
}

static int check_place(const struct partition *p, const struct fold_rules *rules, struct slice key,
	struct err *err)
{
	if (hash_partition(key, rules->partitions) == p->number)
		return 0;
	return err_set(err, ERR_CONFIG,
		"key %.*s lies in partition %d but belongs to %d of %d: the topic's partition "
		"count "
		"has been changed; see README, \"Changing the number of partitions\"",
		SLICE_FMT(key), p->number, hash_partition(key, rules->partitions),
		rules->partitions);
}

static int fold_checkpoint(struct partition *p, struct slice value, struct err *err)
{
	struct arena arena = {0};
	struct checkpoint checkpoint;
	int r;

	if (slice_is_null(value))
		return 0;
	/* The decoded checkpoint borrows from the bytes, which go away: it keeps a copy. */
	r = checkpoint_decode(&arena, arena_dup(&arena, value), &checkpoint, err);
	if (r) {
		arena_free(&arena);
		return r;
	}
	arena_free(&p->arena);
	p->arena = arena;
	p->checkpoint = checkpoint;
	return 0;
}

static struct ticket ticket_of(const struct record *r, struct key128 key, int64_t offset)
{
	return (struct ticket){.key = key,
		.content = r->content,
		.offset = offset,
		.first_us = r->first_seen_us,
		.last_us = r->last_seen_us,
		.due_us = r->due_us,
		.attempts = r->attempts,
		.replays = (uint16_t)(r->replays > UINT16_MAX ? UINT16_MAX : r->replays),
		.reason = (unsigned)r->reason & 3u};
}

/* The content hash at the end of a suffixed DLQ key, which key_split_entry has checked. */
static uint64_t suffix_content(struct slice dlq_key)
{
	uint64_t content = 0;

	for (const uint8_t *c = dlq_key.p + dlq_key.n - 16; c < dlq_key.p + dlq_key.n; c++)
		content = content << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
	return content;
}

int fold_dlq(struct partition *p, const struct fold_rules *rules, struct slice key,
	struct slice value, int64_t offset, struct err *err)
{
	struct ticket *old, next;
	struct slice idempotency_key;
	struct record record;
	struct key128 k;
	bool suffixed;
	int r;

	if (key_is_checkpoint(key))
		return fold_checkpoint(p, value, err);
	if (!key_split_entry(key, &idempotency_key, &suffixed))
		return err_set(err, ERR_DATA, "not the key of an entry: %.*s", SLICE_FMT(key));
	r = check_place(p, rules, idempotency_key, err);
	if (r)
		return r;
	k = hash_key(&rules->seed, idempotency_key);
	old = suffixed ? tickets_find_from(&p->tickets, k, suffix_content(key), true)
		       : tickets_find_plain(&p->tickets, k);
	if (slice_is_null(value)) {
		if (old)
			tickets_remove(&p->tickets, old);
		return 0;
	}
	r = record_decode(value, &record, err);
	if (r)
		return r;
	if (old && old->content != record.content)
		tickets_remove(&p->tickets, old);
	next = ticket_of(&record, k, offset);
	next.state = TICKET_LIVE;
	next.suffixed = suffixed;
	tickets_put(&p->tickets, &next);
	return 0;
}

int fold_parked(struct partition *p, const struct fold_rules *rules, struct slice key,
	struct slice value, int64_t offset, struct err *err)
{
	struct ticket *old, next;
	struct parked parked;
	struct key128 k;
	int r = check_place(p, rules, key, err);

	if (r)
		return r;
	r = parked_decode(value, &parked, err);
	if (r)
		return r;
	k = hash_key(&rules->seed, key);
	old = tickets_find_from(&p->tickets, k, parked.entry.content, false);
	if (parked.event == EVENT_REDRIVEN) {
		if (old)
			tickets_remove(&p->tickets, old);
		return 0;
	}
	next = ticket_of(&parked.entry, k, offset);
	next.state = parked.event == EVENT_PARKED ? TICKET_PARKED : TICKET_RESOLVED;
	next.cause = (uint8_t)parked.cause;
	next.due_us = parked.at_us;
	tickets_put(&p->tickets, &next);
	return 0;
}

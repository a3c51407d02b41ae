#include "ticket.h"

#include <assert.h>
#include <stdlib.h>

#define CHUNK_TICKETS 4096u
#define INDEX_MIN 1024u

/*
 * An entry of the index: the ticket's number + 1, and above it some bits of its key, so that most
 * look-ups of what is not there touch no ticket: a cache miss each.
 */
#define NUMBER_BITS 25u
#define NUMBER_MASK ((1u << NUMBER_BITS) - 1)
_Static_assert(TICKETS_MAX <= NUMBER_MASK, "every number fits");

static uint32_t number_of(uint32_t entry)
{
	return (entry & NUMBER_MASK) - 1;
}

static uint32_t tag_of(struct key128 key)
{
	return (uint32_t)(key.hi >> (32 + NUMBER_BITS)) << NUMBER_BITS;
}

static struct ticket *ticket_at(const struct tickets *t, uint32_t number)
{
	return &t->chunks[number / CHUNK_TICKETS][number % CHUNK_TICKETS];
}

/* The index grows at three quarters full: 5 to 11 bytes a ticket. */
static void index_insert(struct tickets *t, uint32_t number)
{
	uint32_t at = (uint32_t)ticket_at(t, number)->key.lo & t->index_mask;

	while (t->index[at])
		at = (at + 1) & t->index_mask;
	t->index[at] = tag_of(ticket_at(t, number)->key) | (number + 1);
}

static void index_grow(struct tickets *t)
{
	uint32_t *old = t->index;
	size_t old_n = old ? (size_t)t->index_mask + 1 : 0;
	size_t n = old_n ? old_n * 2 : INDEX_MIN;

	t->index = mem_zalloc(n * sizeof(*t->index));
	t->index_mask = (uint32_t)(n - 1);
	for (size_t i = 0; i < old_n; i++)
		if (old[i])
			index_insert(t, number_of(old[i]));
	free(old);
}

/* Linear probing has no tombstones: move later members of the run back (Knuth 6.4, R). */
static void index_remove_at(struct tickets *t, uint32_t hole)
{
	uint32_t at = hole;

	for (;;) {
		uint32_t home;

		at = (at + 1) & t->index_mask;
		if (!t->index[at])
			break;
		home = (uint32_t)ticket_at(t, number_of(t->index[at]))->key.lo & t->index_mask;
		if (((at - home) & t->index_mask) >= ((at - hole) & t->index_mask)) {
			t->index[hole] = t->index[at];
			hole = at;
		}
	}
	t->index[hole] = 0;
}

static uint32_t *count_of(struct tickets *t, unsigned state)
{
	switch (state) {
	case TICKET_LIVE:
		return &t->live;
	case TICKET_PARKED:
		return &t->parked;
	default:
		assert(state == TICKET_RESOLVED);
		return &t->resolved;
	}
}

static uint32_t ticket_new(struct tickets *t)
{
	uint32_t number;

	if (t->free_head) {
		number = t->free_head - 1;
		t->free_head = (uint32_t)ticket_at(t, number)->offset;
		return number;
	}
	if (t->used == TICKETS_MAX)
		mem_exhausted("a partition holds at most 33 million reads: use more partitions");
	if (t->used == t->n_chunks * CHUNK_TICKETS) {
		t->chunks = mem_realloc(t->chunks, (t->n_chunks + 1) * sizeof(*t->chunks));
		t->chunks[t->n_chunks++] = mem_zalloc(CHUNK_TICKETS * sizeof(struct ticket));
	}
	return t->used++;
}

struct ticket *tickets_put(struct tickets *t, const struct ticket *value)
{
	struct ticket *at =
		tickets_find_from(t, value->key, value->content, value->state == TICKET_LIVE);
	uint32_t number;

	t->changes++;
	if (at) {
		--*count_of(t, at->state);
	} else {
		if (!t->index || tickets_count(t) + 1 > (t->index_mask + 1ull) / 4 * 3)
			index_grow(t);
		number = ticket_new(t);
		at = ticket_at(t, number);
		*at = *value;
		index_insert(t, number);
	}
	*at = *value;
	++*count_of(t, at->state);
	return at;
}

void tickets_remove(struct tickets *t, struct ticket *victim)
{
	uint32_t at = (uint32_t)victim->key.lo & t->index_mask;
	uint32_t number;

	while (ticket_at(t, number_of(t->index[at])) != victim)
		at = (at + 1) & t->index_mask;
	number = number_of(t->index[at]);
	t->changes++;
	--*count_of(t, victim->state);
	index_remove_at(t, at);
	*victim = (struct ticket){.offset = t->free_head};
	t->free_head = number + 1;
}

/* What a search looks for. */
enum find { FIND_LIVE, FIND_NOT_LIVE, FIND_PLAIN };

static bool ticket_matches(const struct ticket *k, uint64_t content, enum find what)
{
	switch (what) {
	case FIND_LIVE:
		return k->content == content && k->state == TICKET_LIVE;
	case FIND_NOT_LIVE:
		return k->content == content && k->state != TICKET_LIVE;
	case FIND_PLAIN:
	default:
		return k->state == TICKET_LIVE && !k->suffixed;
	}
}

static struct ticket *search(
	const struct tickets *t, struct key128 key, uint64_t content, enum find what)
{
	uint32_t tag = tag_of(key);

	if (!t->index)
		return NULL;
	for (uint32_t at = (uint32_t)key.lo & t->index_mask; t->index[at];
		at = (at + 1) & t->index_mask) {
		struct ticket *k;

		if ((t->index[at] & ~NUMBER_MASK) != tag)
			continue;
		k = ticket_at(t, number_of(t->index[at]));
		if (key128_eq(k->key, key) && ticket_matches(k, content, what))
			return k;
	}
	return NULL;
}

struct ticket *tickets_find_from(
	const struct tickets *t, struct key128 key, uint64_t content, bool live)
{
	return search(t, key, content, live ? FIND_LIVE : FIND_NOT_LIVE);
}

struct ticket *tickets_find(const struct tickets *t, struct key128 key, uint64_t content)
{
	struct ticket *live = search(t, key, content, FIND_LIVE);

	return live ? live : search(t, key, content, FIND_NOT_LIVE);
}

struct ticket *tickets_find_plain(const struct tickets *t, struct key128 key)
{
	return search(t, key, 0, FIND_PLAIN);
}

struct ticket *tickets_next(const struct tickets *t, size_t *pos)
{
	while (*pos < t->used) {
		struct ticket *k = ticket_at(t, (uint32_t)(*pos)++);

		if (k->state)
			return k;
	}
	return NULL;
}

size_t tickets_count(const struct tickets *t)
{
	return (size_t)t->live + t->parked + t->resolved;
}

size_t tickets_bytes(const struct tickets *t)
{
	return t->n_chunks * (CHUNK_TICKETS * sizeof(struct ticket) + sizeof(*t->chunks)) +
	       (t->index ? (t->index_mask + (size_t)1) * sizeof(*t->index) : 0);
}

void tickets_free(struct tickets *t)
{
	for (size_t i = 0; i < t->n_chunks; i++)
		free(t->chunks[i]);
	free(t->chunks);
	free(t->index);
	*t = (struct tickets){0};
}

bool ticket_eq(const struct ticket *a, const struct ticket *b)
{
	return key128_eq(a->key, b->key) && a->content == b->content && a->offset == b->offset &&
	       a->first_us == b->first_us && a->last_us == b->last_us && a->due_us == b->due_us &&
	       a->attempts == b->attempts && a->replays == b->replays && a->state == b->state &&
	       a->reason == b->reason && a->suffixed == b->suffixed && a->cause == b->cause;
}

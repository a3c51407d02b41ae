#include "read_set.h"

#include "mem.h"

#include <stdlib.h>

#define FIRST_SLOTS 1024u

static struct read_slot read_id(const struct hash_seed *seed, struct key128 key, uint64_t content)
{
	const uint64_t words[] = {key.hi, key.lo, content};
	struct key128 id = hash_key(seed, slice_of(words, sizeof(words)));

	return (struct read_slot){.high = id.hi, .low = (uint32_t)id.lo};
}

/* Where id is, or the empty slot where it belongs. */
static struct read_slot *slot_of(const struct read_set *s, const struct read_slot *id)
{
	size_t at = id->high & s->mask;

	while (s->v[at].mark && (s->v[at].high != id->high || s->v[at].low != id->low))
		at = (at + 1) & s->mask;
	return &s->v[at];
}

static void grow(struct read_set *s)
{
	struct read_set bigger = {.n = s->n, .mask = s->v ? s->mask * 2 + 1 : FIRST_SLOTS - 1};

	bigger.v = mem_zalloc((bigger.mask + 1) * sizeof(*bigger.v));
	for (size_t i = 0; s->v && i <= s->mask; i++)
		if (s->v[i].mark)
			*slot_of(&bigger, &s->v[i]) = s->v[i];
	free(s->v);
	*s = bigger;
}

uint32_t read_set_mark(struct read_set *s, const struct hash_seed *seed, struct key128 key,
	uint64_t content, uint32_t mark)
{
	struct read_slot id = read_id(seed, key, content), *slot;
	uint32_t before;

	if (!s->v || s->n * 3 > s->mask * 2)
		grow(s);
	slot = slot_of(s, &id);
	before = slot->mark;
	s->n += before == 0;
	*slot = id;
	slot->mark = mark;
	return before;
}

uint32_t read_set_get(
	const struct read_set *s, const struct hash_seed *seed, struct key128 key, uint64_t content)
{
	struct read_slot id = read_id(seed, key, content);

	return s->v ? slot_of(s, &id)->mark : 0;
}

void read_set_free(struct read_set *s)
{
	free(s->v);
	*s = (struct read_set){0};
}

#include "read_set.h"

#include "mem.h"

#include <stdlib.h>

#define FIRST_SLOTS 1024u

static struct key128 read_id(const struct hash_seed *seed, struct key128 key, uint64_t content)
{
	const uint64_t words[] = {key.hi, key.lo, content};
	struct key128 id = hash_key(seed, slice_of(words, sizeof(words)));

	id.lo += id.hi == 0 && id.lo == 0;
	return id;
}

/* Where id is, or the empty slot where it belongs. */
static struct key128 *slot_of(const struct read_set *s, struct key128 id)
{
	size_t at = id.lo & s->mask;

	while ((s->v[at].hi || s->v[at].lo) && !key128_eq(s->v[at], id))
		at = (at + 1) & s->mask;
	return &s->v[at];
}

static void grow(struct read_set *s)
{
	struct read_set bigger = {.n = s->n, .mask = s->v ? s->mask * 2 + 1 : FIRST_SLOTS - 1};

	bigger.v = mem_zalloc((bigger.mask + 1) * sizeof(*bigger.v));
	for (size_t i = 0; s->v && i <= s->mask; i++)
		if (s->v[i].hi || s->v[i].lo)
			*slot_of(&bigger, s->v[i]) = s->v[i];
	free(s->v);
	*s = bigger;
}

bool read_set_add(
	struct read_set *s, const struct hash_seed *seed, struct key128 key, uint64_t content)
{
	struct key128 id = read_id(seed, key, content), *slot;

	if (!s->v || s->n * 3 > s->mask * 2)
		grow(s);
	slot = slot_of(s, id);
	if (slot->hi || slot->lo)
		return false;
	*slot = id;
	s->n++;
	return true;
}

bool read_set_has(
	const struct read_set *s, const struct hash_seed *seed, struct key128 key, uint64_t content)
{
	const struct key128 *slot = s->v ? slot_of(s, read_id(seed, key, content)) : NULL;

	return slot && (slot->hi || slot->lo);
}

void read_set_free(struct read_set *s)
{
	free(s->v);
	*s = (struct read_set){0};
}

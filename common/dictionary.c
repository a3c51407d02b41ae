#include "dictionary.h"

#include <stdlib.h>

#define FIRST_SLOTS 64

/* The slot of text, or the empty one where it belongs. */
static size_t slot_of(const struct dictionary *d, struct slice text)
{
	size_t mask = d->slots - 1, i = hash_key(&d->seed, text).lo & mask;

	while (d->index[i] && !slice_eq(d->texts[d->index[i] - 1], text))
		i = (i + 1) & mask;
	return i;
}

static void grow(struct dictionary *d)
{
	d->slots = d->slots ? 2 * d->slots : FIRST_SLOTS;
	free(d->index);
	d->index = mem_zalloc(d->slots * sizeof(*d->index));
	for (size_t i = 0; i < d->n; i++)
		d->index[slot_of(d, d->texts[i])] = (uint32_t)i + 1;
}

ptrdiff_t dictionary_find(const struct dictionary *d, struct slice text)
{
	return d->slots ? (ptrdiff_t)d->index[slot_of(d, text)] - 1 : -1;
}

size_t dictionary_add(struct dictionary *d, struct slice text, bool *ret_new)
{
	size_t slot;

	if (d->n >= d->slots / 2)
		grow(d);
	slot = slot_of(d, text);
	*ret_new = !d->index[slot];
	if (d->index[slot])
		return d->index[slot] - 1;
	if (d->n == UINT32_MAX - 1)
		mem_exhausted("too many texts");
	if (d->n == d->cap) {
		d->cap = d->cap ? 2 * d->cap : FIRST_SLOTS;
		d->texts = mem_realloc(d->texts, d->cap * sizeof(*d->texts));
	}
	d->texts[d->n] = arena_dup(&d->arena, text);
	d->index[slot] = (uint32_t)++d->n;
	return d->n - 1;
}

void dictionary_free(struct dictionary *d)
{
	free(d->texts);
	free(d->index);
	arena_free(&d->arena);
}

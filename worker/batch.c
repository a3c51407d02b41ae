#include "batch.h"

#include <stdlib.h>

#define KEYS_MIN 1024u

void *vec_push(void **v, size_t *n, size_t *cap, size_t size)
{
	uint8_t *at;

	if (*n == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		*v = mem_realloc(*v, *cap * size);
	}
	at = (uint8_t *)*v + (*n)++ * size;
	return memset(at, 0, size);
}

struct batch *batch_new(void)
{
	struct batch *b = mem_zalloc(sizeof(*b));

	b->keys = mem_zalloc(KEYS_MIN * sizeof(*b->keys));
	b->keys_mask = KEYS_MIN - 1;
	return b;
}

void batch_clear(struct batch *b, struct log *log)
{
	if (b->donor)
		batch_free(TAKE_PTR(b->donor), log);
	if (b->messages.n)
		log->ops->release(log, b->messages.v, b->messages.n);
	commit_free(&b->commit);
	b->commit = (struct commit){0};
	arena_reset(&b->arena);
	b->messages.n = b->items.n = b->handovers.n = b->records.n = b->record_items.n = 0;
	b->offsets.n = b->due.n = b->reads.n = 0;
	b->outcomes = NULL;
	memset(b->keys, 0, (b->keys_mask + 1) * sizeof(*b->keys));
	b->bytes = 0;
	b->took_in = b->calling = b->delivered = false;
	b->stats = (struct loop_stats){0};
}

void batch_free(struct batch *b, struct log *log)
{
	if (!b)
		return;
	batch_clear(b, log);
	arena_free(&b->arena);
	free(b->messages.v);
	free(b->items.v);
	free(b->handovers.v);
	free(b->records.v);
	free(b->record_items.v);
	free(b->offsets.v);
	free(b->due.v);
	free(b->reads.v);
	free(b->keys);
	free(b);
}

struct item *batch_find(const struct batch *b, struct key128 key)
{
	if (!b)
		return NULL;
	for (size_t at = key.lo & b->keys_mask; b->keys[at].item; at = (at + 1) & b->keys_mask)
		if (key128_eq(b->keys[at].key, key))
			return b->keys[at].item;
	return NULL;
}

static void keys_insert(struct batch *b, struct item *item)
{
	size_t at = item->key.lo & b->keys_mask;

	while (b->keys[at].item)
		at = (at + 1) & b->keys_mask;
	b->keys[at] = (struct batch_slot){item->key, item};
}

static void keys_grow(struct batch *b)
{
	free(b->keys);
	b->keys_mask = b->keys_mask * 2 + 1;
	b->keys = mem_zalloc((b->keys_mask + 1) * sizeof(*b->keys));
	for (size_t i = 0; i < b->items.n; i++)
		keys_insert(b, b->items.v[i]);
}

struct item *batch_add(struct batch *b, enum item_kind kind, struct owned *owned, struct key128 key)
{
	struct item *item = memset(arena_alloc(&b->arena, sizeof(*item)), 0, sizeof(*item));

	if (b->items.n + 1 > (b->keys_mask + 1) / 2)
		keys_grow(b);
	item->kind = kind;
	item->owned = owned;
	item->key = key;
	VEC_PUSH(&b->items) = item;
	keys_insert(b, item);
	return item;
}

void batch_keep(struct batch *b, struct log_message *m)
{
	VEC_PUSH(&b->messages) = *m;
	b->bytes += m->key.n + m->value.n;
	m->owner = NULL;
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

	return slice_cmp(x->record.idempotency_key, y->record.idempotency_key);
}

void batch_sort_due(struct batch *b)
{
	if (b->due.n)
		qsort(b->due.v, b->due.n, sizeof(*b->due.v), by_key);
	for (size_t i = 0; i < b->due.n; i++)
		VEC_PUSH(&b->reads) = &b->due.v[i]->read;
	b->outcomes = memset(arena_alloc(&b->arena, b->due.n * sizeof(*b->outcomes)), 0,
		b->due.n * sizeof(*b->outcomes));
	commit_init(&b->commit, &b->arena, b->outcomes, b->due.n);
}

#include "headers_cut.h"

#include "dialect_table.h"
#include "wire.h"

#include <stdlib.h>

/* Less of a stack trace is of no use. */
#define TRACE_BYTES_MIN 256

enum rank { RANK_NEEDED, RANK_OTHER, RANK_REPEATED, RANK_TRACE, RANK_COUNT };

struct candidate {
	struct slice name;
	size_t at; /* its place in the record */
	enum rank rank;
	bool in_parts; /* its value is of use in part, too */
	size_t kept;   /* bytes of the value */
	bool chosen;
};

size_t header_size(const struct header *h)
{
	size_t n = wire_long_size((int64_t)h->key.n) + h->key.n + 1;

	return slice_is_null(h->value) ? n : n + wire_long_size((int64_t)h->value.n) + h->value.n;
}

/* --- ranks --- */

static struct candidate candidate(struct slice name, size_t at)
{
	struct candidate c = {.name = name, .at = at, .rank = RANK_OTHER};
	enum dialect_id by;
	const struct dialect_row *row = dialect_row_find(name, &by);

	if (row) {
		bool bulk = row->fact == FACT_TRACE || row->fact == FACT_BLOB;

		c.rank = bulk ? RANK_TRACE : RANK_NEEDED;
		c.in_parts = row->fact == FACT_TRACE;
	}
	return c;
}

static int by_name(const void *a, const void *b)
{
	const struct candidate *x = *(struct candidate *const *)a,
			       *y = *(struct candidate *const *)b;
	int c = slice_cmp(x->name, y->name);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static void rank_repeated(struct arena *a, struct candidate *v, size_t n)
{
	struct candidate **sorted = arena_alloc(a, n * sizeof(struct candidate *));

	for (size_t i = 0; i < n; i++)
		sorted[i] = &v[i];
	qsort(sorted, n, sizeof(struct candidate *), by_name);
	for (size_t i = 1; i + 1 < n; i++) {
		struct slice name = sorted[i]->name;

		if (sorted[i]->rank != RANK_TRACE && slice_eq(sorted[i - 1]->name, name) &&
			slice_eq(sorted[i + 1]->name, name))
			sorted[i]->rank = RANK_REPEATED;
	}
}

static struct candidate *rank_all(struct arena *a, const struct header *v, size_t n)
{
	struct candidate *c = arena_alloc(a, n * sizeof(*c));

	for (size_t i = 0; i < n; i++)
		c[i] = candidate(v[i].key, i);
	rank_repeated(a, c, n);
	return c;
}

/* --- the choice --- */

static size_t whole_characters(struct slice text, size_t max)
{
	size_t n = max;

	while (n > 0 && max - n < 4 && (text.p[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* What is left of a trace with its header in room bytes; 0: nothing worth it. */
static size_t trace_bytes(const struct header *h, size_t room)
{
	size_t around = header_size(h) - h->value.n;

	if (room < around + TRACE_BYTES_MIN)
		return 0;
	return whole_characters(h->value, room - around);
}

static void choose(struct candidate *c, const struct header *h, size_t *room)
{
	size_t size = header_size(h);

	c->kept = h->value.n;
	if (size > *room && c->in_parts) {
		c->kept = trace_bytes(h, *room);
		size -= h->value.n - c->kept;
	}
	c->chosen = size <= *room && (c->kept || !h->value.n);
	if (c->chosen)
		*room -= size;
}

static size_t choose_all(struct candidate *c, const struct header *v, size_t n, size_t room)
{
	size_t chosen = 0;

	for (enum rank rank = 0; rank < RANK_COUNT; rank++) {
		bool newest_first = rank >= RANK_REPEATED;

		for (size_t i = 0; i < n; i++) {
			size_t at = newest_first ? n - 1 - i : i;

			if (c[at].rank != rank)
				continue;
			choose(&c[at], &v[at], &room);
			chosen += c[at].chosen;
		}
	}
	return chosen;
}

struct header *headers_cut(
	struct arena *a, const struct header *v, size_t n, size_t room, size_t *ret_n)
{
	struct candidate *c = rank_all(a, v, n);
	size_t chosen = choose_all(c, v, n, room), at = 0;
	struct header *kept = arena_alloc(a, chosen * sizeof(*kept));

	for (size_t i = 0; i < n; i++) {
		if (!c[i].chosen)
			continue;
		kept[at] = v[i];
		kept[at++].value.n = c[i].kept;
	}
	*ret_n = chosen;
	return kept;
}

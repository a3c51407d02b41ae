#include "tally.h"

#include <stdlib.h>

/* Names of which one may be null, with a number before it, as one text. */
static struct slice tagged(struct buf *out, uint64_t number, struct slice name)
{
	out->n = 0;
	buf_add(out, &number, sizeof(number));
	buf_add_byte(out, slice_is_null(name) ? '-' : '=');
	buf_add(out, name.p, name.n);
	return slice_of(out->p, out->n);
}

static void *room(void *v, size_t *cap, size_t n, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap ? 2 * *cap : 64;
	return mem_realloc(v, *cap * size);
}

static struct advice_subject subject_dup(struct arena *a, const struct advice_subject *s)
{
	struct advice_subject copy = *s;

	copy.class = arena_dup(a, s->class);
	copy.code = arena_dup(a, s->code);
	return copy;
}

static size_t row_of(struct tally *t, const struct tally_read *read)
{
	CLEANUP(buf_free) struct buf name = {0};
	bool new;
	size_t i = dictionary_add(&t->groups, tagged(&name, read->parked, read->group), &new);

	if (!new)
		return i;
	t->rows = room(t->rows, &t->cap_rows, i, sizeof(*t->rows));
	t->rows[i] = (struct tally_row){.parked = read->parked,
		.group = arena_dup(&t->arena, read->group),
		.subject = subject_dup(&t->arena, &read->subject),
		.oldest_us = INT64_MAX};
	return i;
}

static struct decimal_sum *sum_of(struct tally *t, size_t row, struct slice type)
{
	CLEANUP(buf_free) struct buf name = {0};
	bool new;
	size_t i = dictionary_add(&t->types, tagged(&name, row, type), &new);

	if (new) {
		t->sums = room(t->sums, &t->cap_sums, i, sizeof(*t->sums));
		t->sums[i] = (struct tally_sum){
			.reading_type = arena_dup(&t->arena, type), .next = t->rows[row].sums};
		t->rows[row].sums = i + 1;
	}
	return &t->sums[i].kwh;
}

static bool meter_is_new(struct tally *t, size_t row, struct slice meter)
{
	CLEANUP(buf_free) struct buf name = {0};
	bool new;

	dictionary_add(&t->meters, tagged(&name, row, meter), &new);
	return new;
}

void tally_add(struct tally *t, const struct tally_read *read)
{
	size_t i = row_of(t, read);
	struct tally_row *row = &t->rows[i];

	row->reads++;
	if (slice_is_null(read->meter))
		row->unknown_meters++;
	else
		row->meters += meter_is_new(t, i, read->meter);
	if (read->first_seen_us < row->oldest_us)
		row->oldest_us = read->first_seen_us;
	if (slice_is_null(read->kwh) ||
		!decimal_sum_add(sum_of(t, i, read->reading_type), read->kwh))
		row->unreadable++;
}

void tally_expect(struct tally *t, bool parked)
{
	const struct tally_read none = {.parked = parked};

	row_of(t, &none);
}

/* --- in order --- */

static int null_first(struct slice a, struct slice b)
{
	int nulls = slice_is_null(b) - slice_is_null(a);

	return nulls ? nulls : slice_cmp(a, b);
}

static int by_rank(const void *x, const void *y)
{
	const struct tally_row *a = *(const struct tally_row *const *)x;
	const struct tally_row *b = *(const struct tally_row *const *)y;

	if (a->parked != b->parked)
		return a->parked - b->parked;
	if (a->reads != b->reads)
		return a->reads < b->reads ? 1 : -1;
	return null_first(a->group, b->group);
}

static int by_type(const void *x, const void *y)
{
	const struct tally_sum *a = *(const struct tally_sum *const *)x;
	const struct tally_sum *b = *(const struct tally_sum *const *)y;

	return null_first(a->reading_type, b->reading_type);
}

const struct tally_row **tally_rows(const struct tally *t, struct arena *arena, size_t *ret_n)
{
	size_t n = t->groups.n;
	const struct tally_row **v = arena_alloc(arena, n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = &t->rows[i];
	if (n)
		qsort(v, n, sizeof(*v), by_rank);
	*ret_n = n;
	return v;
}

const struct tally_sum **tally_sums(
	const struct tally *t, const struct tally_row *row, struct arena *arena, size_t *ret_n)
{
	const struct tally_sum **v;
	size_t n = 0;

	for (size_t i = row->sums; i; i = t->sums[i - 1].next)
		n++;
	v = arena_alloc(arena, n * sizeof(*v));
	*ret_n = n;
	for (size_t i = row->sums; i; i = t->sums[i - 1].next)
		v[--n] = &t->sums[i - 1];
	if (*ret_n)
		qsort(v, *ret_n, sizeof(*v), by_type);
	return v;
}

void tally_free(struct tally *t)
{
	for (size_t i = 0; i < t->types.n; i++)
		decimal_sum_free(&t->sums[i].kwh);
	dictionary_free(&t->groups);
	dictionary_free(&t->meters);
	dictionary_free(&t->types);
	free(t->rows);
	free(t->sums);
	arena_free(&t->arena);
}

/*
 * audit_search.c: reads that are nowhere under the name that the settings of today give them. A
 * read may have been taken in under another: as malformed before payload.fields told how to read
 * it, or as a read before it did no longer. So our records are searched for what came from the same
 * dead letter, or from one with the same key and payload, and what they say is looked for.
 */
#include "audit.h"
#include "key.h"

#include <stdlib.h>

static struct key128 id_of(
	const struct audit *a, struct arena *arena, const struct slice *v, size_t n)
{
	size_t total = 0;
	uint8_t *whole, *p;

	for (size_t i = 0; i < n; i++)
		total += v[i].n + sizeof(v[i].n);
	p = whole = arena_alloc(arena, total);
	for (size_t i = 0; i < n; i++) {
		memcpy(p, &v[i].n, sizeof(v[i].n)); /* so that no two lists look alike */
		p += sizeof(v[i].n);
		if (v[i].n)
			memcpy(p, v[i].p, v[i].n);
		p += v[i].n;
	}
	return hash_key(&a->in.rules.seed, slice_of(whole, total));
}

struct key128 audit_place_id(const struct audit *a, struct arena *arena, struct slice topic,
	int32_t partition, int64_t offset)
{
	const struct slice parts[] = {SLICE_LIT("place"), topic,
		slice_of(&partition, sizeof(partition)), slice_of(&offset, sizeof(offset))};

	return id_of(a, arena, parts, ARRAY_LEN(parts));
}

struct key128 audit_source_id(const struct audit *a, struct arena *arena, struct slice record_key,
	struct slice id_header, struct slice payload)
{
	const struct slice parts[] = {SLICE_LIT("source"), record_key, id_header, payload};

	return id_of(a, arena, parts, ARRAY_LEN(parts));
}

struct clue {
	struct key128 id;
	struct audit_suspect *suspect;
};

/* As what a suspect may have been taken in. */
struct other {
	struct audit_read read;
	struct audit_suspect *suspect;
};

struct search {
	struct audit *audit;
	struct clue *clues; /* sorted by id */
	size_t n_clues;
	struct other others[AUDIT_BATCH_READS];
	size_t n;
	struct arena kept;  /* of the others */
	struct arena arena; /* of one record */
};

static int compare_ids(struct key128 x, struct key128 y)
{
	if (x.hi != y.hi)
		return x.hi < y.hi ? -1 : 1;
	return (x.lo > y.lo) - (x.lo < y.lo);
}

static int compare_clues(const void *x, const void *y)
{
	return compare_ids(((const struct clue *)x)->id, ((const struct clue *)y)->id);
}

/* The first clue that is not below id. */
static size_t first_clue(const struct search *s, struct key128 id)
{
	size_t low = 0, high = s->n_clues;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_ids(s->clues[middle].id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int judge_others(struct search *s, struct err *err)
{
	struct audit_read reads[AUDIT_BATCH_READS];
	struct audit_batch b = {.v = reads, .n = s->n};
	int r;

	for (size_t i = 0; i < s->n; i++)
		reads[i] = s->others[i].read;
	r = audit_rows_send(s->audit, &b, err);
	if (!r)
		r = audit_rows_take(s->audit, &b, err);
	for (size_t i = 0; i < s->n && !r; i++) {
		uint64_t *count = audit_find(s->audit, &reads[i]);

		if (count)
			audit_acquit(s->others[i].suspect, count);
	}
	s->n = 0;
	arena_reset(&s->kept);
	return r;
}

static int add_other(struct search *s, struct audit_suspect *suspect, const struct record *record,
	struct key128 key, struct err *err)
{
	const struct key128 other = {key.hi ^ record->content, key.lo};

	if (key128_eq(other, suspect->other))
		return 0; /* the same entry, after another failed replay */
	suspect->other = other;
	s->others[s->n] = (struct other){.suspect = suspect, .read = suspect->read};
	s->others[s->n].read.key = arena_dup(&s->kept, record->idempotency_key);
	s->others[s->n].read.content = record->content;
	s->others[s->n++].read.unfit = false;
	return s->n == AUDIT_BATCH_READS ? judge_others(s, err) : 0;
}

/* Suspects that a record of ours came from. */
static int follow(struct search *s, struct key128 id, const struct record *record, struct err *err)
{
	struct key128 key = hash_key(&s->audit->in.rules.seed, record->idempotency_key);
	int r = 0;

	for (size_t i = first_clue(s, id); i < s->n_clues && !r && key128_eq(s->clues[i].id, id);
		i++)
		r = add_other(s, s->clues[i].suspect, record, key, err);
	return r;
}

static void note_entered(struct search *s, struct slice key)
{
	struct key128 id = hash_key(&s->audit->in.rules.seed, key);

	for (size_t i = first_clue(s, id); i < s->n_clues && key128_eq(s->clues[i].id, id); i++)
		s->clues[i].suspect->entered = true;
}

static int search_record(struct search *s, const struct record *record, struct err *err)
{
	const struct audit *a = s->audit;
	const struct origin *d = &record->dead_letter;
	struct slice header =
		a->id_header ? headers_last(record->headers, a->id_header) : SLICE_NULL;
	int r;

	arena_reset(&s->arena);
	r = follow(s, audit_place_id(a, &s->arena, d->topic, d->partition, d->offset), record, err);
	if (!r)
		r = follow(s,
			audit_source_id(a, &s->arena, record->record_key, header, record->payload),
			record, err);
	return r;
}

static int search_message(void *arg, const struct log_message *m, struct err *err)
{
	struct search *s = arg;
	struct record record;
	struct parked parked;
	struct slice key;
	bool suffixed;

	if (m->topic == TOPIC_PARKED)
		return parked_decode(m->value, &parked, NULL)
			       ? 0
			       : search_record(s, &parked.entry, err);
	if (key_is_checkpoint(m->key) || !key_split_entry(m->key, &key, &suffixed))
		return 0;
	note_entered(s, key);
	if (slice_is_null(m->value) || record_decode(m->value, &record, NULL))
		return 0;
	return search_record(s, &record, err);
}

static void make_clues(struct search *s, struct audit_suspects *suspects)
{
	s->clues = mem_zalloc(3 * suspects->n * sizeof(*s->clues));
	for (size_t i = 0; i < suspects->n; i++) {
		struct audit_suspect *suspect = &suspects->v[i];
		const struct key128 ids[] = {suspect->key, suspect->place, suspect->source};

		for (size_t j = 0; j < (audit_counts_read(&suspect->read) ? 3 : 1); j++)
			s->clues[s->n_clues++] = (struct clue){ids[j], suspect};
	}
	qsort(s->clues, s->n_clues, sizeof(*s->clues), compare_clues);
}

static int search_topic(struct search *s, int topic, struct err *err)
{
	struct topic_reader *reader = &s->audit->in.reader;
	size_t n = (size_t)s->audit->queue.n;
	AUTO_FREE struct log_range *ranges = mem_zalloc(n * sizeof(*ranges));
	int r = topic_reader_whole_topic(reader, topic, (int32_t)n, ranges, err);

	return r ? r : topic_reader_read(reader, ranges, n, search_message, s, err);
}

int audit_suspects_as_taken_in(struct audit *a, struct err *err)
{
	AUTO_FREE struct search *s = mem_zalloc(sizeof(*s));
	int r;

	if (!a->suspects.n)
		return 0;
	s->audit = a;
	make_clues(s, &a->suspects);
	if (!(r = search_topic(s, TOPIC_DLQ, err)) && !(r = search_topic(s, TOPIC_PARKED, err)))
		r = judge_others(s, err);
	audit_suspects_drop_found(&a->suspects);
	free(s->clues);
	arena_free(&s->kept);
	arena_free(&s->arena);
	return r;
}

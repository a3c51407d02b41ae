/*
 * audit_suspects.c: reads that are nowhere under the name that the settings of today give them. A
 * read may have been taken in under another: as malformed before payload.fields told how to read
 * it, or as a read before it did no longer. So our records are searched for what came from the same
 * dead letter, or from one with the same key and payload, and what they say is looked for.
 */
#include "audit.h"
#include "key.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void findings_add(struct findings *f, const char *fmt, ...)
{
	char text[1500];
	va_list ap;

	if (f->n++ >= FINDINGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(&f->text, "%s\n", text);
}

/* --- the suspects --- */

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

static struct key128 place_id(const struct audit *a, struct arena *arena, struct slice topic,
	int32_t partition, int64_t offset)
{
	const struct slice parts[] = {SLICE_LIT("place"), topic,
		slice_of(&partition, sizeof(partition)), slice_of(&offset, sizeof(offset))};

	return id_of(a, arena, parts, ARRAY_LEN(parts));
}

/* All that a key is made from, by whatever settings. */
static struct key128 source_id(const struct audit *a, struct arena *arena, struct slice record_key,
	struct slice id_header, struct slice payload)
{
	const struct slice parts[] = {SLICE_LIT("source"), record_key, id_header, payload};

	return id_of(a, arena, parts, ARRAY_LEN(parts));
}

struct audit_suspect audit_suspect_of(
	const struct audit *a, struct arena *arena, const struct audit_read *read)
{
	struct audit_suspect s = {.read = *read, .key = hash_key(&a->in.rules.seed, read->key)};
	const char *topic;

	if (read->at.topic == TOPIC_DLQ)
		return s;
	topic = a->in.kafka.topics[read->at.topic];
	s.place_key = key_synthetic(arena, topic, read->at.partition, read->at.offset);
	s.payload_content = hash_content(read->payload);
	s.place = place_id(a, arena, slice_str(topic), read->at.partition, read->at.offset);
	s.source = source_id(a, arena, read->record_key, read->id_header, read->payload);
	return s;
}

void audit_suspects_free(struct audit_suspects *s)
{
	free(s->v);
	arena_free(&s->arena);
}

/* --- the verdict --- */

static const char *why(const struct audit *a, const struct audit_suspect *s)
{
	const struct audit_read *read = &s->read;
	const struct origin source = {
		slice_str(a->in.kafka.topics[read->at.topic]), read->at.partition, read->at.offset};
	int32_t p = hash_partition(read->key, a->queue.n);

	if (read->row == ROW_OTHER)
		return "its row has other content, and it is neither queued nor parked";
	if (read->at.topic == TOPIC_DLQ)
		return "its dead letter is gone, and its entry was removed, but there is no row";
	if (s->entered)
		return "its entry was removed, but there is no row";
	if (read->at.offset >= audit_queue_taken(a, p, &source))
		return "never taken in, though the group's offset is beyond it";
	return "neither row nor entry is there";
}

static void condemn(struct audit *a, const struct audit_suspect *s)
{
	const struct audit_read *read = &s->read;
	struct audit_counts *counts = &read->line->counts;
	bool different = read->row == ROW_OTHER;

	counts->reads += !audit_counts_read(read);
	if (s->requeued) {
		counts->requeued++;
		counts->queued++;
	} else {
		(*(different ? &counts->different : &counts->missing))++;
	}
	findings_add(&a->findings, "%s: %.*s (%s partition %d offset %lld): %s%s",
		different ? "different" : "missing", SLICE_FMT(read->key),
		a->in.kafka.topics[read->at.topic], read->at.partition, (long long)read->at.offset,
		why(a, s), s->requeued ? "; requeued" : "");
}

void audit_suspects_condemn(struct audit *a)
{
	for (size_t i = 0; i < a->suspects.n; i++)
		condemn(a, &a->suspects.v[i]);
	a->suspects.n = 0;
}

void audit_suspects_add(struct audit *a, const struct audit_suspect *suspect)
{
	struct audit_suspects *s = &a->suspects;
	struct audit_suspect *kept;

	if (s->n == AUDIT_SUSPECTS_MAX) {
		condemn(a, suspect);
		return;
	}
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->v = mem_realloc(s->v, s->cap * sizeof(*s->v));
	}
	kept = &s->v[s->n++];
	*kept = *suspect;
	kept->place_key = arena_dup(&s->arena, suspect->place_key);
	kept->read.key = arena_dup(&s->arena, suspect->read.key);
	kept->read.record_key = kept->read.id_header = kept->read.payload = SLICE_NULL;
}

/* --- the second look --- */

static void drop_found(struct audit_suspects *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!s->v[i].found)
			s->v[kept++] = s->v[i];
	s->n = kept;
}

static void acquit(struct audit_suspect *s, uint64_t *count)
{
	if (!s->found)
		*count += audit_counts_read(&s->read);
	s->found = true;
}

/* Asks for the rows of some suspects. */
static int find_rows(struct audit *a, struct audit_suspect *v, size_t n, struct err *err)
{
	struct audit_read reads[AUDIT_BATCH_READS];
	struct audit_batch b = {.v = reads, .n = n};
	int r;

	for (size_t i = 0; i < n; i++)
		reads[i] = v[i].read;
	r = audit_rows_send(a, &b, err);
	if (!r)
		r = audit_rows_take(a, &b, err);
	for (size_t i = 0; i < n && !r; i++)
		v[i].read.row = reads[i].row;
	return r;
}

int audit_suspects_again(struct audit *a, struct err *err)
{
	struct audit_suspects *s = &a->suspects;
	int r = 0;

	for (size_t at = 0; at < s->n && !r; at += AUDIT_BATCH_READS) {
		size_t n = s->n - at < AUDIT_BATCH_READS ? s->n - at : AUDIT_BATCH_READS;

		r = find_rows(a, s->v + at, n, err);
		for (size_t i = at; i < at + n && !r; i++) {
			uint64_t *count = audit_find(a, &s->v[i].read);

			if (!count)
				count = audit_find_in_place(a, &s->v[i]);
			if (count)
				acquit(&s->v[i], count);
		}
	}
	drop_found(s);
	return r;
}

/* --- as what they were taken in --- */

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
			acquit(s->others[i].suspect, count);
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
	r = follow(s, place_id(a, &s->arena, d->topic, d->partition, d->offset), record, err);
	if (!r)
		r = follow(s, source_id(a, &s->arena, record->record_key, header, record->payload),
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
	drop_found(&a->suspects);
	free(s->clues);
	arena_free(&s->kept);
	arena_free(&s->arena);
	return r;
}

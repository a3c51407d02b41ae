/* audit_suspects.c: reads that are nowhere as far as the first look goes, until the verdict. */
#include "audit.h"
#include "key.h"

#include <stdlib.h>

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
	s.place = audit_place_id(a, arena, slice_str(topic), read->at.partition, read->at.offset);
	s.source = audit_source_id(a, arena, read->record_key, read->id_header, read->payload);
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

void audit_suspects_drop_found(struct audit_suspects *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!s->v[i].found)
			s->v[kept++] = s->v[i];
	s->n = kept;
}

void audit_acquit(struct audit_suspect *s, uint64_t *count)
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
				audit_acquit(&s->v[i], count);
		}
	}
	audit_suspects_drop_found(s);
	return r;
}

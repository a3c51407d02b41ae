#include "audit.h"
#include "key.h"

#include <stdlib.h>

#define BATCH_READS 1000
#define BATCH_BYTES ((size_t)4 * 1024 * 1024)

struct walk {
	struct audit *audit;
	struct audit_line *line;
	struct read_set seen;
	struct arena arena; /* of one dead letter */
	struct arena batch_arena;
	struct audit_read batch[BATCH_READS];
	size_t n;
};

static int judge_batch(struct walk *w, struct err *err)
{
	int r = audit_judge(w->audit, w->batch, w->n, err);

	w->n = 0;
	arena_reset(&w->batch_arena);
	return r;
}

static int take(void *arg, const struct log_message *m, struct err *err)
{
	struct walk *w = arg;
	const struct inspection *in = &w->audit->in;
	const struct hash_seed *seed = &in->rules.seed;
	int64_t now_us = clock_now_us(in->reader.clock);
	struct dead_letter d = {
		.at = {slice_str(in->kafka.topics[m->topic]), m->partition, m->offset},
		.seen_us = dead_letter_seen_us(m->timestamp_ms, now_us),
		.key = m->key,
		.payload = m->value};
	struct decoded decoded;
	const struct record *record = &decoded.record;

	arena_reset(&w->arena);
	d.headers = headers_encode(&w->arena, m->headers, m->n_headers, &d.headers_cut);
	dead_letter_decode(&w->arena, &w->audit->decode, &d, now_us, &decoded);
	w->line->dead_letters++;
	if (!read_set_add(&w->seen, seed, hash_key(seed, record->idempotency_key), record->content))
		return 0;
	w->batch[w->n++] =
		(struct audit_read){.key = arena_dup(&w->batch_arena, record->idempotency_key),
			.content = record->content,
			.place_key = key_synthetic(&w->batch_arena,
				w->audit->in.kafka.topics[m->topic], m->partition, m->offset),
			.payload_content = hash_content(m->value),
			.offset = m->offset,
			.line = w->line,
			.unfit = decoded.unfit};
	if (w->n == BATCH_READS || w->batch_arena.used >= BATCH_BYTES)
		return judge_batch(w, err);
	return 0;
}

static void note_gap(struct audit *a, struct audit_line *line)
{
	const struct log_range *range = &line->range;

	if (line->committed < 0 || line->committed >= range->from)
		return;
	line->gap = range->from - line->committed;
	findings_add(&a->findings,
		"gap: %s partition %d offsets %lld to %lld: retention took them before they were "
		"taken in",
		a->in.kafka.topics[range->topic], range->partition, (long long)line->committed,
		(long long)range->from - 1);
}

int audit_source(struct audit *a, struct audit_line *line, struct err *err)
{
	AUTO_FREE struct walk *w = mem_zalloc(sizeof(*w));
	int r = topic_reader_whole(
		&a->in.reader, line->range.topic, line->range.partition, &line->range, err);

	w->audit = a;
	w->line = line;
	if (!r) {
		note_gap(a, line);
		r = topic_reader_read(&a->in.reader, &line->range, 1, take, w, err);
	}
	if (!r)
		r = judge_batch(w, err);
	read_set_free(&w->seen);
	arena_free(&w->arena);
	arena_free(&w->batch_arena);
	return r;
}

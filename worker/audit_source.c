#include "audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH_READS 1000
#define BATCH_BYTES (4u * 1024u * 1024u)

struct walk {
	struct audit *audit;
	struct audit_line *line;
	int64_t committed;
	struct read_set seen;
	struct arena arena; /* of one dead letter */
	struct arena batch_arena;
	struct audit_read batch[BATCH_READS];
	size_t n;
};

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

static void report(struct walk *w, const struct audit_read *read, const char *what)
{
	findings_add(&w->audit->findings, "%s: %.*s (%s partition %d offset %lld)", what,
		SLICE_FMT(read->key), w->audit->in.kafka.topics[w->line->range.topic],
		w->line->range.partition, (long long)read->offset);
}

static void judge_lost(struct walk *w, const struct audit_read *read)
{
	if (read->row == ROW_OTHER) {
		w->line->different++;
		report(w, read, "different");
	} else if (read->offset >= w->committed) {
		w->line->waiting++;
	} else {
		w->line->missing++;
		report(w, read, "missing");
	}
}

/* The row is the truth: the live pipeline may have committed a queued or parked read. */
static void judge(struct walk *w, const struct audit_read *read)
{
	w->line->reads++;
	if (read->row == ROW_SAME) {
		w->line->settled++;
		return;
	}
	switch (audit_queue_find(w->audit, read->key, read->content)) {
	case PLACE_QUEUED:
		w->line->queued++;
		break;
	case PLACE_PARKED:
		w->line->parked++;
		break;
	case PLACE_NOWHERE:
		judge_lost(w, read);
		break;
	}
}

static int judge_batch(struct walk *w, struct err *err)
{
	int r = w->n ? audit_rows_find(w->audit->pg, w->batch, w->n, err) : 0;

	if (r)
		return r;
	for (size_t i = 0; i < w->n; i++)
		judge(w, &w->batch[i]);
	w->n = 0;
	arena_reset(&w->batch_arena);
	return 0;
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
			.offset = m->offset,
			.unfit = decoded.unfit};
	if (w->n == BATCH_READS || w->batch_arena.used >= BATCH_BYTES)
		return judge_batch(w, err);
	return 0;
}

static void note_gap(struct walk *w)
{
	const struct log_range *range = &w->line->range;

	if (w->committed < 0 || w->committed >= range->from)
		return;
	w->line->gap = range->from - w->committed;
	findings_add(&w->audit->findings,
		"gap: %s partition %d offsets %lld to %lld: retention took them before they were "
		"taken in",
		w->audit->in.kafka.topics[range->topic], range->partition, (long long)w->committed,
		(long long)range->from - 1);
}

int audit_source(struct audit *a, int topic, int32_t partition, int64_t committed,
	struct audit_line *ret, struct err *err)
{
	AUTO_FREE struct walk *w = mem_zalloc(sizeof(*w));
	int r;

	*ret = (struct audit_line){0};
	w->audit = a;
	w->line = ret;
	w->committed = committed;
	r = topic_reader_whole(&a->in.reader, topic, partition, &ret->range, err);
	if (!r) {
		note_gap(w);
		r = topic_reader_read(&a->in.reader, &ret->range, 1, take, w, err);
	}
	if (!r)
		r = judge_batch(w, err);
	read_set_free(&w->seen);
	arena_free(&w->arena);
	arena_free(&w->batch_arena);
	return r;
}

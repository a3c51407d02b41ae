/*
 * audit_history.c: an entry outlives its dead letter: the DLQ's log holds it for as long as
 * min.compaction.lag.ms at least, even behind its tombstone. Where retention has taken the dead
 * letter, this is what can still tell that a read was taken in.
 */
#include "audit.h"
#include "key.h"

struct history {
	struct audit *audit;
	struct audit_judging judging;
	struct arena arena; /* of one record */
};

static bool in_scope(
	const struct audit *a, const struct audit_line *line, const struct record *record)
{
	return record->last_seen_us >= a->since_us && record->first_seen_us < a->until_us &&
	       (line->wanted < 0 || record->dead_letter.offset >= line->wanted);
}

/* Whether no walk along the sources can meet its dead letter. */
static bool is_gone(const struct audit_line *line, const struct record *record)
{
	return line->range.topic == ELSEWHERE || record->dead_letter.offset < line->low;
}

static uint64_t content_today(struct history *h, const struct record *record)
{
	struct meter_read read;
	bool wait = false;

	arena_reset(&h->arena);
	if (record_decode_read(&h->arena, &h->audit->in.decode, record, &read, &wait) || wait)
		return record->content;
	return meter_read_content(&read);
}

static int take(void *arg, const struct log_message *m, struct err *err)
{
	struct history *h = arg;
	struct audit *a = h->audit;
	struct audit_line *line;
	struct record record;

	if (key_is_checkpoint(m->key) || slice_is_null(m->value) ||
		record_decode(m->value, &record, NULL))
		return 0;
	line = audit_line_of(a, &record.dead_letter);
	if (!is_gone(line, &record) || !in_scope(a, line, &record) ||
		!audit_new_read(a, record.idempotency_key, record.content))
		return 0;
	return audit_judge(&h->judging,
		&(struct audit_read){.key = record.idempotency_key,
			.content = record.content,
			.content_today = content_today(h, &record),
			.at = {m->topic, m->partition, m->offset},
			.line = line},
		err);
}

/* Most topics keep their dead letters for longer than the DLQ its log. */
static bool needed(const struct audit *a)
{
	for (size_t i = 0; i < a->n_lines; i++)
		if (a->lines[i].entered < a->lines[i].low)
			return true;
	return a->queue.foreign;
}

int audit_history(struct audit *a, struct err *err)
{
	struct history h = {.audit = a};
	size_t n = (size_t)a->queue.n;
	AUTO_FREE struct log_range *dlq = mem_zalloc(n * sizeof(*dlq));
	int r;

	if (!needed(a))
		return 0;
	audit_judging_open(&h.judging, a);
	r = topic_reader_whole_topic(&a->in.reader, TOPIC_DLQ, (int32_t)n, dlq, err);
	if (!r)
		r = topic_reader_read(&a->in.reader, dlq, n, take, &h, err);
	if (!r)
		r = audit_judge_rest(&h.judging, err);
	audit_judging_close(&h.judging);
	arena_free(&h.arena);
	return r;
}

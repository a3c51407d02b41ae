#include "audit.h"
#include "framing.h"
#include "incoming.h"
#include "key.h"

struct walk {
	struct audit *audit;
	struct audit_line *line;
	struct audit_judging judging;
	struct arena arena; /* of one dead letter */
};

static int await_original(
	const struct audit *a, const struct origin *of, int64_t until_us, struct err *err)
{
	struct log *log = a->in.log;
	bool news;

	if (clock_steady_us(a->in.reader.clock) > until_us)
		return err_set(err, ERR_UNREACHABLE,
			"%.*s partition %d offset %lld, to which a dead letter points, does not "
			"come",
			SLICE_FMT(of->topic), of->partition, (long long)of->offset);
	return log->ops->fetch_originals(log, 100, &news, err);
}

int audit_decode(const struct audit *a, struct arena *arena, const struct dead_letter *d,
	struct decoded *ret, struct err *err)
{
	char schema[SCHEMA_REF_TEXT_BYTES] = "its schema";
	struct framing framing;
	int64_t until_us = clock_steady_us(a->in.reader.clock) + a->in.reader.patience_us;
	int r = 0;

	while (!r && !incoming_decode(arena, &a->in.decode, a->in.log, d, d->seen_us, ret))
		r = await_original(a, &ret->record.origin, until_us, err);
	if (r || !ret->wait)
		return r;
	if (!framing_detect(d->headers, d->payload, &framing))
		schema_ref_text(&framing.schema, schema);
	return err_set(err, ERR_UNREACHABLE,
		"%.*s partition %d offset %lld cannot be read without %s, and the registry does "
		"not answer",
		SLICE_FMT(d->at.topic), d->at.partition, (long long)d->at.offset, schema);
}

/* A pointer whose original is gone by now, and that is not parked as such: it may have been a read
 * when it was taken in, but which one only the original could tell. */
static bool is_untold(struct walk *w, const struct log_message *m, const struct record *record)
{
	struct audit *a = w->audit;

	if (m->offset >= w->line->committed ||
		audit_queue_find(a, record->idempotency_key, record->content) != PLACE_NOWHERE)
		return false;
	findings_add(&a->findings,
		"cannot be told: %.*s was taken in as a pointer to a record that is gone since",
		SLICE_FMT(record->idempotency_key));
	return true;
}

static int take(void *arg, const struct log_message *m, struct err *err)
{
	struct walk *w = arg;
	struct audit *a = w->audit;
	struct dead_letter d;
	struct decoded decoded;
	const struct record *record = &decoded.record;
	int r;

	arena_reset(&w->arena);
	d = incoming_dead_letter(
		&w->arena, a->in.kafka.topics, m, clock_now_us(a->in.reader.clock));
	r = audit_decode(a, &w->arena, &d, &decoded, err);
	if (r)
		return r;
	w->line->counts.dead_letters++;
	if (decoded.pointer && is_untold(w, m, record))
		return 0;
	if (!audit_count_once(a, w->line, record->idempotency_key, record->content))
		return 0;
	return audit_judge(&w->judging,
		&(struct audit_read){.key = record->idempotency_key,
			.content = record->content,
			.content_today = record->content,
			.at = {m->topic, m->partition, m->offset},
			.line = w->line,
			.unfit = decoded.unfit,
			.record_key = m->key,
			.id_header =
				a->id_header ? headers_last(d.headers, a->id_header) : SLICE_NULL,
			.payload = m->value},
		err);
}

static int offset_at(
	struct audit *a, const struct log_range *whole, int64_t us, int64_t *ret, struct err *err)
{
	return topic_reader_offset_at(
		&a->in.reader, whole->topic, whole->partition, us / 1000, ret, err);
}

/* What of the partition it looks at: --from, else --since, to --until. */
static int narrow(struct audit *a, struct audit_line *line, struct err *err)
{
	struct log_range *range = &line->range, whole = *range;
	int r = 0;

	if (line->wanted > whole.to)
		return err_set(err, ERR_CONFIG,
			"--from: %s partition %d ends before offset %lld, at %lld",
			a->in.kafka.topics[whole.topic], whole.partition, (long long)line->wanted,
			(long long)whole.to);
	if (line->wanted > whole.from)
		range->from = line->wanted;
	else if (line->wanted < 0 && a->since_us != INT64_MIN)
		r = offset_at(a, &whole, a->since_us, &range->from, err);
	if (!r && a->until_us != INT64_MAX)
		r = offset_at(a, &whole, a->until_us, &range->to, err);
	if (range->from < whole.from)
		range->from = whole.from;
	if (range->to > whole.to)
		range->to = whole.to;
	if (range->to < range->from)
		range->to = range->from;
	return r;
}

int audit_source(struct audit *a, struct audit_line *line, struct err *err)
{
	struct walk w = {.audit = a, .line = line};
	int r = topic_reader_whole(
		&a->in.reader, line->range.topic, line->range.partition, &line->range, err);

	if (r)
		return r;
	line->low = line->range.from;
	audit_gap_of_source(a, line);
	if ((r = narrow(a, line, err)))
		return r;
	audit_judging_open(&w.judging, a);
	r = topic_reader_read(&a->in.reader, &line->range, 1, take, &w, err);
	if (!r)
		r = audit_judge_rest(&w.judging, err);
	audit_judging_close(&w.judging);
	arena_free(&w.arena);
	return r;
}

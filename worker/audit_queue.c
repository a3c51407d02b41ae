#include "audit.h"
#include "key.h"

#include <stdlib.h>

/* While the worker runs, a read moves from the inbox to the DLQ and from there to the parked topic.
 * Read in this order it is seen at least once, unless it comes back from the parked topic. */
static const int order[] = {TOPIC_INBOX, TOPIC_DLQ, TOPIC_PARKED};

struct filling {
	struct audit *audit;
	struct arena arena; /* of one record */
};

static int take_inbox(struct filling *f, const struct log_message *m, struct err *err)
{
	struct audit *a = f->audit;
	struct audit_queue *q = &a->queue;
	struct dead_letter d;
	struct decoded decoded;
	struct inbox in;
	int r = inbox_decode(m->value, &in, err);

	if (r)
		return topic_reader_pass(&a->in.reader, m, r, err);
	d = dead_letter_from_inbox(&in);
	arena_reset(&f->arena);
	if ((r = audit_decode(a, &f->arena, &d, &decoded, err)))
		return r;
	if (q->n_handed == q->cap_handed) {
		q->cap_handed = q->cap_handed ? 2 * q->cap_handed : 1024;
		q->handed = mem_realloc(q->handed, q->cap_handed * sizeof(*q->handed));
	}
	q->handed[q->n_handed++] = (struct audit_handed){.partition = m->partition,
		.offset = m->offset,
		.key = hash_key(&a->in.rules.seed, decoded.record.idempotency_key),
		.content = decoded.record.content};
	return 0;
}

/* So that audit_history knows whether there is anything for it. */
static void note_dead_letter(struct audit *a, struct slice value)
{
	struct audit_line *line;
	struct record record;

	if (slice_is_null(value) || record_decode(value, &record, NULL))
		return;
	line = audit_line_of(a, &record.dead_letter);
	a->queue.foreign |= line->range.topic == ELSEWHERE;
	if (record.dead_letter.offset < line->entered)
		line->entered = record.dead_letter.offset;
}

static int take_entry(struct filling *f, const struct log_message *m, struct err *err)
{
	struct audit_queue *q = &f->audit->queue;
	struct slice key;
	bool suffixed = false;
	int r;

	if (!key_is_checkpoint(m->key) && key_split_entry(m->key, &key, &suffixed))
		note_dead_letter(f->audit, m->value);
	r = fold_dlq(&(suffixed ? q->second : q->entries)[m->partition], &f->audit->in.rules,
		m->key, m->value, m->offset, err);
	return topic_reader_pass(&f->audit->in.reader, m, r, err);
}

static int take(void *arg, const struct log_message *m, struct err *err)
{
	struct filling *f = arg;
	struct audit *a = f->audit;
	int r;

	if (m->topic == TOPIC_INBOX)
		return take_inbox(f, m, err);
	if (m->topic == TOPIC_DLQ)
		return take_entry(f, m, err);
	r = fold_parked(
		&a->queue.entries[m->partition], &a->in.rules, m->key, m->value, m->offset, err);
	return topic_reader_pass(&a->in.reader, m, r, err);
}

/* Another group, N or key rule would make other reads of the same dead letters. */
static int check_checkpoint(
	const struct audit *a, const struct checkpoint *c, int32_t partition, struct err *err)
{
	const struct config *config = a->in.config;

	if (c->partitions == 0)
		return 0;
	if (c->partitions != a->queue.n || !slice_eq(c->group_id, slice_str(config->group_id)) ||
		!slice_eq(c->key_rule, slice_str(config->key_from)))
		return err_set(err, ERR_CONFIG,
			"%s partition %d was written with %d partitions, group.id=%.*s and "
			"key.from=%.*s, not with %d, %s and %s",
			config->dlq_topic, partition, c->partitions, SLICE_FMT(c->group_id),
			SLICE_FMT(c->key_rule), a->queue.n, config->group_id, config->key_from);
	return 0;
}

/* How far each source has been taken in by anybody. */
static void note_taken(struct audit *a, const struct checkpoint *c)
{
	for (size_t i = 0; i < c->n_sources; i++) {
		const struct source_position *s = &c->sources[i];
		const struct origin place = {s->topic, s->partition, s->offset};
		struct audit_line *line = audit_line_of(a, &place);

		if (s->offset > line->taken)
			line->taken = s->offset;
	}
}

int64_t audit_queue_taken(const struct audit *a, int32_t partition, const struct origin *source)
{
	const struct checkpoint *c = &a->queue.entries[partition].checkpoint;

	for (size_t i = 0; i < c->n_sources; i++)
		if (c->sources[i].partition == source->partition &&
			slice_eq(c->sources[i].topic, source->topic))
			return c->sources[i].offset;
	return 0;
}

static int keep_unapplied(struct audit *a, struct err *err)
{
	struct audit_queue *q = &a->queue;
	size_t kept = 0;
	int r = 0;

	for (int32_t p = 0; p < q->n && !r; p++) {
		r = check_checkpoint(a, &q->entries[p].checkpoint, p, err);
		note_taken(a, &q->entries[p].checkpoint);
	}
	read_set_free(&q->inbox);
	for (size_t i = 0; i < q->n_handed && !r; i++) {
		const struct audit_handed *h = &q->handed[i];

		if (h->offset < q->entries[h->partition].checkpoint.inbox_offset)
			continue;
		read_set_mark(&q->inbox, &a->in.rules.seed, h->key, h->content, 1);
		q->handed[kept++] = *h;
	}
	q->n_handed = kept;
	return r;
}

static void open_queue(struct audit_queue *q, int32_t partitions)
{
	size_t n = (size_t)partitions;

	q->n = partitions;
	q->entries = mem_zalloc(n * sizeof(*q->entries));
	q->second = mem_zalloc(n * sizeof(*q->second));
	q->read = mem_zalloc(ARRAY_LEN(order) * n * sizeof(*q->read));
	for (int32_t p = 0; p < partitions; p++)
		q->entries[p].number = q->second[p].number = p;
}

/* Reads what a topic has beyond the ranges that were read. */
static int advance_topic(
	struct filling *f, int topic, struct log_range *read, size_t n, struct err *err)
{
	struct topic_reader *reader = &f->audit->in.reader;
	AUTO_FREE struct log_range *fresh = mem_zalloc(n * sizeof(*fresh));
	int r = topic_reader_whole_topic(reader, topic, (int32_t)n, fresh, err);

	if (r)
		return r;
	for (size_t p = 0; p < n; p++) {
		if (read[p].to > fresh[p].from)
			fresh[p].from = read[p].to;
		read[p] = fresh[p];
	}
	return topic_reader_read(reader, fresh, n, take, f, err);
}

int audit_queue_advance(struct audit *a, struct err *err)
{
	struct filling f = {.audit = a};
	size_t n = (size_t)a->in.rules.partitions;
	int r = 0;

	if (!a->queue.entries)
		open_queue(&a->queue, a->in.rules.partitions);
	for (size_t i = 0; i < ARRAY_LEN(order) && !r; i++)
		r = advance_topic(&f, order[i], a->queue.read + i * n, n, err);
	if (!r)
		r = keep_unapplied(a, err);
	arena_free(&f.arena);
	return r;
}

void audit_queue_free(struct audit_queue *q)
{
	for (int32_t p = 0; p < q->n; p++) {
		partition_free(&q->entries[p]);
		partition_free(&q->second[p]);
	}
	free(q->entries);
	free(q->second);
	free(q->read);
	free(q->handed);
	read_set_free(&q->inbox);
	*q = (struct audit_queue){0};
}

enum audit_place audit_queue_find(const struct audit *a, struct slice key, uint64_t content)
{
	const struct audit_queue *q = &a->queue;
	int32_t p = hash_partition(key, q->n);
	struct key128 k = hash_key(&a->in.rules.seed, key);
	const struct ticket *t;

	if (tickets_find_from(&q->entries[p].tickets, k, content, true) ||
		tickets_find_from(&q->second[p].tickets, k, content, true) ||
		read_set_get(&q->inbox, &a->in.rules.seed, k, content))
		return PLACE_QUEUED;
	t = tickets_find_from(&q->entries[p].tickets, k, content, false);
	if (!t)
		return PLACE_NOWHERE;
	return t->state == TICKET_PARKED ? PLACE_PARKED : PLACE_WRITTEN_OFF;
}

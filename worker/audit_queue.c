#include "audit.h"
#include "key.h"

#include <stdlib.h>

/* While the worker runs, a read moves from the inbox to the DLQ and from there to the parked topic.
 * Read in this order it is seen at least once, unless it comes back from the parked topic. */
static const int order[] = {TOPIC_INBOX, TOPIC_DLQ, TOPIC_PARKED};

/* A dead letter in the inbox; whether it is applied is known once the checkpoint is. */
struct handed {
	int32_t partition;
	int64_t offset;
	struct key128 key;
	uint64_t content;
};

struct filling {
	struct audit *audit;
	struct arena arena; /* of one record */
	struct handed *handed;
	size_t n_handed, cap_handed;
};

static int take_inbox(struct filling *f, const struct log_message *m, struct err *err)
{
	struct audit *a = f->audit;
	struct dead_letter d;
	struct decoded decoded;
	struct inbox in;
	int r = inbox_decode(m->value, &in, err);

	if (r)
		return topic_reader_pass(&a->in.reader, m, r, err);
	d = (struct dead_letter){.at = in.dead_letter,
		.seen_us = in.seen_us,
		.key = in.record_key,
		.payload = in.payload,
		.headers = in.headers,
		.headers_cut = in.headers_cut};
	arena_reset(&f->arena);
	dead_letter_decode(&f->arena, &a->decode, &d, d.seen_us, &decoded);
	if (f->n_handed == f->cap_handed) {
		f->cap_handed = f->cap_handed ? 2 * f->cap_handed : 1024;
		f->handed = mem_realloc(f->handed, f->cap_handed * sizeof(*f->handed));
	}
	f->handed[f->n_handed++] = (struct handed){.partition = m->partition,
		.offset = m->offset,
		.key = hash_key(&a->in.rules.seed, decoded.record.idempotency_key),
		.content = decoded.record.content};
	return 0;
}

static int take_entry(struct filling *f, const struct log_message *m, struct err *err)
{
	struct audit_queue *q = &f->audit->queue;
	struct slice key;
	bool suffixed = false;
	int r;

	if (!key_is_checkpoint(m->key))
		key_split_entry(m->key, &key, &suffixed);
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

static int keep_unapplied(struct filling *f, struct err *err)
{
	struct audit *a = f->audit;
	int r = 0;

	for (int32_t p = 0; p < a->queue.n && !r; p++)
		r = check_checkpoint(a, &a->queue.entries[p].checkpoint, p, err);
	for (size_t i = 0; i < f->n_handed && !r; i++) {
		const struct handed *h = &f->handed[i];

		if (h->offset >= a->queue.entries[h->partition].checkpoint.inbox_offset)
			read_set_add(&a->queue.inbox, &a->in.rules.seed, h->key, h->content);
	}
	return r;
}

int audit_queue_read(struct audit *a, struct err *err)
{
	struct audit_queue *q = &a->queue;
	struct filling f = {.audit = a};
	size_t n = (size_t)a->in.rules.partitions;
	int r = 0;

	*q = (struct audit_queue){.n = a->in.rules.partitions,
		.entries = mem_zalloc(n * sizeof(*q->entries)),
		.second = mem_zalloc(n * sizeof(*q->second)),
		.read = mem_zalloc(ARRAY_LEN(order) * n * sizeof(*q->read))};
	for (int32_t p = 0; p < q->n; p++)
		q->entries[p].number = q->second[p].number = p;
	for (size_t i = 0; i < ARRAY_LEN(order) && !r; i++) {
		r = topic_reader_whole_topic(&a->in.reader, order[i], q->n, q->read + i * n, err);
		if (!r)
			r = topic_reader_read(&a->in.reader, q->read + i * n, n, take, &f, err);
	}
	if (!r)
		r = keep_unapplied(&f, err);
	free(f.handed);
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
	read_set_free(&q->inbox);
	*q = (struct audit_queue){0};
}

int audit_queue_moved(struct audit *a, bool *ret, struct err *err)
{
	int r = 0;

	*ret = false;
	for (size_t i = 0; i < ARRAY_LEN(order) * (size_t)a->queue.n && !r; i++) {
		const struct log_range *was = &a->queue.read[i];
		struct log_range is;

		r = topic_reader_whole(&a->in.reader, was->topic, was->partition, &is, err);
		*ret = *ret || is.to != was->to;
	}
	return r;
}

enum audit_place audit_queue_find(const struct audit *a, struct slice key, uint64_t content)
{
	const struct audit_queue *q = &a->queue;
	int32_t p = hash_partition(key, q->n);
	struct key128 k = hash_key(&a->in.rules.seed, key);

	if (tickets_find_from(&q->entries[p].tickets, k, content, true) ||
		tickets_find_from(&q->second[p].tickets, k, content, true) ||
		read_set_has(&q->inbox, &a->in.rules.seed, k, content))
		return PLACE_QUEUED;
	return tickets_find_from(&q->entries[p].tickets, k, content, false) ? PLACE_PARKED
									    : PLACE_NOWHERE;
}

/* --- reads that are there twice --- */

static int name_key(void *arg, const struct log_message *m, struct err *err)
{
	struct buf *key = arg;

	(void)err;
	buf_printf(key, "%.*s", SLICE_FMT(m->key));
	return 0;
}

static int report_double(struct audit *a, int32_t partition, const struct ticket *live,
	const char *also_topic, int64_t also_offset, struct err *err)
{
	CLEANUP(buf_free) struct buf key = {0};
	struct log_range one = {TOPIC_DLQ, partition, live->offset, live->offset + 1};
	int r = 0;

	a->doubled++;
	if (a->findings.n < FINDINGS_MAX)
		r = topic_reader_read(&a->in.reader, &one, 1, name_key, &key, err);
	findings_add(&a->findings,
		"doubled: %.*s (%s partition %d offset %lld, and %s offset %lld)", (int)key.n,
		(const char *)key.p, a->in.kafka.topics[TOPIC_DLQ], partition,
		(long long)live->offset, also_topic, (long long)also_offset);
	return r;
}

/* A live entry that is parked too, or live under its other key. */
static int double_of(struct audit *a, int32_t p, const struct ticket *t, struct err *err)
{
	const struct tickets *entries = &a->queue.entries[p].tickets;
	const struct tickets *second = &a->queue.second[p].tickets;
	const struct ticket *parked = tickets_find_from(entries, t->key, t->content, false);
	const struct ticket *other =
		t->suffixed ? NULL : tickets_find_from(second, t->key, t->content, true);

	if (other)
		return report_double(a, p, t, a->in.kafka.topics[TOPIC_DLQ], other->offset, err);
	if (parked && parked->state == TICKET_PARKED)
		return report_double(
			a, p, t, a->in.kafka.topics[TOPIC_PARKED], parked->offset, err);
	return 0;
}

static int doubles_among(struct audit *a, int32_t p, const struct tickets *tickets, struct err *err)
{
	const struct ticket *t;
	size_t pos = 0;
	int r = 0;

	while (!r && (t = tickets_next(tickets, &pos)))
		if (t->state == TICKET_LIVE)
			r = double_of(a, p, t, err);
	return r;
}

int audit_queue_doubles(struct audit *a, struct err *err)
{
	int r = 0;

	for (int32_t p = 0; p < a->queue.n && !r; p++) {
		r = doubles_among(a, p, &a->queue.entries[p].tickets, err);
		if (!r)
			r = doubles_among(a, p, &a->queue.second[p].tickets, err);
	}
	return r;
}

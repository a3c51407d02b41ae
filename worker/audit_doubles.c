/* audit_doubles.c: reads that are there twice: two live entries, or one that is parked too. */
#include "audit.h"

/* A live entry that is live under its other key or parked too: that other ticket, else NULL. */
static const struct ticket *double_of(const struct audit *a, int32_t p, const struct ticket *live)
{
	const struct tickets *entries = &a->queue.entries[p].tickets;
	const struct tickets *second = &a->queue.second[p].tickets;
	const struct ticket *parked = tickets_find_from(entries, live->key, live->content, false);

	if (!live->suffixed && tickets_find_from(second, live->key, live->content, true))
		return tickets_find_from(second, live->key, live->content, true);
	return parked && parked->state == TICKET_PARKED ? parked : NULL;
}

static const struct tickets *tickets_of(const struct audit_queue *q, int32_t p, bool second)
{
	return &(second ? q->second : q->entries)[p].tickets;
}

void audit_doubles(const struct audit *a, const struct read_set *among, struct read_set *ret)
{
	const struct hash_seed *seed = &a->in.rules.seed;

	for (int32_t i = 0; i < 2 * a->queue.n; i++) {
		const struct ticket *t;
		size_t pos = 0;

		while ((t = tickets_next(tickets_of(&a->queue, i / 2, i % 2), &pos)))
			if (t->state == TICKET_LIVE && double_of(a, i / 2, t) &&
				(!among || read_set_get(among, seed, t->key, t->content)))
				read_set_mark(ret, seed, t->key, t->content, 1);
	}
}

static int name_key(void *arg, const struct log_message *m, struct err *err)
{
	struct buf *key = arg;

	(void)err;
	buf_printf(key, "%.*s", SLICE_FMT(m->key));
	return 0;
}

static int report_double(struct audit *a, int32_t p, const struct ticket *t,
	const struct ticket *other, struct err *err)
{
	CLEANUP(buf_free) struct buf key = {0};
	const struct log_range one = {TOPIC_DLQ, p, t->offset, t->offset + 1};
	int topic = other->state == TICKET_LIVE ? TOPIC_DLQ : TOPIC_PARKED;
	int r = 0;

	if (a->findings.n < FINDINGS_MAX)
		r = topic_reader_read(&a->in.reader, &one, 1, name_key, &key, err);
	findings_add(&a->findings,
		"doubled: %.*s (%s partition %d offset %lld, and %s offset %lld)", (int)key.n,
		(const char *)key.p, a->in.kafka.topics[TOPIC_DLQ], p, (long long)t->offset,
		a->in.kafka.topics[topic], (long long)other->offset);
	return r;
}

int audit_doubles_report(struct audit *a, struct err *err)
{
	const struct hash_seed *seed = &a->in.rules.seed;
	int r = 0;

	for (int32_t i = 0; i < 2 * a->queue.n && !r; i++) {
		const struct ticket *t, *other;
		size_t pos = 0;

		while (!r && (t = tickets_next(tickets_of(&a->queue, i / 2, i % 2), &pos)))
			if (t->state == TICKET_LIVE && (other = double_of(a, i / 2, t)) &&
				read_set_get(&a->doubled, seed, t->key, t->content))
				r = report_double(a, i / 2, t, other, err);
	}
	return r;
}

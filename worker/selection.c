#include "selection.h"

#include "key.h"

#include <stdlib.h>

int selection_open(struct selection *s, const struct config *config, struct err *err)
{
	int r;

	*s = (struct selection){.now_us = clock_now_us(clock_system())};
	r = filter_parse(&s->filter_arena, config, s->now_us, &s->filter, err);
	if (!r)
		r = inspection_open(&s->in, config, err);
	return r;
}

void selection_close(struct selection *s)
{
	for (int32_t p = 0; s->partitions && p < s->in.rules.partitions; p++)
		partition_free(&s->partitions[p]);
	free(s->partitions);
	free(s->dlq);
	free(s->parked);
	arena_free(&s->filter_arena);
	arena_free(&s->record_arena);
	inspection_close(&s->in);
}

static int fold(void *arg, const struct log_message *m, struct err *err)
{
	struct selection *s = arg;
	int r = (m->topic == TOPIC_DLQ ? fold_dlq : fold_parked)(
		&s->partitions[m->partition], &s->in.rules, m->key, m->value, m->offset, err);

	return topic_reader_pass(&s->in.reader, m, r, err);
}

/* The DLQ first: a read that is parked meanwhile shows up twice rather than not at all. */
static int fold_all(struct selection *s, struct err *err)
{
	struct topic_reader *reader = &s->in.reader;
	int32_t count = s->in.rules.partitions;
	size_t n = (size_t)count;
	int r;

	s->partitions = mem_zalloc(n * sizeof(*s->partitions));
	s->dlq = mem_zalloc(n * sizeof(*s->dlq));
	s->parked = mem_zalloc(n * sizeof(*s->parked));
	for (int32_t p = 0; p < count; p++)
		s->partitions[p].number = p;
	if ((r = topic_reader_whole_topic(reader, TOPIC_DLQ, count, s->dlq, err)) ||
		(r = topic_reader_read(reader, s->dlq, n, fold, s, err)) ||
		(r = topic_reader_whole_topic(reader, TOPIC_PARKED, count, s->parked, err)))
		return r;
	return topic_reader_read(reader, s->parked, n, fold, s, err);
}

bool selection_decode(
	struct selection *s, struct arena *a, bool parked, struct slice value, struct chosen *ret)
{
	struct err ignored;
	int r;

	*ret = (struct chosen){.parked = parked, .bytes = value.n};
	if (slice_is_null(value))
		return false;
	r = parked ? parked_decode(value, &ret->event, &ignored)
		   : record_decode(value, &ret->event.entry, &ignored);
	if (!r)
		read_view_of(a, &s->in.decode, &ret->event.entry, &ret->view);
	return !r;
}

/* Whether the record at its offset is the one that stands for its read. */
static bool stands(const struct selection *s, const struct chosen *c)
{
	const struct record *r = &c->event.entry;
	const struct ticket *t = tickets_find(&s->partitions[c->partition].tickets,
		hash_key(&s->in.rules.seed, r->idempotency_key), r->content);

	return t && t->state == (c->parked ? TICKET_PARKED : TICKET_LIVE) && t->offset == c->offset;
}

struct walk {
	struct selection *selection;
	bool parked;
	chosen_fn *fn;
	void *arg;
};

static int look(void *arg, const struct log_message *m, struct err *err)
{
	struct walk *w = arg;
	struct selection *s = w->selection;
	struct chosen c;

	arena_reset(&s->record_arena);
	if (key_is_checkpoint(m->key) ||
		!selection_decode(s, &s->record_arena, w->parked, m->value, &c))
		return 0;
	c.partition = m->partition;
	c.offset = m->offset;
	if (!stands(s, &c) || !filter_match(&s->filter, &c.event.entry,
				      w->parked ? &c.event.cause : NULL, &c.view))
		return 0;
	return w->fn(w->arg, &c, err);
}

static bool any_ticket(const struct selection *s, bool parked)
{
	uint64_t n = 0;

	for (int32_t p = 0; p < s->in.rules.partitions; p++)
		n += parked ? s->partitions[p].tickets.parked : s->partitions[p].tickets.live;
	return n > 0;
}

int selection_walk(struct selection *s, bool parked, chosen_fn *fn, void *arg, struct err *err)
{
	struct walk w = {s, parked, fn, arg};
	int r = s->partitions ? 0 : fold_all(s, err);

	if (r || !any_ticket(s, parked))
		return r;
	return topic_reader_read(&s->in.reader, parked ? s->parked : s->dlq,
		(size_t)s->in.rules.partitions, look, &w, err);
}

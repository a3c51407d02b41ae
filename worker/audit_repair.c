/*
 * audit_repair.c: has dead letters read again, one by one, as a rewind of their topic would: what
 * goes into the inbox is their owner's to take in, under their own places. It is below the owner's
 * checkpoint there, so it adds no attempt; where a ticket has the read it is only seen; and where
 * it was committed meanwhile its replay is a duplicate. So this may be done twice.
 */
#include "audit.h"
#include "incoming.h"
#include "kafka_producer.h"

#include <stdlib.h>

struct repair {
	struct audit *audit;
	struct kafka_producer *producer;
	size_t next; /* of the suspects */
	struct arena arena;
};

static int compare_places(const struct log_position *x, const struct log_position *y)
{
	if (x->topic != y->topic)
		return x->topic < y->topic ? -1 : 1;
	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_suspects(const void *x, const void *y)
{
	return compare_places(&((const struct audit_suspect *)x)->read.at,
		&((const struct audit_suspect *)y)->read.at);
}

/* The dead letter that an entry in the DLQ's log was made from. */
static int dead_letter_of_entry(
	const struct log_message *m, struct dead_letter *ret, struct err *err)
{
	struct record record;
	int r = record_decode(m->value, &record, err);

	if (r)
		return r;
	*ret = (struct dead_letter){.at = record.dead_letter,
		.seen_us = record.first_seen_us,
		.key = record.record_key,
		.payload = record.payload,
		.headers = record.headers,
		.headers_cut = record.headers_cut};
	return 0;
}

static int hand_over(struct repair *p, const struct dead_letter *d, const struct decoded *decoded,
	struct err *err)
{
	const struct audit *a = p->audit;
	struct slice key = decoded->record.idempotency_key;
	struct inbox inbox = dead_letter_to_inbox(d, decoded);

	return kafka_producer_send(p->producer, a->in.kafka.topics[TOPIC_INBOX],
		hash_partition(key, a->queue.n), key, inbox_encode(&p->arena, &inbox), NULL, 0,
		err);
}

static int requeue(
	struct repair *p, struct audit_suspect *s, const struct log_message *m, struct err *err)
{
	struct dead_letter d;
	struct decoded decoded;
	int r = 0;

	arena_reset(&p->arena);
	if (m->topic == TOPIC_DLQ)
		r = dead_letter_of_entry(m, &d, err);
	else
		d = incoming_dead_letter(&p->arena, p->audit->in.kafka.topics, m,
			clock_now_us(p->audit->in.reader.clock));
	if (!r)
		r = audit_decode(p->audit, &p->arena, &d, &decoded, err);
	if (!r)
		r = hand_over(p, &d, &decoded, err);
	s->requeued = !r;
	return r;
}

/* Both the messages and the suspects come in the order of their offsets. */
static int take(void *arg, const struct log_message *m, struct err *err)
{
	struct repair *p = arg;
	struct audit_suspects *s = &p->audit->suspects;
	const struct log_position at = {m->topic, m->partition, m->offset};
	int order = -1;

	while (p->next < s->n && (order = compare_places(&s->v[p->next].read.at, &at)) < 0)
		p->next++;
	return order == 0 ? requeue(p, &s->v[p->next], m, err) : 0;
}

/* Reads, partition by partition, from the first suspect there to the last. */
static int read_again(struct repair *p, struct err *err)
{
	struct audit_suspects *s = &p->audit->suspects;
	int r = 0;

	for (size_t i = 0, end; i < s->n && !r; i = end) {
		const struct log_position *first = &s->v[i].read.at, *last = first;
		struct log_range range;

		for (end = i; end < s->n && s->v[end].read.at.topic == first->topic &&
			      s->v[end].read.at.partition == first->partition;
			end++)
			last = &s->v[end].read.at;
		range = (struct log_range){
			first->topic, first->partition, first->offset, last->offset + 1};
		p->next = i;
		r = topic_reader_read(&p->audit->in.reader, &range, 1, take, p, err);
	}
	return r;
}

int audit_repair(struct audit *a, struct err *err)
{
	CLEANUP(kafka_producer_freep) struct kafka_producer *producer = NULL;
	struct repair p = {.audit = a};
	uint64_t delivered;
	int r;

	if (!a->suspects.n)
		return 0;
	qsort(a->suspects.v, a->suspects.n, sizeof(*a->suspects.v), compare_suspects);
	r = kafka_producer_new(&a->in.kafka, a->in.report, &producer, err);
	p.producer = producer;
	if (!r)
		r = read_again(&p, err);
	if (!r)
		r = kafka_producer_flush(producer, &delivered, err);
	arena_free(&p.arena);
	return r;
}

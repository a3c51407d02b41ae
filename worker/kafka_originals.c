#include "kafka_originals.h"

#include "clock.h"
#include "kafka_fetcher.h"

#include <stdio.h>
#include <stdlib.h>

/* Beyond these the least recently used ones go that are known. */
#define ORIGINALS 2048
#define ORIGINALS_BYTES ((size_t)16 * 1024 * 1024)
/* Reading over this many records costs less than a new position. */
#define GAP_RECORDS 2000
#define POP_RECORDS 256
#define PAUSE_US (5ll * 1000 * 1000)

enum state { WANTED, BEING_READ, FOUND, GONE };

struct kafka_original {
	char *topic;
	int32_t partition;
	int64_t offset;
	enum state state;
	uint64_t used;
	struct arena arena; /* FOUND: its headers */
	struct log_message message;
	char why[160]; /* GONE */
};

static size_t bytes_of(const struct kafka_original *w)
{
	return w->message.key.n + w->message.value.n;
}

static void drop(struct kafka_originals *o, size_t i)
{
	struct kafka_original *w = o->v[i];

	o->bytes -= bytes_of(w);
	if (w->message.owner)
		rd_kafka_message_destroy(w->message.owner);
	arena_free(&w->arena);
	free(w->topic);
	free(w);
	o->v[i] = o->v[--o->n];
}

/* The known one that was used least recently; n: none. */
static size_t oldest_known(const struct kafka_originals *o)
{
	size_t best = o->n;

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state >= FOUND && (best == o->n || o->v[i]->used < o->v[best]->used))
			best = i;
	return best;
}

static bool is_full(const struct kafka_originals *o)
{
	return o->n >= ORIGINALS || o->bytes > ORIGINALS_BYTES;
}

static void make_room(struct kafka_originals *o)
{
	for (size_t i; is_full(o) && (i = oldest_known(o)) < o->n;)
		drop(o, i);
}

static struct kafka_original *lookup(const struct kafka_originals *o, const struct origin *place)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->offset == place->offset && o->v[i]->partition == place->partition &&
			slice_eq(slice_str(o->v[i]->topic), place->topic))
			return o->v[i];
	return NULL;
}

static struct kafka_original *want(struct kafka_originals *o, const struct origin *place)
{
	struct kafka_original *w = mem_zalloc(sizeof(*w));

	w->topic = mem_zalloc(place->topic.n + 1);
	memcpy(w->topic, place->topic.p, place->topic.n);
	w->partition = place->partition;
	w->offset = place->offset;
	o->v = mem_realloc(o->v, (o->n + 1) * sizeof(*o->v));
	return o->v[o->n++] = w;
}

static void gone(struct kafka_originals *o, struct kafka_original *w, const char *why)
{
	w->state = GONE;
	w->used = ++o->clock;
	snprintf(w->why, sizeof(w->why), "%s", why);
	o->news = true;
}

enum log_original kafka_originals_find(struct kafka_originals *o, const struct origin *place,
	struct log_message *ret, const char **ret_why)
{
	struct kafka_original *w = lookup(o, place);

	if (!topic_name_valid(place->topic) || place->partition < 0 || place->offset < 0) {
		*ret_why = "there is no such place";
		return ORIGINAL_GONE;
	}
	if (!w) {
		make_room(o);
		if (is_full(o)) /* of others that are still to come */
			return ORIGINAL_AWAY;
		w = want(o, place);
	}
	if (w->state < FOUND)
		return ORIGINAL_AWAY;
	w->used = ++o->clock;
	*ret = w->message;
	*ret_why = w->why;
	return w->state == FOUND ? ORIGINAL_FOUND : ORIGINAL_GONE;
}

/* --- reading --- */

static int open_handle(struct kafka_originals *o, struct kafka_shared *s, struct err *err)
{
	static const struct kafka_pair defaults[] = {{"fetch.wait.max.ms", "5"},
		{"fetch.error.backoff.ms", "100"}, {"queued.min.messages", "1000"},
		{"queued.max.messages.kbytes", "8192"}, {NULL, NULL}};
	static const struct kafka_pair fixed[] = {{"isolation.level", "read_uncommitted"},
		{"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"},
		{"enable.partition.eof", "true"}, {"auto.offset.reset", "error"},
		{"check.crcs", "true"}, {NULL, NULL}};
	rd_kafka_conf_t *conf;
	int r;

	if (o->handle.rk)
		return 0;
	r = kafka_conf_new(s, defaults, fixed, &conf, err);
	if (!r)
		r = kafka_handle_open(&o->handle, s, "originals", RD_KAFKA_CONSUMER, conf, err);
	if (!r)
		o->queue = rd_kafka_queue_new(o->handle.rk);
	return r;
}

/* The next one that is being read, by its offset; NULL: none. */
static struct kafka_original *next_read(const struct kafka_originals *o)
{
	struct kafka_original *best = NULL;

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state == BEING_READ && (!best || o->v[i]->offset < best->offset))
			best = o->v[i];
	return best;
}

static void stop(struct kafka_originals *o)
{
	if (!o->topic)
		return;
	if (o->started)
		rd_kafka_consume_stop(o->topic, o->partition);
	rd_kafka_topic_destroy(o->topic);
	o->topic = NULL;
	o->started = false;
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state == BEING_READ)
			o->v[i]->state = WANTED;
}

/* All that are being read, below an offset. */
static void gone_below(struct kafka_originals *o, int64_t offset, const char *why)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state == BEING_READ && o->v[i]->offset < offset)
			gone(o, o->v[i], why);
}

/* Begins, or goes on, at the first that is being read. */
static void seek(struct kafka_originals *o)
{
	if (o->started)
		rd_kafka_consume_stop(o->topic, o->partition);
	o->started = true;
	o->next = next_read(o)->offset;
	rd_kafka_consume_start_queue(o->topic, o->partition, o->next, o->queue);
}

/* Whether the partition exists: librdkafka is silent about one that never comes to be. */
static rd_kafka_resp_err_t look(const struct kafka_originals *o)
{
	const struct rd_kafka_metadata *md;
	rd_kafka_resp_err_t code = rd_kafka_metadata(o->handle.rk, 0, o->topic, &md, KAFKA_TURN_MS);

	if (code)
		return code;
	code = md->topic_cnt == 1 ? md->topics[0].err : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
	if (!code && o->partition >= md->topics[0].partition_cnt)
		code = RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
	rd_kafka_metadata_destroy(md);
	return code;
}

/* What is wrong with the partition as a whole. */
static void trouble(struct kafka_originals *o, rd_kafka_resp_err_t code)
{
	int64_t pause_us = PAUSE_US;

	switch ((int)code) {
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		gone_below(o, INT64_MAX, "there is no such topic or partition");
		pause_us = 0;
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		kafka_report(o->handle.shared, 'W',
			"topic %s, to which dead letters point, may not be read: grant Read on it",
			rd_kafka_topic_name(o->topic));
		break;
	default:
		kafka_report(o->handle.shared, 'W', "topic %s, to which dead letters point: %s",
			rd_kafka_topic_name(o->topic), rd_kafka_err2str(code));
		break;
	}
	o->pause_until_us = clock_steady_us(clock_system()) + pause_us;
	stop(o);
}

/* Those of the partition that are wanted, from an offset on, are being read from now on. */
static void take_up(struct kafka_originals *o, int64_t from)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state == WANTED && o->v[i]->partition == o->partition &&
			o->v[i]->offset >= from &&
			strcmp(o->v[i]->topic, rd_kafka_topic_name(o->topic)) == 0)
			o->v[i]->state = BEING_READ;
}

/* All of them are read: goes on with the next ones in the partition, or gives it up. */
static void go_on(struct kafka_originals *o)
{
	const struct kafka_original *next;

	take_up(o, o->next);
	next = next_read(o);
	if (!next || next->offset - o->next > GAP_RECORDS)
		stop(o);
}

static void start(struct kafka_originals *o)
{
	const struct kafka_original *first = NULL;
	rd_kafka_resp_err_t code;

	for (size_t i = 0; i < o->n && !first; i++)
		if (o->v[i]->state == WANTED)
			first = o->v[i];
	if (!first)
		return;
	o->topic = rd_kafka_topic_new(o->handle.rk, first->topic, NULL);
	o->partition = first->partition;
	take_up(o, 0);
	code = look(o);
	if (code)
		trouble(o, code);
	else
		seek(o);
}

static void take_record(struct kafka_originals *o, rd_kafka_message_t *m)
{
	struct kafka_original *w;

	if (m->offset < o->next) {
		rd_kafka_message_destroy(m);
		return;
	}
	o->next = m->offset + 1;
	gone_below(o, m->offset, "there is no record any more");
	w = next_read(o);
	if (!w || w->offset != m->offset) {
		rd_kafka_message_destroy(m);
		return;
	}
	w->message = (struct log_message){.partition = m->partition,
		.offset = m->offset,
		.timestamp_ms = rd_kafka_message_timestamp(m, NULL),
		.key = slice_of(m->key, m->key_len),
		.value = slice_of(m->payload, m->len),
		.owner = m};
	kafka_message_headers(o->handle.shared, &w->arena, m, &w->message);
	w->state = FOUND;
	w->used = ++o->clock;
	o->bytes += bytes_of(w);
	o->news = true;
}

static void take_error(struct kafka_originals *o, const rd_kafka_message_t *m)
{
	switch ((int)m->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		gone_below(o, m->offset, "there is no record any more");
		gone_below(o, INT64_MAX, "the partition ends before it");
		break;
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
		gone_below(o, o->next + 1, "the partition no longer holds it");
		break;
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		trouble(o, m->err);
		return;
	default: /* librdkafka tries again */
		return;
	}
	if (next_read(o))
		seek(o);
	else
		stop(o); /* librdkafka does not go on from there */
}

static void take(struct kafka_originals *o, rd_kafka_message_t *m)
{
	const struct kafka_original *next;
	bool ours = o->topic && m->partition == o->partition && m->rkt &&
		    strcmp(rd_kafka_topic_name(m->rkt), rd_kafka_topic_name(o->topic)) == 0;

	if (ours && !m->err) {
		take_record(o, m);
	} else {
		if (ours)
			take_error(o, m);
		rd_kafka_message_destroy(m);
	}
	if (!o->topic)
		return;
	next = next_read(o);
	if (o->bytes > ORIGINALS_BYTES)
		stop(o);
	else if (next && next->offset - o->next > GAP_RECORDS)
		seek(o);
}

int kafka_originals_step(struct kafka_originals *o, struct kafka_shared *s, int timeout_ms,
	bool *ret_news, struct err *err)
{
	rd_kafka_message_t *m;
	int r = 0;

	*ret_news = false;
	if (!o->n)
		return 0;
	r = open_handle(o, s, err);
	if (r)
		return r;
	kafka_handle_serve(&o->handle);
	make_room(o);
	if (o->topic && !next_read(o))
		go_on(o);
	if (!o->topic && !is_full(o) && clock_steady_us(clock_system()) >= o->pause_until_us)
		start(o);
	for (size_t i = 0; o->topic && next_read(o) && i < POP_RECORDS; i++) {
		m = rd_kafka_consume_queue(o->queue, o->news ? 0 : timeout_ms);
		if (!m)
			break;
		take(o, m);
	}
	*ret_news = o->news;
	o->news = false;
	return 0;
}

void kafka_originals_close(struct kafka_originals *o)
{
	stop(o);
	while (o->n)
		drop(o, o->n - 1);
	free(o->v);
	if (o->queue)
		rd_kafka_queue_destroy(o->queue);
	kafka_handle_close(&o->handle);
	*o = (struct kafka_originals){0};
}

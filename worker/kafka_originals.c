#include "kafka_originals.h"

#include "clock.h"
#include "kafka_fetcher.h"

#include <stdio.h>
#include <stdlib.h>

/* Beyond these some go, see make_room. */
#define ORIGINALS 2048
#define ORIGINALS_BYTES ((size_t)16 * 1024 * 1024)
/* Reading over this many records costs less than a new position. */
#define GAP_RECORDS 2000
#define POP_RECORDS 256
/* Of a partition that could not be read. */
#define PAUSE_US (5ll * 1000 * 1000)
/* How long a partition may give nothing while others wait, and while none does. */
#define STALL_US (5ll * 1000 * 1000)
#define STALL_ALONE_US (30ll * 1000 * 1000)

enum state { WANTED, BEING_READ, FOUND, GONE };

struct kafka_original {
	char *topic;
	int32_t partition;
	int64_t offset;
	enum state state;
	uint64_t used;		/* the clock; WANTED: when it was asked for or tried last */
	int64_t pause_until_us; /* WANTED: steady; the same in all of a partition */
	size_t bytes;		/* all that it takes */
	void *block;		/* FOUND: what message points to; GONE: why, in words */
	struct log_message message;
};

static int64_t now_us(void)
{
	return clock_steady_us(clock_system());
}

static void drop(struct kafka_originals *o, size_t i)
{
	struct kafka_original *w = o->v[i];

	o->bytes -= w->bytes;
	free(w->block);
	free(w->topic);
	free(w);
	o->v[i] = o->v[--o->n];
}

/* The known one that was used least recently, else one that has to pause; n: none. */
static size_t dispensable(const struct kafka_originals *o)
{
	size_t known = o->n, paused = o->n;
	int64_t now = now_us();

	for (size_t i = 0; i < o->n; i++) {
		const struct kafka_original *w = o->v[i];
		size_t *best = w->state >= FOUND ? &known : &paused;

		if (w->state < FOUND && (w->state != WANTED || w->pause_until_us <= now))
			continue;
		if (*best == o->n || w->used < o->v[*best]->used)
			*best = i;
	}
	return known < o->n ? known : paused;
}

static bool is_heavy(const struct kafka_originals *o)
{
	return o->bytes > ORIGINALS_BYTES;
}

/* Fewer than max, and not heavy, where that can be; else those that cannot be read would keep out
 * all others. */
static bool make_room(struct kafka_originals *o, size_t max)
{
	for (size_t i; o->n >= max || is_heavy(o); drop(o, i)) {
		i = dispensable(o);
		if (i == o->n)
			return false;
		if (o->v[i]->state == WANTED && !o->ask_again_us)
			o->ask_again_us = now_us() + PAUSE_US;
	}
	return true;
}

static bool same_partition(const struct kafka_original *w, struct slice topic, int32_t partition)
{
	return w->partition == partition && slice_eq(slice_str(w->topic), topic);
}

static struct kafka_original *lookup(const struct kafka_originals *o, const struct origin *place)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->offset == place->offset &&
			same_partition(o->v[i], place->topic, place->partition))
			return o->v[i];
	return NULL;
}

static int64_t pause_of(const struct kafka_originals *o, const struct origin *place)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state == WANTED &&
			same_partition(o->v[i], place->topic, place->partition))
			return o->v[i]->pause_until_us;
	return 0;
}

static struct kafka_original *want(struct kafka_originals *o, const struct origin *place)
{
	struct kafka_original *w = mem_zalloc(sizeof(*w));

	w->topic = mem_zalloc(place->topic.n + 1);
	memcpy(w->topic, place->topic.p, place->topic.n);
	w->partition = place->partition;
	w->offset = place->offset;
	w->used = ++o->clock;
	w->pause_until_us = pause_of(o, place);
	w->bytes = sizeof(*w) + place->topic.n + 1;
	o->bytes += w->bytes;
	o->v = mem_realloc(o->v, (o->n + 1) * sizeof(*o->v));
	return o->v[o->n++] = w;
}

/* Takes the block. */
static void know(struct kafka_originals *o, struct kafka_original *w, enum state state, void *block,
	size_t bytes)
{
	w->state = state;
	w->used = ++o->clock;
	w->block = block;
	w->bytes += bytes;
	o->bytes += bytes;
	o->news = true;
}

static void gone(struct kafka_originals *o, struct kafka_original *w, const char *why)
{
	know(o, w, GONE, mem_strdup(why), strlen(why) + 1);
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
		if (!make_room(o, ORIGINALS)) /* of others that are still to come */
			return ORIGINAL_AWAY;
		w = want(o, place);
	}
	if (w->state < FOUND)
		return ORIGINAL_AWAY;
	w->used = ++o->clock;
	if (w->state == GONE) {
		*ret_why = w->block;
		return ORIGINAL_GONE;
	}
	*ret = w->message;
	return ORIGINAL_FOUND;
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

/* All that is still to come of the partition is wanted again, behind all others. */
static void stop(struct kafka_originals *o, int64_t pause_us)
{
	int64_t until = pause_us ? now_us() + pause_us : 0;
	struct slice name;

	if (!o->topic)
		return;
	if (o->started)
		rd_kafka_consume_stop(o->topic, o->partition);
	name = slice_str(rd_kafka_topic_name(o->topic));
	for (size_t i = 0; i < o->n; i++) {
		struct kafka_original *w = o->v[i];

		if (w->state >= FOUND || !same_partition(w, name, o->partition))
			continue;
		w->state = WANTED;
		w->used = ++o->clock;
		w->pause_until_us = until;
	}
	rd_kafka_topic_destroy(o->topic);
	o->topic = NULL;
	o->started = false;
}

/* All that are being read, from an offset on and below another. */
static void gone_between(struct kafka_originals *o, int64_t from, int64_t to, const char *why)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state == BEING_READ && o->v[i]->offset >= from && o->v[i]->offset < to)
			gone(o, o->v[i], why);
}

/* Begins, or goes on, at the first that is being read. What is queued is outdated by the stop. */
static void seek(struct kafka_originals *o)
{
	if (o->started)
		rd_kafka_consume_stop(o->topic, o->partition);
	o->started = true;
	o->next = next_read(o)->offset;
	o->heard_us = now_us();
	rd_kafka_consume_start_queue(o->topic, o->partition, o->next, o->queue);
}

static rd_kafka_resp_err_t partition_error(
	const struct rd_kafka_metadata_topic *topic, int32_t partition)
{
	for (int i = 0; i < topic->partition_cnt; i++) {
		const rd_kafka_metadata_partition_t *p = &topic->partitions[i];

		if (p->id != partition)
			continue;
		if (p->leader >= 0)
			return RD_KAFKA_RESP_ERR_NO_ERROR;
		return p->err ? p->err : RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
	}
	return RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

/* Whether the partition exists: librdkafka is silent about one that never comes to be, and about
 * one without a leader. */
static rd_kafka_resp_err_t look(struct kafka_originals *o)
{
	const struct rd_kafka_metadata *md;
	rd_kafka_resp_err_t code = rd_kafka_metadata(o->handle.rk, 0, o->topic, &md, KAFKA_TURN_MS);

	if (code)
		return code;
	code = md->topic_cnt == 1 ? md->topics[0].err : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
	if (!code)
		code = partition_error(&md->topics[0], o->partition);
	rd_kafka_metadata_destroy(md);
	if (code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
		code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
		code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
		gone_between(o, 0, INT64_MAX, "there is no such topic or partition");
		code = RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	return code;
}

/*
 * What is outside of the log cannot be read. An end as fetching tells it is not believed: it may
 * be older than the wish, and a new leader's high watermark lags; ListOffsets is refused for as
 * long as it does (KIP-207).
 */
static rd_kafka_resp_err_t look_at_bounds(struct kafka_originals *o, int64_t until_us)
{
	const char *topic = rd_kafka_topic_name(o->topic);
	int64_t low, high;
	rd_kafka_resp_err_t code = kafka_list_offset(&o->handle, topic, o->partition,
		RD_KAFKA_OFFSET_BEGINNING, (int)((until_us - now_us()) / 1000), &low);

	if (!code)
		code = kafka_list_offset(&o->handle, topic, o->partition, RD_KAFKA_OFFSET_END,
			(int)((until_us - now_us()) / 1000), &high);
	if (code)
		return code;
	gone_between(o, 0, low, "the partition no longer holds it");
	gone_between(o, high, INT64_MAX, "the partition ends before it");
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* What is wrong with the partition as a whole. With ACLs Kafka says of a topic that does not exist,
 * too, that it may not be read: to wait would be for ever. */
static void trouble(struct kafka_originals *o, rd_kafka_resp_err_t code)
{
	const char *topic = rd_kafka_topic_name(o->topic);
	char why[384]; /* a name has 249 at most */

	if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
		snprintf(why, sizeof(why),
			"topic %s may not be read: grant Read on it and rewind the dead-letter "
			"topic",
			topic);
		kafka_report(o->handle.shared, 'W', "dead letters point to it: %s", why);
		gone_between(o, 0, INT64_MAX, why);
	} else {
		kafka_report(o->handle.shared, 'W',
			"%s [%d], to which dead letters point, cannot be read for now: %s", topic,
			o->partition, rd_kafka_err2str(code));
	}
	stop(o, PAUSE_US);
}

/* The wanted one that waits longest and need not pause; NULL: none. */
static const struct kafka_original *first_wanted(const struct kafka_originals *o)
{
	const struct kafka_original *best = NULL;
	int64_t now = now_us();

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state == WANTED && o->v[i]->pause_until_us <= now &&
			(!best || o->v[i]->used < best->used))
			best = o->v[i];
	return best;
}

static void take_up(struct kafka_originals *o, const struct kafka_original *first)
{
	o->topic = rd_kafka_topic_new(o->handle.rk, first->topic, NULL);
	o->partition = first->partition;
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i]->state == WANTED &&
			same_partition(o->v[i], slice_str(first->topic), first->partition))
			o->v[i]->state = BEING_READ;
}

/* All that are wanted now of one partition. What is wanted later waits for the next start: an end
 * of the partition that is queued by then says nothing of it. */
static void start(struct kafka_originals *o)
{
	const struct kafka_original *first = first_wanted(o);
	int64_t begun = now_us();
	rd_kafka_resp_err_t code;

	if (!first)
		return;
	take_up(o, first);
	code = look(o);
	if (!code && next_read(o))
		code = look_at_bounds(o, begun + KAFKA_TURN_MS * 1000ll);
	if (code) {
		trouble(o, code);
		o->pause_until_us = 2 * now_us() - begun; /* others get half of the time */
	} else if (next_read(o)) {
		seek(o);
	} else {
		stop(o, 0);
	}
}

/* --- what comes --- */

static uint8_t *move(uint8_t *to, struct slice *s)
{
	if (slice_is_null(*s))
		return to;
	if (s->n)
		memcpy(to, s->p, s->n);
	s->p = to;
	return to + s->n;
}

/* Makes *m point into one new block. A message of librdkafka's would keep a whole response. */
static void *copy_message(struct log_message *m, size_t *ret_n)
{
	size_t n = m->n_headers * sizeof(*m->headers), total = n + m->key.n + m->value.n;
	struct header *headers;
	uint8_t *to;

	for (size_t i = 0; i < m->n_headers; i++)
		total += m->headers[i].key.n + m->headers[i].value.n;
	headers = mem_zalloc(total);
	if (n)
		memcpy(headers, m->headers, n);
	m->headers = headers;
	to = move(move((uint8_t *)headers + n, &m->key), &m->value);
	for (size_t i = 0; i < m->n_headers; i++)
		to = move(move(to, &headers[i].key), &headers[i].value);
	*ret_n = total;
	return headers;
}

static void found(struct kafka_originals *o, struct kafka_original *w, rd_kafka_message_t *m)
{
	size_t n;
	void *block;

	w->message = (struct log_message){.partition = m->partition,
		.offset = m->offset,
		.timestamp_ms = rd_kafka_message_timestamp(m, NULL),
		.key = slice_of(m->key, m->key_len),
		.value = slice_of(m->payload, m->len)};
	kafka_message_headers(o->handle.shared, &o->scratch, m, &w->message);
	block = copy_message(&w->message, &n);
	know(o, w, FOUND, block, n);
	arena_reset(&o->scratch);
}

static void take_record(struct kafka_originals *o, rd_kafka_message_t *m)
{
	struct kafka_original *w;

	if (m->offset < o->next)
		return;
	o->next = m->offset + 1;
	o->heard_us = now_us();
	gone_between(o, 0, m->offset, "there is no record any more");
	w = next_read(o);
	if (w && w->offset == m->offset)
		found(o, w, m);
}

static void take_error(struct kafka_originals *o, const rd_kafka_message_t *m)
{
	switch ((int)m->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF: /* what is behind it is still to come: see start */
		if (m->offset >= o->next)
			gone_between(o, 0, m->offset, "there is no record any more");
		return;
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE: /* the bounds have moved */
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC: /* to be looked at */
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		trouble(o, m->err);
		return;
	default: /* librdkafka tries again */
		return;
	}
}

static void take(struct kafka_originals *o, rd_kafka_message_t *m)
{
	const struct kafka_original *next;
	bool ours = m->partition == o->partition && m->rkt &&
		    strcmp(rd_kafka_topic_name(m->rkt), rd_kafka_topic_name(o->topic)) == 0;

	if (ours && m->err)
		take_error(o, m);
	else if (ours)
		take_record(o, m);
	rd_kafka_message_destroy(m);
	if (!o->topic)
		return;
	next = next_read(o);
	if (!next || is_heavy(o))
		stop(o, 0);
	else if (next->offset - o->next > GAP_RECORDS)
		seek(o);
}

static void give_up_what_stalls(struct kafka_originals *o)
{
	int64_t limit = first_wanted(o) ? STALL_US : STALL_ALONE_US;

	if (o->topic && now_us() - o->heard_us > limit)
		trouble(o, RD_KAFKA_RESP_ERR__TIMED_OUT);
}

static void ask_again(struct kafka_originals *o)
{
	if (!o->ask_again_us || now_us() < o->ask_again_us)
		return;
	o->ask_again_us = 0;
	o->news = true;
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
	if (make_room(o, SIZE_MAX) && !o->topic && now_us() >= o->pause_until_us)
		start(o);
	for (size_t i = 0; o->topic && i < POP_RECORDS; i++) {
		m = rd_kafka_consume_queue(o->queue, o->news ? 0 : timeout_ms);
		if (!m)
			break;
		take(o, m);
	}
	give_up_what_stalls(o);
	ask_again(o);
	*ret_news = o->news;
	o->news = false;
	return 0;
}

void kafka_originals_close(struct kafka_originals *o)
{
	stop(o, 0);
	while (o->n)
		drop(o, o->n - 1);
	free(o->v);
	arena_free(&o->scratch);
	if (o->queue)
		rd_kafka_queue_destroy(o->queue);
	kafka_handle_close(&o->handle);
	*o = (struct kafka_originals){0};
}

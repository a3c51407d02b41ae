#include "kafka_fetcher.h"

#include <stdio.h>
#include <stdlib.h>

/* Beyond this a record's headers are not what they claim to be. */
#define HEADERS_MAX 10000

#define FETCH_BYTES (2 * 1024 * 1024)

int kafka_fetcher_open(struct kafka_fetcher *f, struct kafka_shared *s,
	const struct kafka_fetch_tuning *tuning, struct err *err)
{
	char bytes[16], records[16], kib[16];
	const struct kafka_pair defaults[] = {
		{"fetch.wait.max.ms", tuning->wait_ms},
		{"fetch.error.backoff.ms", "100"},
		{"fetch.max.bytes", bytes},
		{"fetch.message.max.bytes", tuning->partition_bytes},
		{"queued.min.messages", records},
		{"queued.max.messages.kbytes", kib},
		{NULL, NULL},
	};
	const struct kafka_pair fixed[] = {
		{"isolation.level", "read_committed"},
		{"enable.auto.commit", "false"},
		{"enable.auto.offset.store", "false"},
		{"enable.partition.eof", "true"},
		{"auto.offset.reset", "error"},
		{"check.crcs", "true"},
		{NULL, NULL},
	};
	rd_kafka_conf_t *conf;
	int r;

	if (f->handle.rk)
		return 0;
	snprintf(bytes, sizeof(bytes), "%d",
		s->config->message_max_bytes > FETCH_BYTES ? s->config->message_max_bytes
							   : FETCH_BYTES);
	snprintf(records, sizeof(records), "%d", tuning->queued_records);
	snprintf(kib, sizeof(kib), "%d", tuning->queued_kib);
	r = kafka_conf_new(s, defaults, fixed, &conf, err);
	if (!r)
		r = kafka_handle_open(&f->handle, s, tuning->role, RD_KAFKA_CONSUMER, conf, err);
	if (r)
		return r;
	f->queue = rd_kafka_queue_new(f->handle.rk);
	f->queued_records = tuning->queued_records;
	f->queued_kib = tuning->queued_kib;
	f->topics = mem_zalloc(s->config->n_topics * sizeof(rd_kafka_topic_t *));
	f->slots = mem_zalloc(s->config->n_topics * sizeof(*f->slots));
	return 0;
}

void kafka_fetcher_close(struct kafka_fetcher *f)
{
	if (!f->handle.rk)
		return;
	kafka_fetcher_stop_all(f);
	for (size_t i = 0; i < f->handle.shared->config->n_topics; i++) {
		if (f->topics[i])
			rd_kafka_topic_destroy(f->topics[i]);
		free(f->slots[i].v);
	}
	free(f->topics);
	free(f->slots);
	rd_kafka_queue_destroy(f->queue);
	kafka_handle_close(&f->handle);
	*f = (struct kafka_fetcher){0};
}

static rd_kafka_topic_t *topic_of(struct kafka_fetcher *f, int number)
{
	rd_kafka_topic_conf_t *conf;

	if (!f->topics[number]) {
		conf = rd_kafka_default_topic_conf_dup(f->handle.rk);
		rd_kafka_topic_conf_set_opaque(conf, (void *)(intptr_t)number);
		f->topics[number] = rd_kafka_topic_new(
			f->handle.rk, f->handle.shared->config->topics[number], conf);
	}
	return f->topics[number];
}

static struct kafka_slot *slot_of(struct kafka_fetcher *f, int topic, int32_t partition)
{
	struct kafka_slots *s = &f->slots[topic];
	int32_t n = s->n;

	if (partition >= n) {
		s->n = partition + 1;
		s->v = mem_realloc(s->v, (size_t)s->n * sizeof(*s->v));
		memset(s->v + n, 0, (size_t)(s->n - n) * sizeof(*s->v));
	}
	return &s->v[partition];
}

int kafka_fetcher_start(struct kafka_fetcher *f, int topic, int32_t partition, int64_t from,
	int64_t to, struct err *err)
{
	rd_kafka_topic_t *rkt = topic_of(f, topic);
	struct kafka_slot *slot = slot_of(f, topic, partition);

	if (slot->started)
		return err_set(err, ERR_INTERNAL, "%s [%d] is being fetched already",
			f->handle.shared->config->topics[topic], partition);
	if (!rkt || rd_kafka_consume_start_queue(rkt, partition, from, f->queue) == -1)
		return err_set(err, ERR_INTERNAL, "fetching %s [%d] from offset %lld: %s",
			f->handle.shared->config->topics[topic], partition, (long long)from,
			rd_kafka_err2str(rd_kafka_last_error()));
	*slot = (struct kafka_slot){.next = from, .to = to, .started = true};
	f->n_started++;
	return 0;
}

static void forget_trouble(struct kafka_fetcher *f, struct kafka_slot *slot)
{
	f->n_troubled -= slot->trouble ? 1 : 0;
	slot->trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void stop(struct kafka_fetcher *f, int topic, int32_t partition)
{
	struct kafka_slot *slot = &f->slots[topic].v[partition];

	rd_kafka_consume_stop(f->topics[topic], partition);
	forget_trouble(f, slot);
	slot->started = false;
	f->n_started--;
}

int kafka_fetcher_move(
	struct kafka_fetcher *f, int topic, int32_t partition, int64_t from, struct err *err)
{
	int64_t to = f->slots[topic].v[partition].to;

	stop(f, topic, partition);
	return from < to ? kafka_fetcher_start(f, topic, partition, from, to, err) : 0;
}

/* The partition after *pos that is being fetched, in the order of topics; false: none. */
static bool next_started(struct kafka_fetcher *f, struct log_position *pos)
{
	for (; pos->topic < (int)f->handle.shared->config->n_topics; pos->topic++) {
		while (++pos->partition < f->slots[pos->topic].n)
			if (f->slots[pos->topic].v[pos->partition].started)
				return true;
		pos->partition = -1;
	}
	return false;
}

void kafka_fetcher_stop_all(struct kafka_fetcher *f)
{
	struct log_position pos = {0, -1, -1};

	while (f->n_started && next_started(f, &pos))
		stop(f, pos.topic, pos.partition);
}

void kafka_message_headers(
	struct kafka_shared *s, struct arena *arena, rd_kafka_message_t *m, struct log_message *ret)
{
	rd_kafka_headers_t *headers;
	rd_kafka_resp_err_t code = rd_kafka_message_headers(m, &headers);
	const char *name;
	const void *value;
	size_t n, size;

	if (code == RD_KAFKA_RESP_ERR__NOENT)
		return;
	n = code ? 0 : rd_kafka_header_cnt(headers);
	if (code || n > HEADERS_MAX) {
		kafka_report(s, 'W',
			"%s [%d] offset %lld: its headers cannot be read and are left out",
			rd_kafka_topic_name(m->rkt), m->partition, (long long)m->offset);
		return;
	}
	ret->headers = arena_alloc(arena, n * sizeof(*ret->headers));
	while (ret->n_headers < n &&
		!rd_kafka_header_get_all(headers, ret->n_headers, &name, &value, &size))
		ret->headers[ret->n_headers++] = (struct header){
			.key = slice_str(name), .value = slice_of(value, value ? size : 0)};
}

static void fill(struct kafka_fetcher *f, struct arena *arena, rd_kafka_message_t *m, int topic,
	struct log_message *ret)
{
	*ret = (struct log_message){
		.topic = topic,
		.partition = m->partition,
		.offset = m->offset,
		.timestamp_ms = rd_kafka_message_timestamp(m, NULL),
		.key = slice_of(m->key, m->key_len),
		.value = slice_of(m->payload, m->len),
		.owner = m,
	};
	/* Those of our own records are for people, and nobody reads them back. */
	if (topic != TOPIC_DLQ && topic != TOPIC_PARKED)
		kafka_message_headers(f->handle.shared, arena, m, ret);
}

static void note_trouble(struct kafka_fetcher *f, struct kafka_slot *slot, rd_kafka_resp_err_t code)
{
	forget_trouble(f, slot);
	slot->trouble = code;
	f->n_troubled++;
	slot->broken = kafka_err_class(code) != ERR_UNREACHABLE; /* librdkafka tries those again */
}

static int fail_at(struct kafka_fetcher *f, struct log_position at, struct err *err)
{
	struct kafka_slot *slot = &f->slots[at.topic].v[at.partition];
	enum err_class class = kafka_err_class(slot->trouble);

	at.offset = slot->next;
	f->trouble_at = at;
	err_set(err, class, "%s [%d] offset %lld: %s", f->handle.shared->config->topics[at.topic],
		at.partition, (long long)at.offset,
		class == ERR_RANGE ? "the log does not hold this offset"
				   : rd_kafka_err2str(slot->trouble));
	forget_trouble(f, slot);
	return class;
}

static int give_trouble(struct kafka_fetcher *f, struct err *err)
{
	struct log_position at = {0, -1, -1};

	while (next_started(f, &at))
		if (f->slots[at.topic].v[at.partition].trouble)
			return fail_at(f, at, err);
	return 0;
}

/* True where m is a record to give out; then *ret has taken it over. */
static bool accept_record(struct kafka_fetcher *f, struct arena *arena, rd_kafka_message_t *m,
	int topic, struct kafka_slot *slot, struct log_message *ret)
{
	if (m->offset < slot->next)
		return false;
	if (m->offset >= slot->to) {
		slot->next = slot->to;
		return false;
	}
	fill(f, arena, m, topic, ret);
	slot->next = m->offset + 1;
	return true;
}

/* The end of the partition for a reader that sees only what is committed: past aborted records and
 * control records, which never come out as messages. */
static bool accept_end(
	rd_kafka_message_t *m, int topic, struct kafka_slot *slot, struct log_message *ret)
{
	if (m->offset <= slot->next)
		return false;
	slot->next = m->offset;
	*ret = (struct log_message){.topic = topic,
		.partition = m->partition,
		.offset = m->offset,
		.timestamp_ms = -1,
		.position_only = true};
	return slot->to == KAFKA_NO_END;
}

/* Takes m over. True where *ret is set. */
static bool accept_message(struct kafka_fetcher *f, struct arena *arena, rd_kafka_message_t *m,
	struct log_message *ret)
{
	int topic = m->rkt ? (int)(intptr_t)rd_kafka_topic_opaque(m->rkt) : -1;
	struct kafka_slot *slot = topic >= 0 ? slot_of(f, topic, m->partition) : NULL;
	bool given = false;

	if (!slot)
		kafka_report(f->handle.shared, 'W', "%s: %s", f->handle.role,
			rd_kafka_message_errstr(m));
	else if (slot->started && !slot->broken) {
		if (!m->err)
			given = accept_record(f, arena, m, topic, slot, ret);
		else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			given = accept_end(m, topic, slot, ret);
		else
			note_trouble(f, slot, m->err);
		if (slot->next >= slot->to)
			stop(f, topic, m->partition);
	}
	if (!given || ret->position_only)
		rd_kafka_message_destroy(m);
	return given;
}

/*
 * Once librdkafka 2.0.2 has enough queued, it looks again only after up to a second
 * (rdkafka_fetcher.c, fetch_decide: "indefinite backoff"; later versions have
 * fetch.queue.backoff.ms). A seek to where we are wakes it. It drops what is on its way, so it is
 * done only where that has probably happened.
 */
static void wake_fetching(struct kafka_fetcher *f)
{
	struct log_position pos = {0, -1, -1};

	if (f->run_records >= f->queued_records / 2 ||
		f->run_bytes >= (int64_t)f->queued_kib * 1024 / 2)
		while (next_started(f, &pos))
			rd_kafka_seek(f->topics[pos.topic], pos.partition,
				f->slots[pos.topic].v[pos.partition].next, 0);
	f->run_records = f->run_bytes = 0;
}

static size_t pop_at_once(struct kafka_fetcher *f, size_t from, size_t max)
{
	ssize_t n = rd_kafka_consume_batch_queue(f->queue, 0, f->popped + from, max - from);

	return n > 0 ? (size_t)n : 0;
}

/* librdkafka waits until the array is full; we want what is there, or else the first to come. */
static size_t pop(struct kafka_fetcher *f, size_t max, int timeout_ms)
{
	size_t n = pop_at_once(f, 0, max);

	if (n == 0) {
		wake_fetching(f);
		if (timeout_ms > 0 &&
			rd_kafka_consume_batch_queue(f->queue, timeout_ms, f->popped, 1) == 1)
			n = 1 + pop_at_once(f, 1, max);
	}
	for (size_t i = 0; i < n; i++)
		f->run_bytes += (int64_t)(f->popped[i]->len + f->popped[i]->key_len);
	f->run_records += (int64_t)n;
	return n;
}

int kafka_fetcher_take(struct kafka_fetcher *f, struct arena *arena, struct log_message *v,
	size_t max, int timeout_ms, size_t *ret_n, struct err *err)
{
	size_t popped;

	*ret_n = 0;
	kafka_handle_serve(&f->handle);
	/* What was before it in its partition has been given out by now. */
	if (f->n_troubled)
		return give_trouble(f, err);
	popped = pop(f, max < KAFKA_FETCH_MAX ? max : KAFKA_FETCH_MAX, timeout_ms);
	for (size_t i = 0; i < popped; i++)
		if (accept_message(f, arena, f->popped[i], &v[*ret_n]))
			(*ret_n)++;
	return *ret_n == 0 && f->n_troubled ? give_trouble(f, err) : 0;
}

#include "kafka_txn.h"

#include "clock.h"
#include "failpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CLEAN_COMMIT_US 2000000
#define FENCED_TWICE_US 60000000
#define POLL_MS 10
#define AHEAD 8

void kafka_txn_init(struct kafka_txn *t, struct kafka_shared *s)
{
	const char *instance = s->config->instance_id;
	char random[24];
	struct buf id = {0};

	snprintf(random, sizeof(random), "%016" PRIx64, clock_random(clock_system()));
	buf_printf(&id, "%s.%s", s->config->group_id, instance ? instance : random);
	*t = (struct kafka_txn){.shared = s, .transactional_id = (char *)id.p};
}

static int64_t steady_us(void)
{
	return clock_steady_us(clock_system());
}

static void close_producer(struct kafka_txn *t)
{
	if (!t->handle.rk)
		return;
	/* Nothing more of it is to be sent while it is taken down. */
	rd_kafka_purge(t->handle.rk,
		RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
	for (size_t i = 0; i < t->shared->config->n_topics; i++)
		if (t->topics[i])
			rd_kafka_topic_destroy(t->topics[i]);
	free(t->topics);
	t->topics = NULL;
	kafka_handle_close(&t->handle);
	t->state = TXN_CLOSED;
}

void kafka_txn_free(struct kafka_txn *t)
{
	close_producer(t);
	free(t->transactional_id);
	t->transactional_id = NULL;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct kafka_txn *t = opaque;
	struct log_record *r;

	(void)rk;
	if (!t->records)
		return;
	r = &t->records[(uintptr_t)m->_private];
	if (m->err && !t->refused)
		t->refused = m->err;
	/* An idempotent producer that learns of a delivery by DUPLICATE_SEQUENCE_NUMBER does not
	 * learn the offset. */
	if (!m->err && m->offset >= 0) {
		r->offset = m->offset;
		t->n_reported++;
	}
}

static int open_producer(struct kafka_txn *t, struct err *err)
{
	const struct kafka_log_config *config = t->shared->config;
	char txn_ms[16], request_ms[16];
	const struct kafka_pair defaults[] = {
		{"compression.type", "lz4"},
		{"linger.ms", "5"},
		/* After CONCURRENT_TRANSACTIONS AddOffsetsToTxn waits that long, which with the
		 * default of 100 is most of a small transaction. */
		{"retry.backoff.ms", "20"},
		/* A whole batch is queued before the first record is sent. */
		{"queue.buffering.max.messages", "1000000"},
		{"queue.buffering.max.kbytes", "1048576"},
		{"socket.timeout.ms", request_ms},
		{"request.timeout.ms", request_ms},
		{NULL, NULL},
	};
	const struct kafka_pair fixed[] = {
		{"transactional.id", t->transactional_id},
		{"transaction.timeout.ms", txn_ms},
		{"enable.idempotence", "true"},
		{"acks", "all"},
		{NULL, NULL},
	};
	rd_kafka_conf_t *conf;
	int r;

	snprintf(txn_ms, sizeof(txn_ms), "%d", config->transaction_timeout_ms);
	/* Two tries fit in, so that the bounce of a broker need not end a transaction. */
	snprintf(request_ms, sizeof(request_ms), "%d", config->transaction_timeout_ms * 2 / 5);
	r = kafka_conf_new(t->shared, defaults, fixed, &conf, err);
	if (r)
		return r;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	r = kafka_handle_open(&t->handle, t->shared, "produce", RD_KAFKA_PRODUCER, conf, err);
	if (r)
		return r;
	t->topics = mem_zalloc(config->n_topics * sizeof(rd_kafka_topic_t *));
	t->state = TXN_STARTING;
	return 0;
}

/*
 * Who has fenced a static member, the coordinator after a time-out or its successor under the same
 * group.instance.id? The group says so within a heartbeat; a new producer would fence a successor.
 */
static bool group_may_know(const struct kafka_txn *t)
{
	const struct kafka_log_config *config = t->shared->config;

	return config->instance_id && t->fenced_us &&
	       steady_us() - t->fenced_us < 2000 * (int64_t)kafka_heartbeat_ms(config);
}

int kafka_txn_renew(struct kafka_txn *t, struct err *err)
{
	rd_kafka_error_t *error;
	int r = 0;

	if (group_may_know(t))
		return err_set(err, ERR_UNREACHABLE,
			"producer %s was fenced: waiting for what the group says of it",
			t->transactional_id);
	if (t->state == TXN_READY || t->state == TXN_SPENT)
		close_producer(t);
	if (t->state == TXN_CLOSED)
		r = open_producer(t, err);
	if (r)
		return r;
	error = rd_kafka_init_transactions(t->handle.rk, KAFKA_TURN_MS);
	kafka_handle_serve(&t->handle);
	if (!error) {
		t->state = TXN_READY;
		return 0;
	}
	/* After a time-out it goes on by itself, and the next call resumes it. */
	if (!rd_kafka_error_is_retriable(error))
		t->state = TXN_SPENT;
	return kafka_err_take(err, error, "starting producer %s", t->transactional_id);
}

static int left_ms(const struct kafka_txn *t)
{
	int64_t left = (t->deadline_us - steady_us()) / 1000;

	return left > 0 ? (int)left : 0;
}

static int fail(struct kafka_txn *t, rd_kafka_error_t *error, const char *what, struct err *err)
{
	t->failure = rd_kafka_error_code(error);
	return kafka_err_take(err, error, "%s", what);
}

static rd_kafka_error_t *produce_once(struct kafka_txn *t, size_t i)
{
	const struct log_record *r = &t->records[i];
	rd_kafka_headers_t *headers = r->n_headers ? rd_kafka_headers_new(r->n_headers) : NULL;
	rd_kafka_vu_t parts[] = {
		{.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = t->topics[r->topic]},
		{.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = r->partition},
		{.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)(uintptr_t)r->key.p, r->key.n}},
		{.vtype = RD_KAFKA_VTYPE_VALUE,
			.u.mem = {(void *)(uintptr_t)r->value.p, r->value.n}},
		{.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = (void *)(uintptr_t)i},
		{.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
	};
	rd_kafka_error_t *error;

	for (size_t h = 0; h < r->n_headers; h++)
		rd_kafka_header_add(headers, (const char *)r->headers[h].key.p,
			(ssize_t)r->headers[h].key.n, r->headers[h].value.p,
			(ssize_t)r->headers[h].value.n);
	error = rd_kafka_produceva(t->handle.rk, parts, ARRAY_LEN(parts) - (headers ? 0 : 1));
	if (error && headers)
		rd_kafka_headers_destroy(headers);
	return error;
}

static int produce_one(struct kafka_txn *t, size_t i, struct err *err)
{
	const struct log_record *r = &t->records[i];
	const char *topic = t->shared->config->topics[r->topic];
	rd_kafka_error_t *error;

	if (!t->topics[r->topic])
		t->topics[r->topic] = rd_kafka_topic_new(t->handle.rk, topic, NULL);
	error = produce_once(t, i);
	while (rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__QUEUE_FULL && left_ms(t)) {
		rd_kafka_error_destroy(error);
		rd_kafka_poll(t->handle.rk, POLL_MS);
		error = produce_once(t, i);
	}
	if (!error)
		return 0;
	t->failure = rd_kafka_error_code(error);
	return kafka_err_take(err, error, "writing %zu bytes with key %.*s to %s [%d]", r->value.n,
		SLICE_FMT(r->key), topic, r->partition);
}

static int produce(struct kafka_txn *t, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		/* The keys were read two batches ago. Measured: 2 % of the worker's CPU. */
		if (i + AHEAD < n)
			__builtin_prefetch(t->records[i + AHEAD].key.p);
		r = produce_one(t, i, err);
	}
	return r;
}

/* What librdkafka knows of a transaction that failed: its delivery reports say only "purged". */
static rd_kafka_error_t *cause_of_failure(struct kafka_txn *t)
{
	rd_kafka_resp_err_t code = rd_kafka_fatal_error(t->handle.rk, NULL, 0);
	rd_kafka_error_t *error;

	if (code)
		return rd_kafka_error_new(code, "%s", rd_kafka_err2str(code));
	/* Fails in every state of a transaction, with the error that ended it where one did. */
	error = rd_kafka_begin_transaction(t->handle.rk);
	if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR__STATE)
		return error;
	rd_kafka_error_destroy(error);
	code = t->refused ? t->refused : RD_KAFKA_RESP_ERR__TIMED_OUT;
	return rd_kafka_error_new(code, "%s", rd_kafka_err2str(code));
}

/* Waits for every delivery report. */
static int flush(struct kafka_txn *t, struct err *err)
{
	while (!t->refused && left_ms(t) && !rd_kafka_fatal_error(t->handle.rk, NULL, 0) &&
		rd_kafka_flush(t->handle.rk, POLL_MS) == RD_KAFKA_RESP_ERR__TIMED_OUT)
		;
	if (!t->refused && rd_kafka_outq_len(t->handle.rk) == 0)
		return 0;
	return fail(t, cause_of_failure(t), "writing the records", err);
}

/* Whether a call that may be repeated with the same arguments has to be. */
static bool try_again(struct kafka_txn *t, rd_kafka_error_t *error)
{
	if (!rd_kafka_error_is_retriable(error) || !left_ms(t))
		return false;
	rd_kafka_error_destroy(error);
	rd_kafka_poll(t->handle.rk, POLL_MS);
	return true;
}

static rd_kafka_topic_partition_list_t *offset_list(
	const struct kafka_txn *t, const struct log_position *v, size_t n)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)n);

	for (size_t i = 0; i < n; i++)
		rd_kafka_topic_partition_list_add(
			list, t->shared->config->topics[v[i].topic], v[i].partition)
			->offset = v[i].offset;
	return list;
}

static int send_offsets(struct kafka_txn *t, const struct log_position *v, size_t n,
	const rd_kafka_consumer_group_metadata_t *membership, struct err *err)
{
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_error_t *error;

	if (n == 0)
		return 0;
	if (!membership)
		return err_set(err, ERR_INTERRUPTED, "the group has taken the partitions back");
	/* Invalid ones would be left out in silence, and then nothing fences. */
	for (size_t i = 0; i < n; i++)
		if (v[i].offset < 0)
			return err_set(err, ERR_INTERNAL, "no offset to commit for %s [%d]",
				t->shared->config->topics[v[i].topic], v[i].partition);
	list = offset_list(t, v, n);
	do {
		error = rd_kafka_send_offsets_to_transaction(
			t->handle.rk, list, membership, left_ms(t));
	} while (try_again(t, error));
	rd_kafka_topic_partition_list_destroy(list);
	return error ? fail(t, error, "sending the offsets", err) : 0;
}

/*
 * rdkafka.h recommends a time-out of -1, which in 2.0.2 has no end. What it warns of, a handle out
 * of step, cannot matter to one that is not used again.
 */
static int commit(struct kafka_txn *t, struct err *err)
{
	rd_kafka_error_t *error;

	do {
		error = rd_kafka_commit_transaction(t->handle.rk, left_ms(t));
	} while (try_again(t, error));
	return error ? fail(t, error, "committing", err) : 0;
}

/* *ret_commit_us: when the commit was asked for. */
static int run(struct kafka_txn *t, size_t n, const struct log_position *offsets, size_t n_offsets,
	const rd_kafka_consumer_group_metadata_t *membership, int64_t *ret_commit_us,
	struct err *err)
{
	rd_kafka_error_t *error = rd_kafka_begin_transaction(t->handle.rk);
	int r = error ? fail(t, error, "beginning", err) : produce(t, n, err);

	if (!r)
		r = flush(t, err);
	if (r)
		return r;
	FAILPOINT("after-produce");
	r = send_offsets(t, offsets, n_offsets, membership, err);
	if (r)
		return r;
	FAILPOINT("after-send-offsets");
	*ret_commit_us = steady_us();
	r = commit(t, err);
	if (!r)
		FAILPOINT("after-kafka-commit");
	return r;
}

/*
 * What a transaction that did not land means for the process. librdkafka takes a transaction that
 * the coordinator ended for its time-out as fencing (KIP-588, librdkafka #3297); a new handle heals
 * that, but one that is fenced again at once has a rival.
 */
static int judge_failure(struct kafka_txn *t, int class, struct err *err)
{
	int64_t now_us = steady_us();
	bool again = t->fenced_us && now_us - t->fenced_us < FENCED_TWICE_US;

	if (class == ERR_FENCED && t->failure != RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID && !again) {
		t->fenced_us = now_us;
		class = 0;
	} else if (class == ERR_UNREACHABLE || class == ERR_INTERRUPTED) {
		class = 0;
	}
	if (!class)
		kafka_report(t->shared, 'W', "a transaction did not land: %s", err->text);
	return class;
}

int kafka_txn_run(struct kafka_txn *t, struct log_record *v, size_t n,
	const struct log_position *offsets, size_t n_offsets,
	const rd_kafka_consumer_group_metadata_t *membership, struct log_end *ret, struct err *err)
{
	int64_t commit_us = 0;
	int r;

	*ret = (struct log_end){0};
	for (size_t i = 0; i < n; i++)
		v[i].offset = -1;
	if (t->state != TXN_READY)
		return err_set(err, ERR_INTERNAL, "producer %s must be renewed first",
			t->transactional_id);
	t->records = v;
	t->n_reported = 0;
	t->refused = t->failure = RD_KAFKA_RESP_ERR_NO_ERROR;
	t->deadline_us = steady_us() + (int64_t)t->shared->config->transaction_timeout_ms * 1000;
	r = run(t, n, offsets, n_offsets, membership, &commit_us, err);
	kafka_handle_serve(&t->handle);
	t->records = NULL;
	ret->landed = !r && t->n_reported == n;
	/* librdkafka is silent about an error that repeats an earlier one within 30 s
	 * (rdkafka_broker.c, set_error): so an error event stains the handle for good. */
	ret->clean =
		ret->landed && t->handle.errors == 0 && steady_us() - commit_us < CLEAN_COMMIT_US;
	/* With its threads: they may still look at the values, which are not copied. */
	if (!ret->clean)
		close_producer(t);
	if (!r && !ret->landed)
		kafka_report(t->shared, 'W', "the offsets of %zu of %zu records are not known",
			n - t->n_reported, n);
	return r ? judge_failure(t, r, err) : 0;
}

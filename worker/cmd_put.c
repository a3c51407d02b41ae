/* put: dead-letters the reads on stdin, one "KEY<TAB>PAYLOAD" a line, into the first source. */
#include "command.h"
#include "kafka_admin.h"
#include "kafka_setup.h"
#include "record.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define FLUSH_MS 200

struct putting {
	const char *topic, *reason;
	struct kafka_handle handle;
	uint64_t lines, delivered, failed;
	struct err first; /* what the first failed delivery said */
};

static void on_delivered(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct putting *p = m->_private;

	(void)rk;
	(void)opaque;
	if (!m->err) {
		p->delivered++;
		return;
	}
	if (p->failed++ == 0)
		err_set(&p->first, kafka_err_class(m->err), "not delivered to %s: %s", p->topic,
			rd_kafka_err2str(m->err));
}

static int open_producer(struct putting *p, struct kafka_shared *shared, struct err *err)
{
	static const struct kafka_pair defaults[] = {
		{"linger.ms", "20"},
		{"message.timeout.ms", "30000"},
		/* The broker's limit is one of whole batches, and lower on some topics. */
		{"batch.size", "65536"},
		{NULL, NULL},
	};
	static const struct kafka_pair fixed[] = {
		{"enable.idempotence", "true"},
		{"acks", "all"},
		{"partitioner", "murmur2_random"},
		{NULL, NULL},
	};
	rd_kafka_conf_t *conf;
	int r = kafka_conf_new(shared, defaults, fixed, &conf, err);

	if (r)
		return r;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivered);
	return kafka_handle_open(&p->handle, shared, "put", RD_KAFKA_PRODUCER, conf, err);
}

static int produce(struct putting *p, struct slice key, struct slice payload, struct err *err)
{
	rd_kafka_resp_err_t e;

	do {
		e = rd_kafka_producev(p->handle.rk, RD_KAFKA_V_TOPIC(p->topic),
			RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
			RD_KAFKA_V_KEY(key.n ? key.p : NULL, key.n),
			RD_KAFKA_V_VALUE((void *)payload.p, payload.n),
			RD_KAFKA_V_HEADER("dlq-reason", p->reason, -1), RD_KAFKA_V_OPAQUE(p),
			RD_KAFKA_V_END);
		rd_kafka_poll(p->handle.rk, e == RD_KAFKA_RESP_ERR__QUEUE_FULL ? FLUSH_MS : 0);
	} while (e == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	if (e)
		return err_set(err, kafka_err_class(e), "line %llu: %s",
			(unsigned long long)p->lines, rd_kafka_err2str(e));
	return 0;
}

static int put_line(struct putting *p, struct slice line, struct err *err)
{
	const uint8_t *tab = line.n ? memchr(line.p, '\t', line.n) : NULL;
	size_t key;

	p->lines++;
	if (!tab)
		return err_set(err, ERR_CONFIG,
			"line %llu has no TAB between key and payload; what came before it was put",
			(unsigned long long)p->lines);
	key = (size_t)(tab - line.p);
	return produce(p, slice_of(line.p, key), slice_of(tab + 1, line.n - key - 1), err);
}

/* Puts the whole lines of text and drops them from it; at the end of input also a last part. */
static int put_lines(struct putting *p, struct buf *text, bool end, struct err *err)
{
	size_t at = 0;
	int r = 0;

	while (!r && at < text->n && p->failed == 0) {
		const uint8_t *from = text->p + at, *newline = memchr(from, '\n', text->n - at);

		if (!newline && !end)
			break;
		size_t n = newline ? (size_t)(newline - from) : text->n - at;
		r = put_line(p, slice_of(from, n), err);
		at += n + 1;
	}
	at = at < text->n ? at : text->n;
	if (at)
		memmove(text->p, text->p + at, text->n - at);
	text->n -= at;
	return r;
}

static int put_input(struct putting *p, struct err *err)
{
	CLEANUP(buf_free) struct buf text = {0};
	size_t n = 1;
	int r = 0;

	while (!r && n && p->failed == 0) {
		n = fread(buf_reserve(&text, 65536), 1, 65536, stdin);
		text.n += n;
		if (text.n > LINE_BYTES_MAX)
			return err_set(err, ERR_CONFIG, "line %llu is longer than %zu bytes",
				(unsigned long long)p->lines + 1, LINE_BYTES_MAX);
		r = put_lines(p, &text, n == 0, err);
	}
	if (!r && ferror(stdin))
		r = err_set(err, ERR_CONFIG, "reading stdin: %s", strerror(errno));
	return r;
}

/* Each message is delivered or fails within message.timeout.ms, so this ends. */
static void flush(struct putting *p)
{
	while (rd_kafka_outq_len(p->handle.rk) > 0)
		rd_kafka_poll(p->handle.rk, FLUSH_MS);
}

static int check_topic(const struct kafka_log_config *kafka, struct report *report,
	const char *topic, struct err *err)
{
	CLEANUP(kafka_admin_freep) struct kafka_admin *admin = NULL;
	int32_t n = 0;
	int r = kafka_admin_new(kafka, report, &admin, err);

	if (!r)
		r = kafka_admin_partitions(admin, topic, &n, err);
	if (!r && n == 0)
		r = err_set(
			err, ERR_CONFIG, "topic %s does not exist; run `meter-dlq init`", topic);
	return r;
}

static int check_reason(const char *reason, struct err *err)
{
	enum reason r;

	if (reason_parse(slice_str(reason), &r))
		return 0;
	return err_set(err, ERR_CONFIG,
		"--reason: \"%.60s\" is none of retries_exhausted, permanent_4xx, poison", reason);
}

static int put(struct putting *p, struct kafka_shared *shared, struct err *err)
{
	int r = open_producer(p, shared, err);

	if (r)
		return r;
	r = put_input(p, err);
	flush(p);
	kafka_handle_close(&p->handle);
	say("%llu dead letters put to %s", (unsigned long long)p->delivered, p->topic);
	if (!r && p->failed)
		r = err_set(err, p->first.class, "%s (%llu in all)", p->first.text,
			(unsigned long long)p->failed);
	return r;
}

int cmd_put(const struct config *config, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = {0};
	CLEANUP(report_freep) struct report *report = report_new(clock_system(), REPORT_COMMAND);
	struct kafka_log_config kafka;
	struct kafka_shared shared = {.config = &kafka, .report = report};
	struct putting p = {.topic = config->source_topics.v[0],
		.reason = config->reason ? config->reason : reason_name(REASON_RETRIES_EXHAUSTED)};
	int r = check_reason(p.reason, err);

	kafka_setup(&arena, config, &kafka);
	if (!r)
		r = check_topic(&kafka, report, p.topic, err);
	return r ? r : put(&p, &shared, err);
}

/* put: dead-letters the reads on stdin, one "KEY<TAB>PAYLOAD" a line, into the first source. */
#include "command.h"
#include "kafka_admin.h"
#include "kafka_producer.h"
#include "kafka_setup.h"
#include "record.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct putting {
	const char *topic, *reason;
	struct kafka_producer *producer;
	uint64_t lines;
};

static int produce(struct putting *p, struct slice key, struct slice payload, struct err *err)
{
	const struct header reason = {SLICE_LIT("dlq-reason"), slice_str(p->reason)};
	int r = kafka_producer_send(p->producer, p->topic, -1, key, payload, &reason, 1, err);

	return r ? err_prefix(err, "line %llu", (unsigned long long)p->lines) : 0;
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

	while (!r && at < text->n && !kafka_producer_failed(p->producer)) {
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

	while (!r && n && !kafka_producer_failed(p->producer)) {
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

static int put(struct putting *p, struct err *err)
{
	struct err not_delivered = {0};
	uint64_t delivered;
	int r = put_input(p, err);
	int flushed = kafka_producer_flush(p->producer, &delivered, &not_delivered);

	say("%llu dead letters put to %s", (unsigned long long)delivered, p->topic);
	if (r || !flushed)
		return r;
	*err = not_delivered;
	return flushed;
}

int cmd_put(const struct config *config, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = {0};
	CLEANUP(report_freep) struct report *report = report_new(clock_system(), REPORT_COMMAND);
	CLEANUP(kafka_producer_freep) struct kafka_producer *producer = NULL;
	struct kafka_log_config kafka;
	struct putting p = {.topic = config->source_topics.v[0],
		.reason = config->reason ? config->reason : reason_name(REASON_RETRIES_EXHAUSTED)};
	int r = check_reason(p.reason, err);

	kafka_setup(&arena, config, &kafka);
	if (!r)
		r = check_topic(&kafka, report, p.topic, err);
	if (!r)
		r = kafka_producer_new(&kafka, report, &producer, err);
	p.producer = producer;
	return r ? r : put(&p, err);
}

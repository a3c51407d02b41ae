#include "topic_reader.h"

#include "loop.h"

#include <time.h>

#define CHUNK 1024
#define WAIT_MS 200L

/* How long nothing has moved. */
struct patience {
	struct topic_reader *reader;
	int64_t since_us;
};

static void renew(struct patience *p)
{
	p->since_us = clock_steady_us(p->reader->clock);
}

static bool spent(const struct patience *p)
{
	return clock_steady_us(p->reader->clock) - p->since_us > p->reader->patience_us;
}

/* Whether the call that returned r is to be made again, after a pause. */
static bool again(struct patience *p, int r)
{
	const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000};

	if (r != ERR_UNREACHABLE || spent(p))
		return false;
	nanosleep(&pause, NULL);
	return true;
}

int topic_reader_whole(struct topic_reader *t, int topic, int32_t partition, struct log_range *ret,
	struct err *err)
{
	struct patience p = {.reader = t};
	int r;

	*ret = (struct log_range){.topic = topic, .partition = partition};
	renew(&p);
	do
		r = t->log->ops->watermarks(t->log, topic, partition, &ret->from, &ret->to, err);
	while (again(&p, r));
	return r;
}

int topic_reader_whole_topic(
	struct topic_reader *t, int topic, int32_t n, struct log_range *ret, struct err *err)
{
	int r = 0;

	for (int32_t i = 0; i < n && !r; i++)
		r = topic_reader_whole(t, topic, i, &ret[i], err);
	return r;
}

int topic_reader_offset_at(struct topic_reader *t, int topic, int32_t partition,
	int64_t timestamp_ms, int64_t *ret, struct err *err)
{
	struct patience p = {.reader = t};
	int r;

	renew(&p);
	do
		r = t->log->ops->offset_at(t->log, topic, partition, timestamp_ms, ret, err);
	while (again(&p, r));
	return r;
}

int topic_reader_committed(
	struct topic_reader *t, struct log_position *v, size_t n, struct err *err)
{
	struct patience p = {.reader = t};
	int r;

	renew(&p);
	do
		r = t->log->ops->committed(t->log, v, n, err);
	while (again(&p, r));
	return r;
}

/* What is still to be read when nothing comes any more. */
static int stuck(struct topic_reader *t, struct err *err)
{
	return err_set(err, ERR_UNREACHABLE,
		"nothing could be read for %lld s: Kafka is away, or a transaction on %s, %s or %s "
		"is "
		"still open (see kafka-transactions.sh find-hanging)",
		(long long)(t->patience_us / 1000000), t->topics[TOPIC_DLQ], t->topics[TOPIC_INBOX],
		t->topics[TOPIC_PARKED]);
}

static int give(
	const struct log_message *v, size_t n, topic_reader_fn *fn, void *arg, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		if (!v[i].position_only)
			r = fn(arg, &v[i], err);
	return r;
}

int topic_reader_read(struct topic_reader *t, const struct log_range *v, size_t n,
	topic_reader_fn *fn, void *arg, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = {0};
	AUTO_FREE struct log_message *messages = mem_zalloc(CHUNK * sizeof(*messages));
	struct patience p = {.reader = t};
	bool done = false;
	size_t got = 0;
	int r = t->log->ops->read_start(t->log, v, n, err);

	renew(&p);
	while (!r && !done) {
		arena_reset(&arena);
		r = t->log->ops->read_next(
			t->log, &arena, messages, CHUNK, (int)WAIT_MS, &got, &done, err);
		if (again(&p, r)) {
			r = 0;
			continue;
		}
		if (!r)
			r = give(messages, got, fn, arg, err);
		t->log->ops->release(t->log, messages, got);
		if (got)
			renew(&p);
		else if (!r && !done && spent(&p))
			r = stuck(t, err);
	}
	return r;
}

int topic_reader_pass(struct topic_reader *t, const struct log_message *m, int r, struct err *err)
{
	const char *topic = t->topics[m->topic];
	struct notice foreign = {.level = 'W',
		.name = "foreign-record",
		.text = err->text,
		.at = {slice_str(topic), m->partition, m->offset, m->key}};

	if (r == ERR_DATA) {
		t->report->ops->event(t->report, &foreign);
		return 0;
	}
	if (r)
		err_prefix(err, "%s partition %d offset %lld", topic, m->partition,
			(long long)m->offset);
	return r;
}

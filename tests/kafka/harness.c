#include "harness.h"

#include "clock.h"
#include "loop.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *bootstrap(void)
{
	const char *servers = getenv("KAFKA_TEST_BOOTSTRAP");

	cr_assert_not_null(servers, "KAFKA_TEST_BOOTSTRAP is not set: host:port of a test broker");
	return servers;
}

static void print_event(struct report *r, const struct notice *e)
{
	(void)r;
	fprintf(stderr, "%d %c %s: %s\n", getpid(), e->level, e->name, e->text);
}
static const struct report_ops report_ops = {.event = print_event};
static struct report report = {.ops = &report_ops};

static int64_t steady_ms(void)
{
	return clock_steady_us(clock_system()) / 1000;
}

static rd_kafka_t *client_new(rd_kafka_type_t type, const char *transactional_id)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char text[256];
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap(), text, sizeof(text));
	if (type == RD_KAFKA_PRODUCER)
		rd_kafka_conf_set(conf, "linger.ms", "0", text, sizeof(text));
	if (transactional_id) {
		rd_kafka_conf_set(conf, "transactional.id", transactional_id, text, sizeof(text));
		rd_kafka_conf_set(conf, "transaction.timeout.ms", "60000", text, sizeof(text));
	}
	rk = rd_kafka_new(type, conf, text, sizeof(text));
	cr_assert_not_null(rk, "%s", text);
	return rk;
}

/* The broker answers for a topic somewhat later than the controller has created it. */
static void await_topic(rd_kafka_t *rk, const char *name)
{
	int64_t deadline = steady_ms() + WAIT_MS;
	rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, name, NULL);
	const struct rd_kafka_metadata *metadata;
	bool there = false;

	while (!there) {
		cr_assert_lt(steady_ms(), deadline, "waited for topic %s", name);
		if (rd_kafka_metadata(rk, 0, rkt, &metadata, WAIT_MS))
			continue;
		there = metadata->topics[0].err == 0 && metadata->topics[0].partition_cnt > 0;
		for (int i = 0; i < metadata->topics[0].partition_cnt; i++)
			there = there && metadata->topics[0].partitions[i].leader >= 0;
		rd_kafka_metadata_destroy(metadata);
	}
	rd_kafka_topic_destroy(rkt);
}

void topics_create(struct topics *t, int32_t partitions)
{
	static const char *const kinds[] = {"dlq", "inbox", "parked", "source"};
	rd_kafka_t *rk = client_new(RD_KAFKA_PRODUCER, NULL);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_NewTopic_t *new[TOPIC_COUNT];
	const rd_kafka_topic_result_t **results;
	unsigned unique = (unsigned)clock_random(clock_system());
	rd_kafka_event_t *event;
	char name[96], text[256];
	size_t n;

	t->partitions = partitions;
	snprintf(t->group_id, sizeof(t->group_id), "test-%08x", unique);
	for (int i = 0; i < TOPIC_COUNT; i++) {
		snprintf(name, sizeof(name), "test-%08x.%s", unique, kinds[i]);
		t->names[i] = mem_strdup(name);
		new[i] = rd_kafka_NewTopic_new(name, partitions, 1, text, sizeof(text));
	}
	rd_kafka_CreateTopics(rk, new, TOPIC_COUNT, NULL, queue);
	event = rd_kafka_queue_poll(queue, WAIT_MS);
	cr_assert_not_null(event, "no answer from %s", bootstrap());
	cr_assert_not(rd_kafka_event_error(event), "%s", rd_kafka_event_error_string(event));
	results =
		rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &n);
	for (size_t i = 0; i < n; i++)
		cr_assert_not(rd_kafka_topic_result_error(results[i]), "%s",
			rd_kafka_topic_result_error_string(results[i]));
	rd_kafka_event_destroy(event);
	for (int i = 0; i < TOPIC_COUNT; i++)
		await_topic(rk, t->names[i]);
	rd_kafka_NewTopic_destroy_array(new, TOPIC_COUNT);
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
}

void topics_free(struct topics *t)
{
	for (int i = 0; i < TOPIC_COUNT; i++)
		free(t->names[i]);
}

struct member *member_new(
	const struct topics *t, const char *instance_id, const struct config_setting *setting)
{
	struct member *m = mem_zalloc(sizeof(*m));

	m->config = (struct kafka_log_config){
		.bootstrap_servers = bootstrap(),
		.settings = setting,
		.n_settings = setting ? 1 : 0,
		.topics = (char **)(uintptr_t)t->names,
		.n_topics = TOPIC_COUNT,
		.group_id = t->group_id,
		.instance_id = instance_id,
		.transaction_timeout_ms = 15000,
		.session_timeout_ms = 6000,
		.message_max_bytes = 1200000,
	};
	cr_assert_eq(kafka_log_new(&m->config, &report, &m->log, &m->err), 0, "%s", m->err.text);
	return m;
}

void member_free(struct member *m)
{
	forget_got(m);
	arena_free(&m->arena);
	kafka_log_free(m->log);
	free(m);
}

enum group_event poll_once(struct member *m)
{
	enum group_event event;
	int r = m->log->ops->group_poll(m->log, 50, &event, &m->err);

	cr_assert_eq(r, 0, "%s", m->err.text);
	return event;
}

void await_event(struct member *m, enum group_event event)
{
	int64_t deadline = steady_ms() + WAIT_MS;
	enum group_event got = GROUP_NONE;

	while (got != event) {
		cr_assert_lt(steady_ms(), deadline, "waited for group event %d", event);
		got = poll_once(m);
		cr_assert(got == event || got == GROUP_NONE, "group event %d instead of %d", got,
			event);
	}
}

size_t join(struct member *m)
{
	const struct log_position *assigned;
	size_t n;

	await_event(m, GROUP_ASSIGNED);
	cr_assert_eq(m->log->ops->assignment(m->log, &assigned, &n, &m->err), 0, "%s", m->err.text);
	cr_assert_eq(m->log->ops->assign(m->log, NULL, 0, &m->err), 0, "%s", m->err.text);
	return n;
}

void assign_one(struct member *m, int topic, int32_t partition, int64_t offset)
{
	struct log_position p = {topic, partition, offset};

	cr_assert_eq(m->log->ops->assign(m->log, &p, 1, &m->err), 0, "%s", m->err.text);
}

void fetch_n(struct member *m, size_t n)
{
	int64_t deadline = steady_ms() + WAIT_MS;
	size_t more;

	while (m->n_got < n) {
		cr_assert_lt(steady_ms(), deadline, "%zu of %zu messages", m->n_got, n);
		cr_assert_eq(m->log->ops->fetch(m->log, &m->arena, m->got + m->n_got, n - m->n_got,
				     100, &more, &m->err),
			0, "%s", m->err.text);
		m->n_got += more;
	}
}

void read_range(struct member *m, int topic, int32_t partition, int64_t from, int64_t to)
{
	struct log_range range = {topic, partition, from, to};
	int64_t deadline = steady_ms() + WAIT_MS;
	bool done = false;
	size_t more;
	int r;

	cr_assert_eq(m->log->ops->read_start(m->log, &range, 1, &m->err), 0, "%s", m->err.text);
	while (!done) {
		cr_assert_lt(steady_ms(), deadline, "%zu messages, then no end", m->n_got);
		r = m->log->ops->read_next(m->log, &m->arena, m->got + m->n_got,
			MESSAGES_MAX - m->n_got, 100, &more, &done, &m->err);
		cr_assert(r == 0 || r == ERR_UNREACHABLE, "%s", m->err.text);
		m->n_got += more;
	}
}

void forget_got(struct member *m)
{
	m->log->ops->release(m->log, m->got, m->n_got);
	m->n_got = 0;
	arena_reset(&m->arena);
}

int64_t high_watermark(struct member *m, int topic, int32_t partition)
{
	int64_t low, high;

	cr_assert_eq(m->log->ops->watermarks(m->log, topic, partition, &low, &high, &m->err), 0,
		"%s", m->err.text);
	return high;
}

void await_high_watermark(struct member *m, int topic, int32_t partition, int64_t high)
{
	int64_t deadline = steady_ms() + WAIT_MS;

	while (high_watermark(m, topic, partition) < high)
		cr_assert_lt(
			steady_ms(), deadline, "waited for high watermark %lld", (long long)high);
	cr_assert_eq(high_watermark(m, topic, partition), high);
}

int64_t committed_offset(struct member *m, int topic, int32_t partition)
{
	struct log_position p = {topic, partition, -1};
	int64_t deadline = steady_ms() + WAIT_MS;
	int r;

	do {
		cr_assert_lt(steady_ms(), deadline, "%s", m->err.text);
		r = m->log->ops->committed(m->log, &p, 1, &m->err);
		cr_assert(r == 0 || r == ERR_UNREACHABLE, "%s", m->err.text);
	} while (r);
	return p.offset;
}

void renew(struct member *m)
{
	int64_t deadline = steady_ms() + WAIT_MS;
	int r;

	do {
		cr_assert_lt(steady_ms(), deadline, "%s", m->err.text);
		r = m->log->ops->renew_producer(m->log, &m->err);
		cr_assert(r == 0 || r == ERR_UNREACHABLE, "%s", m->err.text);
	} while (r);
}

int count_members(const struct topics *t)
{
	rd_kafka_t *rk = client_new(RD_KAFKA_PRODUCER, NULL);
	const struct rd_kafka_group_list *groups;
	rd_kafka_resp_err_t code = rd_kafka_list_groups(rk, t->group_id, &groups, WAIT_MS);
	int n;

	cr_assert_eq(code, 0, "%s", rd_kafka_err2str(code));
	cr_assert_eq(groups->group_cnt, 1);
	n = groups->groups[0].member_cnt;
	rd_kafka_group_list_destroy(groups);
	rd_kafka_destroy(rk);
	return n;
}

struct log_record record_of(int topic, int32_t partition, const char *key, const char *value)
{
	return (struct log_record){.topic = topic,
		.partition = partition,
		.key = slice_str(key),
		.value = slice_str(value)};
}

struct log_end transact(struct member *m, struct log_record *v, size_t n, int64_t offset)
{
	struct log_position next = {SOURCE, 0, offset};
	struct log_end end;

	cr_assert_eq(
		m->log->ops->transact(m->log, v, n, &next, 1, &end, &m->err), 0, "%s", m->err.text);
	return end;
}

void assert_text(struct slice s, const char *text)
{
	cr_assert(slice_eq(s, slice_str(text)), "%.*s instead of %s", SLICE_FMT(s), text);
}

static void assert_no_error(rd_kafka_error_t *error)
{
	cr_assert_null(error, "%s", rd_kafka_error_string(error));
}

rd_kafka_t *upstream_new(const char *transactional_id)
{
	rd_kafka_t *rk = client_new(RD_KAFKA_PRODUCER, transactional_id);

	if (transactional_id)
		assert_no_error(rd_kafka_init_transactions(rk, WAIT_MS));
	return rk;
}

void upstream_put(rd_kafka_t *rk, const char *topic, int32_t partition, struct slice key,
	struct slice value, rd_kafka_headers_t *headers)
{
	rd_kafka_resp_err_t code = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic),
		RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_KEY((void *)(uintptr_t)key.p, key.n),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)value.p, value.n),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		RD_KAFKA_V_HEADERS(headers ? headers : rd_kafka_headers_new(0)), RD_KAFKA_V_END);

	cr_assert_eq(code, 0, "%s", rd_kafka_err2str(code));
	cr_assert_eq(rd_kafka_flush(rk, WAIT_MS), 0);
}

void upstream_begin(rd_kafka_t *rk)
{
	assert_no_error(rd_kafka_begin_transaction(rk));
}

void upstream_commit(rd_kafka_t *rk)
{
	assert_no_error(rd_kafka_commit_transaction(rk, WAIT_MS));
}

void upstream_abort(rd_kafka_t *rk)
{
	assert_no_error(rd_kafka_abort_transaction(rk, WAIT_MS));
}

void upstream_fill(rd_kafka_t *rk, const char *topic, int32_t partition, int first, int n)
{
	for (int i = first; i < first + n; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%d", i);
		rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
			RD_KAFKA_V_KEY(key, strlen(key)), RD_KAFKA_V_VALUE((void *)"{}", 2),
			RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
	}
	cr_assert_eq(rd_kafka_flush(rk, WAIT_MS), 0);
}

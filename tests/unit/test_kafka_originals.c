/* Over librdkafka's mock cluster, with a clock that can be put forward. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

#include "kafka_originals.h"
#include "loop.h"

#include <librdkafka/rdkafka_mock.h>

#define SECOND 1000000ll
#define FETCH 1 /* the request's number */

static int64_t ahead_us;

static int64_t real_us(struct clock *c)
{
	struct timespec t;

	(void)c;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec / 1000 + ahead_us;
}

static uint64_t fake_random(struct clock *c)
{
	(void)c;
	return 4;
}

struct clock *clock_system(void)
{
	static const struct clock_ops ops = {real_us, real_us, fake_random};
	static struct clock clock = {&ops};

	return &clock;
}

static void fake_event(struct report *r, const struct notice *n)
{
	(void)r, (void)n;
}

static const struct report_ops report_ops = {.event = fake_event};
static struct report report = {&report_ops};
static struct kafka_log_config config = {.session_timeout_ms = 45000, .message_max_bytes = 1000000};
static struct kafka_shared shared = {.config = &config, .report = &report};
static rd_kafka_t *producer;
static rd_kafka_mock_cluster_t *cluster;
static struct kafka_originals o;

static void set_up(void)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char text[256];

	rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", text, sizeof(text));
	rd_kafka_conf_set(conf, "linger.ms", "0", text, sizeof(text));
	rd_kafka_conf_set(conf, "log_level", "0", text, sizeof(text));
	producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	cluster = rd_kafka_handle_mock_cluster(producer);
	config.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster);
	cr_assert_not(rd_kafka_mock_topic_create(cluster, "a", 2, 1));
	cr_assert_not(rd_kafka_mock_topic_create(cluster, "b", 1, 1));
}

static void tear_down(void)
{
	kafka_originals_close(&o);
	rd_kafka_destroy(producer);
}

TestSuite(kafka_originals, .init = set_up, .fini = tear_down, .timeout = 60);

static void append(const char *topic, int n, size_t header_bytes)
{
	static char header[20000];
	char value[16];

	for (int i = 0; i < n; i++) {
		snprintf(value, sizeof(value), "%d", i);
		cr_assert_not(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic),
			RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(value, strlen(value)),
			RD_KAFKA_V_HEADER("h", header, header_bytes),
			RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END));
	}
	cr_assert_not(rd_kafka_flush(producer, 10000));
}

static enum log_original find(
	const char *topic, int64_t offset, struct log_message *m, const char **why)
{
	struct origin place = {slice_str(topic), 0, offset};

	return kafka_originals_find(&o, &place, m, why);
}

static void step(void)
{
	struct err err;
	bool news;

	cr_assert_not(kafka_originals_step(&o, &shared, 10, &news, &err));
}

/* As long as it is away, for ten seconds of our clock at most. */
static enum log_original await(
	const char *topic, int64_t offset, struct log_message *m, const char **why)
{
	int64_t until = real_us(NULL) + 10 * SECOND;
	enum log_original state;

	while ((state = find(topic, offset, m, why)) == ORIGINAL_AWAY && real_us(NULL) < until)
		step();
	return state;
}

static void expect_found(const char *topic, int64_t offset)
{
	struct log_message m = {0};
	const char *why = "away";
	enum log_original state = await(topic, offset, &m, &why);

	cr_assert_eq(state, ORIGINAL_FOUND, "%s offset %lld: %s", topic, (long long)offset,
		state == ORIGINAL_GONE ? why : "away");
	cr_assert_eq(m.offset, offset);
}

static void expect_gone(const char *topic, int64_t offset, const char *expected)
{
	struct log_message m;
	const char *why;

	cr_assert_eq(await(topic, offset, &m, &why), ORIGINAL_GONE);
	cr_assert(strstr(why, expected), "%s", why);
}

Test(kafka_originals, an_end_from_before_what_is_wanted_was_written_makes_nothing_gone)
{
	int64_t n = 0;

	for (int i = 0; i < 50; i++) {
		append("a", 5, 1);
		n += 5;
		expect_found("a", n - 1);
	}
	expect_gone("a", n, "ends before it");
}

Test(kafka_originals, key_value_and_headers_are_copied_whole)
{
	struct log_message m;
	const char *why;

	append("a", 3, 7);
	expect_found("a", 2);
	cr_assert_eq(find("a", 2, &m, &why), ORIGINAL_FOUND);
	cr_expect(slice_is_null(m.key));
	cr_expect(slice_eq(m.value, SLICE_LIT("2")));
	cr_assert_eq(m.n_headers, 1);
	cr_expect(slice_eq(m.headers[0].key, SLICE_LIT("h")));
	cr_expect_eq(m.headers[0].value.n, 7);
}

Test(kafka_originals, headers_count_into_the_memory_that_is_bounded)
{
	size_t most = 0;

	append("a", 100, 20000);
	append("b", 200, 20000);
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < 150; i++) {
			expect_found(round % 2 ? "a" : "b", i % (round % 2 ? 100 : 200));
			most = o.bytes > most ? o.bytes : most;
		}
	cr_expect_gt(most, 100 * 20000);
	cr_expect_leq(most, 17u * 1024 * 1024);
}

Test(kafka_originals, a_partition_without_a_leader_keeps_no_other_waiting)
{
	struct log_message m;
	const char *why;

	append("a", 1, 1);
	append("b", 1, 1);
	rd_kafka_mock_partition_set_leader(cluster, "a", 0, -1);
	cr_assert_eq(find("a", 0, &m, &why), ORIGINAL_AWAY);
	expect_found("b", 0);
	cr_assert_eq(find("a", 0, &m, &why), ORIGINAL_AWAY);
	rd_kafka_mock_partition_set_leader(cluster, "a", 0, 1);
	ahead_us += 6 * SECOND;
	expect_found("a", 0);
}

/* The next ten, of whatever partition. */
static void refuse_fetches(rd_kafka_resp_err_t code)
{
	rd_kafka_mock_push_request_errors(
		cluster, FETCH, 10, code, code, code, code, code, code, code, code, code, code);
}

Test(kafka_originals, a_partition_that_gives_nothing_makes_way_for_others)
{
	struct log_message m;
	const char *why;

	append("a", 1, 1);
	append("b", 1, 1);
	refuse_fetches(RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR);
	cr_assert_eq(find("a", 0, &m, &why), ORIGINAL_AWAY);
	step();
	cr_assert_not_null(o.topic);
	cr_assert_eq(find("b", 0, &m, &why), ORIGINAL_AWAY);
	ahead_us += 6 * SECOND;
	step();
	cr_assert_null(o.topic);
	rd_kafka_mock_clear_request_errors(cluster, FETCH);
	expect_found("b", 0);
	ahead_us += 6 * SECOND;
	expect_found("a", 0);
}

Test(kafka_originals, more_that_cannot_be_read_than_there_is_room_keep_no_other_out)
{
	struct log_message m;
	const char *why;

	append("b", 1, 1);
	rd_kafka_mock_partition_set_leader(cluster, "a", 0, -1);
	for (int i = 0; i < 5000; i++)
		cr_assert_eq(find("a", i, &m, &why), ORIGINAL_AWAY);
	step();
	expect_found("b", 0);
}

Test(kafka_originals, a_topic_that_may_not_be_read_is_final_and_says_what_to_grant)
{
	append("a", 1, 1);
	append("b", 1, 1);
	rd_kafka_mock_topic_set_error(cluster, "a", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	expect_gone("a", 0,
		"topic a may not be read: grant Read on it and rewind the dead-letter topic");
	expect_found("b", 0);
}

Test(kafka_originals, the_right_to_describe_a_topic_is_not_enough_and_just_as_final)
{
	append("a", 1, 1);
	refuse_fetches(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	expect_gone("a", 0, "topic a may not be read: grant Read on it");
}

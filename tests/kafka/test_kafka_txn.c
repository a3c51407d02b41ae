#include "harness.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(kafka_txn, .timeout = 120);

Test(kafka_txn, a_large_transaction_comes_back_in_order_from_all_its_partitions)
{
	enum { N = 3000 };
	struct topics t;
	struct member *m;
	struct log_record *v = mem_zalloc(N * sizeof(*v));
	char(*keys)[16] = mem_zalloc(N * sizeof(*keys));
	struct log_range ranges[4];
	int64_t last[2][2] = {{-1, -1}, {-1, -1}};
	const struct header reason = {SLICE_LIT("dlq-reason"), SLICE_LIT("poison")};
	bool done = false;
	size_t n, total = 0;

	topics_create(&t, 2);
	m = member_new(&t, NULL, NULL);
	renew(m);
	for (int i = 0; i < N; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%d", i);
		v[i] = record_of(i % 4 < 2 ? TOPIC_DLQ : TOPIC_PARKED, i % 2, keys[i], "v");
		v[i].headers = &reason;
		v[i].n_headers = 1;
	}
	cr_assert_eq(
		m->log->ops->transact(m->log, v, N, NULL, 0, &(struct log_end){0}, &m->err), 0);
	for (int i = 0; i < 4; i++) {
		ranges[i] =
			(struct log_range){i < 2 ? TOPIC_DLQ : TOPIC_PARKED, i % 2, 0, N / 4 + 1};
		await_high_watermark(m, ranges[i].topic, i % 2, N / 4 + 1);
	}
	cr_assert_eq(m->log->ops->read_start(m->log, ranges, 4, &m->err), 0);
	while (!done) {
		cr_assert_eq(m->log->ops->read_next(m->log, &m->arena, m->got, MESSAGES_MAX, 100,
				     &m->n_got, &done, &m->err),
			0, "%s", m->err.text);
		for (n = 0; n < m->n_got; n++) {
			const struct log_message *got = &m->got[n];
			int64_t *before = &last[got->topic != TOPIC_DLQ][got->partition];
			int64_t i = 4 * got->offset + (got->topic == TOPIC_DLQ ? 0 : 2) +
				    got->partition;

			cr_assert_eq(got->offset, *before + 1);
			*before = got->offset;
			cr_assert_eq(v[i].offset, got->offset);
			assert_text(got->key, keys[i]);
			cr_assert_eq(got->n_headers, 0, "nobody reads those back");
		}
		total += m->n_got;
		forget_got(m);
	}
	cr_assert_eq(total, N);

	free(v);
	free(keys);
	member_free(m);
	topics_free(&t);
}

/* One of the bootstrap servers does not answer, and all are connected to at once. */
Test(kafka_txn, an_error_event_makes_an_end_unclean_though_it_landed)
{
	static const struct config_setting eager = {
		.name = "enable.sparse.connections", .value = "false"};
	struct topics t;
	struct member *m;
	struct log_record v = record_of(TOPIC_DLQ, 0, "k", "v");
	struct log_end end;
	struct buf servers = {0};

	topics_create(&t, 1);
	m = member_new(&t, NULL, &eager);
	buf_printf(&servers, "127.0.0.1:1,%s", m->config.bootstrap_servers);
	m->config.bootstrap_servers = (const char *)servers.p;
	renew(m);
	cr_assert_eq(m->log->ops->transact(m->log, &v, 1, NULL, 0, &end, &m->err), 0);
	cr_assert(end.landed);
	cr_assert_not(end.clean);

	member_free(m);
	buf_free(&servers);
	topics_free(&t);
}

/* Two processes under one name; the second one does not know of the first. */
Test(kafka_txn, a_renewed_producer_fences_its_predecessor_and_a_second_fencing_is_final)
{
	struct topics t;
	struct member *first, *second;
	struct log_record v = record_of(TOPIC_DLQ, 0, "k", "v");
	struct log_end end;

	topics_create(&t, 1);
	first = member_new(&t, "one", NULL);
	second = member_new(&t, "one", NULL);
	renew(first);
	renew(second);
	cr_assert_eq(first->log->ops->transact(first->log, &v, 1, NULL, 0, &end, &first->err), 0,
		"%s", first->err.text);
	cr_assert_not(end.landed, "fenced");
	cr_assert_not(end.clean);
	cr_assert_eq(first->log->ops->transact(first->log, &v, 1, NULL, 0, &end, &first->err),
		ERR_INTERNAL, "not before it is renewed");

	renew(first);
	cr_assert_eq(first->log->ops->transact(first->log, &v, 1, NULL, 0, &end, &first->err), 0);
	cr_assert(end.landed, "once, renewing heals it: %s", first->err.text);
	renew(second);
	cr_assert_eq(first->log->ops->transact(first->log, &v, 1, NULL, 0, &end, &first->err),
		ERR_FENCED);
	cr_assert_not(end.landed);

	member_free(first);
	member_free(second);
	topics_free(&t);
}

Test(kafka_txn, an_offset_that_is_none_is_refused)
{
	struct topics t;
	struct member *m;
	struct log_position none = {SOURCE, 0, -1};
	struct log_end end = {true, true};

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	join(m);
	renew(m);
	cr_assert_eq(m->log->ops->transact(m->log, NULL, 0, &none, 1, &end, &m->err), ERR_INTERNAL);
	cr_assert_not(end.landed || end.clean);

	member_free(m);
	topics_free(&t);
}

Test(kafka_txn, a_record_beyond_the_limit_is_an_error_that_names_it)
{
	struct topics t;
	struct member *m;
	char *big = mem_zalloc(1300000);
	struct log_record v = record_of(TOPIC_DLQ, 0, "the-key", NULL);
	struct log_end end = {true, true};

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	renew(m);
	v.value = slice_of(big, 1300000);
	cr_assert_eq(m->log->ops->transact(m->log, &v, 1, NULL, 0, &end, &m->err), ERR_CONFIG);
	cr_assert_not_null(strstr(m->err.text, "the-key"), "%s", m->err.text);
	cr_assert_not(end.landed || end.clean);

	free(big);
	member_free(m);
	topics_free(&t);
}

/* What a process that dies at a crash point leaves behind; returns the successor. */
static struct member *die_at(const struct topics *t, const char *point)
{
	struct log_record v = record_of(TOPIC_DLQ, 0, point, "v");
	struct member *m;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("METER_DLQ_CRASH_AT", point, 1);
		m = member_new(t, "one", NULL);
		join(m);
		renew(m);
		transact(m, &v, 1, 7);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it died at %s", point);
	return member_new(t, "one", NULL);
}

static void assert_left_behind(const char *point, int64_t offset, size_t records)
{
	struct topics t;
	struct member *m;

	topics_create(&t, 1);
	m = die_at(&t, point);
	renew(m); /* ends what it left open */
	cr_assert_eq(committed_offset(m, SOURCE, 0), offset);
	await_high_watermark(m, TOPIC_DLQ, 0, 2); /* a record and a marker */
	read_range(m, TOPIC_DLQ, 0, 0, 2);
	cr_assert_eq(m->n_got, records);
	member_free(m);
	topics_free(&t);
}

Test(kafka_txn, a_death_after_produce_lands_nothing)
{
	assert_left_behind("after-produce", -1, 0);
}

Test(kafka_txn, a_death_after_send_offsets_lands_nothing)
{
	assert_left_behind("after-send-offsets", -1, 0);
}

Test(kafka_txn, a_death_after_the_commit_has_landed_all)
{
	assert_left_behind("after-kafka-commit", 7, 1);
}

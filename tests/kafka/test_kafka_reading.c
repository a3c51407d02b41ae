#include "harness.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(kafka_reading, .timeout = 120);

Test(kafka_reading, a_reader_ends_at_the_high_watermark_behind_markers_and_aborted_records)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up;

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(t.group_id);
	upstream_begin(up);
	upstream_fill(up, t.names[TOPIC_DLQ], 0, 0, 2);
	upstream_commit(up);
	upstream_begin(up);
	upstream_fill(up, t.names[TOPIC_DLQ], 0, 2, 3);
	upstream_abort(up);
	upstream_begin(up);
	upstream_fill(up, t.names[TOPIC_DLQ], 0, 5, 1);
	upstream_commit(up);
	upstream_begin(up);
	upstream_fill(up, t.names[TOPIC_DLQ], 0, 6, 2);
	upstream_abort(up);

	await_high_watermark(m, TOPIC_DLQ, 0, 12); /* eight records, four markers */
	read_range(m, TOPIC_DLQ, 0, 0, 12);
	cr_assert_eq(m->n_got, 3);
	assert_text(m->got[0].key, "0");
	assert_text(m->got[1].key, "1");
	assert_text(m->got[2].key, "5");
	forget_got(m);

	read_range(m, TOPIC_DLQ, 0, 1, 7);
	cr_assert_eq(m->n_got, 1, "only records inside");
	cr_assert_eq(m->got[0].offset, 1);
	forget_got(m);
	read_range(m, TOPIC_DLQ, 0, 9, 9);
	cr_assert_eq(m->n_got, 0, "an empty range is read at once");

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

Test(kafka_reading, a_reader_waits_for_an_open_transaction_below_its_end)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up, *other;
	struct log_range range = {TOPIC_DLQ, 0, 0, 3};
	bool done;
	size_t n;

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(t.group_id);
	other = upstream_new(NULL);
	upstream_begin(up);
	upstream_fill(up, t.names[TOPIC_DLQ], 0, 0, 1);
	upstream_fill(other, t.names[TOPIC_DLQ], 0, 1, 2);

	cr_assert_eq(high_watermark(m, TOPIC_DLQ, 0), 3, "the end, not the last stable offset");
	cr_assert_eq(m->log->ops->read_start(m->log, &range, 1, &m->err), 0);
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(m->log->ops->read_next(m->log, &m->arena, m->got, MESSAGES_MAX, 100,
				     &n, &done, &m->err),
			0, "%s", m->err.text);
		cr_assert_eq(n, 0);
		cr_assert_not(done);
	}
	upstream_commit(up);
	read_range(m, TOPIC_DLQ, 0, 0, 3);
	cr_assert_eq(m->n_got, 3);

	rd_kafka_destroy(up);
	rd_kafka_destroy(other);
	member_free(m);
	topics_free(&t);
}

Test(kafka_reading, fetching_advances_past_control_records_and_never_back)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up;
	size_t n;

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(t.group_id);
	upstream_begin(up);
	upstream_fill(up, t.names[SOURCE], 0, 0, 1);
	upstream_commit(up);
	upstream_begin(up);
	upstream_fill(up, t.names[SOURCE], 0, 1, 2);
	upstream_abort(up);
	await_high_watermark(m, SOURCE, 0, 5);
	join(m);
	assign_one(m, SOURCE, 0, 0);
	fetch_n(m, 2);
	cr_assert_not(m->got[0].position_only);
	cr_assert(m->got[1].position_only);
	cr_assert_eq(m->got[1].offset, 5, "a record, a marker, two records, a marker");
	cr_assert_null(m->got[1].owner);
	forget_got(m);

	assign_one(m, SOURCE, 0, 5);
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(m->log->ops->fetch(
				     m->log, &m->arena, m->got, MESSAGES_MAX, 100, &n, &m->err),
			0);
		cr_assert_eq(n, 0, "nothing new at the end");
	}

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

Test(kafka_reading, assigning_anew_forgets_what_was_fetched_before)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up;

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(NULL);
	upstream_fill(up, t.names[SOURCE], 0, 0, 2000);
	upstream_fill(up, t.names[TOPIC_INBOX], 0, 0, 5);
	join(m);
	for (int64_t i = 0; i < 50; i++) {
		/* By now records of any earlier assignment may be queued anywhere. */
		assign_one(m, SOURCE, 0, 100 * (i % 7));
		fetch_n(m, 10);
		for (int k = 0; k < 10; k++)
			cr_assert_eq(m->got[k].offset, 100 * (i % 7) + k);
		forget_got(m);
	}
	for (int i = 0; i < 200; i++)
		assign_one(m, SOURCE, 0, i);
	assign_one(m, TOPIC_INBOX, 0, 2);
	fetch_n(m, 3);
	for (int k = 0; k < 3; k++) {
		cr_assert_eq(m->got[k].topic, TOPIC_INBOX);
		cr_assert_eq(m->got[k].offset, 2 + k);
	}

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

Test(kafka_reading, a_position_out_of_range_is_an_error_that_names_it)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up;
	size_t n = 0;
	int r = 0;

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(NULL);
	upstream_fill(up, t.names[SOURCE], 0, 0, 10);
	join(m);
	assign_one(m, SOURCE, 0, 1000);
	while (!r) {
		r = m->log->ops->fetch(m->log, &m->arena, m->got, MESSAGES_MAX, 100, &n, &m->err);
		cr_assert_eq(n, 0);
	}
	cr_assert_eq(r, ERR_RANGE);
	cr_assert_not_null(strstr(m->err.text, t.names[SOURCE]), "%s", m->err.text);
	cr_assert_not_null(strstr(m->err.text, "[0] offset 1000"), "%s", m->err.text);
	assign_one(m, SOURCE, 0, 8);
	fetch_n(m, 2);

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

Test(kafka_reading, trimming_deletes_records_and_a_reader_starts_behind_them)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up;
	int64_t low = 0, high;
	struct log_range beyond = {TOPIC_INBOX, 0, 50, 60};
	bool done;
	size_t n;
	int r = 0;

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(NULL);
	upstream_fill(up, t.names[TOPIC_INBOX], 0, 0, 10);
	m->log->ops->trim(m->log, TOPIC_INBOX, 0, 4);
	while (low < 4) {
		poll_once(m);
		cr_assert_eq(m->log->ops->watermarks(m->log, TOPIC_INBOX, 0, &low, &high, &m->err),
			0, "%s", m->err.text);
	}
	cr_assert_eq(low, 4);
	cr_assert_eq(high, 10);
	read_range(m, TOPIC_INBOX, 0, 0, 10);
	cr_assert_eq(m->n_got, 6);
	cr_assert_eq(m->got[0].offset, 4);
	forget_got(m);
	read_range(m, TOPIC_INBOX, 0, 0, 3);
	cr_assert_eq(m->n_got, 0, "all of it is gone");

	cr_assert_eq(m->log->ops->read_start(m->log, &beyond, 1, &m->err), 0);
	while (!r)
		r = m->log->ops->read_next(
			m->log, &m->arena, m->got, MESSAGES_MAX, 100, &n, &done, &m->err);
	cr_assert_eq(r, ERR_RANGE, "the log ends before: %s", m->err.text);

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

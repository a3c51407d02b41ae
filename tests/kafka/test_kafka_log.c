#include "harness.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(kafka_log, .timeout = 120);

#define SOURCE TOPIC_SOURCE

static struct log_end transact(struct member *m, struct log_record *v, size_t n, int64_t offset)
{
	struct log_position next = {SOURCE, 0, offset};
	struct log_end end;

	cr_assert_eq(
		m->log->ops->transact(m->log, v, n, &next, 1, &end, &m->err), 0, "%s", m->err.text);
	return end;
}

static void assert_text(struct slice s, const char *text)
{
	cr_assert(slice_eq(s, slice_str(text)), "%.*s instead of %s", SLICE_FMT(s), text);
}

Test(kafka_log, a_member_fetches_its_partitions_and_lands_records_and_offsets_together)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up;
	struct log_record v[2];
	struct log_end end;

	topics_create(&t, 2);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(NULL);
	upstream_fill(up, t.names[SOURCE], 0, 0, 3);
	cr_assert_eq(join(m), 4, "two partitions each of source and inbox");
	cr_assert_eq(committed_offset(m, SOURCE, 0), -1);

	assign_one(m, SOURCE, 0, 0);
	fetch_n(m, 3);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(m->got[i].offset, i);
		cr_assert_eq(m->got[i].topic, SOURCE);
		cr_assert_gt(m->got[i].timestamp_ms, 1600000000000);
	}
	assert_text(m->got[2].key, "2");
	assert_text(m->got[2].value, "{}");

	renew(m);
	v[0] = record_of(TOPIC_DLQ, 0, "a", "1");
	v[1] = record_of(TOPIC_PARKED, 1, "b", "2");
	end = transact(m, v, 2, 3);
	cr_assert(end.landed && end.clean);
	cr_assert_eq(v[0].offset, 0);
	cr_assert_eq(v[1].offset, 0);
	cr_assert_eq(committed_offset(m, SOURCE, 0), 3);

	end = transact(m, v, 2, 4);
	cr_assert(end.landed && end.clean);
	cr_assert_eq(v[0].offset, 2, "after the record and its marker");
	end = transact(m, NULL, 0, 5);
	cr_assert(end.landed && end.clean, "offsets alone");
	cr_assert_eq(committed_offset(m, SOURCE, 0), 5);

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

Test(kafka_log, a_reader_ends_at_the_high_watermark_behind_markers_and_aborted_records)
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

Test(kafka_log, a_reader_waits_for_an_open_transaction_below_its_end)
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

Test(kafka_log, fetching_advances_past_control_records_and_never_back)
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

Test(kafka_log, committed_offsets_wait_for_the_pending_transaction_of_another_owner)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up;
	rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(1);
	rd_kafka_consumer_group_metadata_t *group;
	struct log_position p = {SOURCE, 0, -1};

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(t.group_id);
	group = rd_kafka_consumer_group_metadata_new(t.group_id);
	rd_kafka_topic_partition_list_add(offsets, t.names[SOURCE], 0)->offset = 7;
	upstream_begin(up);
	upstream_fill(up, t.names[TOPIC_DLQ], 0, 0, 1);
	cr_assert_null(rd_kafka_send_offsets_to_transaction(up, offsets, group, WAIT_MS));

	for (int i = 0; i < 2; i++)
		cr_assert_eq(m->log->ops->committed(m->log, &p, 1, &m->err), ERR_UNREACHABLE);
	upstream_commit(up);
	cr_assert_eq(committed_offset(m, SOURCE, 0), 7);

	rd_kafka_consumer_group_metadata_destroy(group);
	rd_kafka_topic_partition_list_destroy(offsets);
	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

static void take_assignment(struct member *m)
{
	const struct log_position *assigned;
	size_t n;

	cr_assert_eq(m->log->ops->assignment(m->log, &assigned, &n, &m->err), 0, "%s", m->err.text);
	cr_assert_eq(m->log->ops->assign(m->log, NULL, 0, &m->err), 0, "%s", m->err.text);
}

Test(kafka_log, a_rebalance_revokes_first_and_what_it_revoked_lands_nothing_more)
{
	struct topics t;
	struct member *a, *b;
	struct log_record v = record_of(TOPIC_DLQ, 0, "k", "1");
	struct log_end end;
	bool a_has = false, b_has = false;

	topics_create(&t, 2);
	a = member_new(&t, NULL, NULL);
	b = member_new(&t, NULL, NULL);
	cr_assert_eq(join(a), 4);
	renew(a);
	end = transact(a, &v, 1, 1);
	cr_assert(end.landed);
	while (poll_once(a) != GROUP_REVOKED)
		poll_once(b);
	end = transact(a, &v, 1, 2);
	cr_assert_not(end.landed);
	cr_assert_eq(a->log->ops->release_assignment(a->log, &a->err), 0);
	while (!a_has || !b_has) {
		if (poll_once(a) == GROUP_ASSIGNED) {
			take_assignment(a);
			a_has = true;
		}
		if (poll_once(b) == GROUP_ASSIGNED) {
			take_assignment(b);
			b_has = true;
		}
	}
	cr_assert_eq(committed_offset(b, SOURCE, 0), 1);
	renew(a);
	end = transact(a, &v, 1, 3);
	cr_assert(end.landed, "the new generation's metadata");
	cr_assert_eq(committed_offset(b, SOURCE, 0), 3);

	member_free(a);
	member_free(b);
	topics_free(&t);
}

/* It was paused so long that another one has its partitions, and notices nothing of that. */
Test(kafka_log, a_zombie_with_the_metadata_of_an_old_generation_lands_nothing)
{
	static const struct config_setting impatient = {
		.name = "max.poll.interval.ms", .value = "6000"};
	struct topics t;
	struct member *zombie, *owner;
	struct log_record v = record_of(TOPIC_DLQ, 0, "k", "zombie");
	struct log_end end;

	topics_create(&t, 1);
	zombie = member_new(&t, NULL, &impatient);
	owner = member_new(&t, NULL, &impatient);
	cr_assert_eq(join(zombie), 2);
	renew(zombie);
	cr_assert_eq(join(owner), 2, "the zombie is out");
	renew(owner);
	end = transact(owner, NULL, 0, 5);
	cr_assert(end.landed);

	end = transact(zombie, &v, 1, 9);
	cr_assert_not(end.landed);
	cr_assert_not(end.clean);
	cr_assert_eq(committed_offset(owner, SOURCE, 0), 5);
	await_event(zombie, GROUP_REVOKED);
	renew(zombie); /* ends its transaction, so that the log has an end */
	read_range(owner, TOPIC_DLQ, 0, 0, high_watermark(owner, TOPIC_DLQ, 0));
	cr_assert_eq(owner->n_got, 0);

	member_free(zombie);
	member_free(owner);
	topics_free(&t);
}

Test(kafka_log, assigning_anew_forgets_what_was_fetched_before)
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

Test(kafka_log, a_position_out_of_range_is_an_error_that_names_it)
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

Test(kafka_log, trimming_deletes_records_and_a_reader_starts_behind_them)
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

Test(kafka_log, null_and_empty_stay_apart_both_ways)
{
	static const uint8_t empty[1];
	const struct slice absent = SLICE_NULL, nothing = {empty, 0};
	struct topics t;
	struct member *m;
	rd_kafka_t *up;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(3);
	struct log_record v[3];

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(NULL);
	rd_kafka_header_add(headers, "null", -1, NULL, 0);
	rd_kafka_header_add(headers, "empty", -1, empty, 0);
	rd_kafka_header_add(headers, "empty", -1, "again", -1);
	upstream_put(up, t.names[SOURCE], 0, SLICE_LIT("k"), absent, headers);
	upstream_put(up, t.names[SOURCE], 0, SLICE_LIT("k"), nothing, NULL);
	upstream_put(up, t.names[SOURCE], 0, absent, SLICE_LIT("v"), NULL);
	upstream_put(up, t.names[SOURCE], 0, nothing, SLICE_LIT("v"), NULL);
	join(m);
	assign_one(m, SOURCE, 0, 0);
	fetch_n(m, 4);
	cr_assert(slice_is_null(m->got[0].value));
	cr_assert(slice_eq(m->got[1].value, nothing));
	cr_assert(slice_is_null(m->got[2].key));
	cr_assert(slice_eq(m->got[3].key, nothing));
	cr_assert_eq(m->got[0].n_headers, 3);
	assert_text(m->got[0].headers[0].key, "null");
	cr_assert(slice_is_null(m->got[0].headers[0].value));
	cr_assert(slice_eq(m->got[0].headers[1].value, nothing));
	assert_text(m->got[0].headers[2].value, "again");
	forget_got(m);

	renew(m);
	v[0] = record_of(TOPIC_INBOX, 0, "k", NULL);
	v[1] = record_of(TOPIC_INBOX, 0, "k", "");
	v[2] = record_of(TOPIC_INBOX, 0, "k", "v");
	v[2].headers[0] = (struct header){SLICE_LIT("null"), absent};
	v[2].headers[1] = (struct header){SLICE_LIT("empty"), nothing};
	v[2].headers[2] = (struct header){slice_of("textual", 4), SLICE_LIT("value")};
	v[2].n_headers = 3;
	cr_assert(transact(m, v, 3, 4).landed);
	read_range(m, TOPIC_INBOX, 0, 0, 3);
	cr_assert_eq(m->n_got, 3);
	cr_assert(slice_is_null(m->got[0].value));
	cr_assert(slice_eq(m->got[1].value, nothing));
	cr_assert_eq(m->got[2].n_headers, 3);
	cr_assert(slice_is_null(m->got[2].headers[0].value));
	cr_assert(slice_eq(m->got[2].headers[1].value, nothing));
	assert_text(m->got[2].headers[2].key, "text");

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

Test(kafka_log, a_large_transaction_comes_back_in_order_from_all_its_partitions)
{
	enum { N = 3000 };
	struct topics t;
	struct member *m;
	struct log_record *v = mem_zalloc(N * sizeof(*v));
	char(*keys)[16] = mem_zalloc(N * sizeof(*keys));
	struct log_range ranges[4];
	int64_t last[2][2] = {{-1, -1}, {-1, -1}};
	bool done = false;
	size_t n, total = 0;

	topics_create(&t, 2);
	m = member_new(&t, NULL, NULL);
	renew(m);
	for (int i = 0; i < N; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%d", i);
		v[i] = record_of(i % 4 < 2 ? TOPIC_DLQ : TOPIC_PARKED, i % 2, keys[i], "v");
		v[i].headers[0] = (struct header){SLICE_LIT("dlq-reason"), SLICE_LIT("poison")};
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
Test(kafka_log, an_error_event_makes_an_end_unclean_though_it_landed)
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
Test(kafka_log, a_renewed_producer_fences_its_predecessor_and_a_second_fencing_is_final)
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

Test(kafka_log, a_second_process_under_one_instance_id_fences_the_first)
{
	struct topics t;
	struct member *first, *second;
	enum group_event event;
	int r = 0;

	topics_create(&t, 1);
	first = member_new(&t, "one", NULL);
	second = member_new(&t, "one", NULL);
	join(first);
	while (poll_once(second) != GROUP_ASSIGNED)
		;
	while (!r)
		r = first->log->ops->group_poll(first->log, 50, &event, &first->err);
	cr_assert_eq(r, ERR_FENCED, "%s", first->err.text);

	member_free(first);
	member_free(second);
	topics_free(&t);
}

Test(kafka_log, a_dynamic_member_leaves_at_once_and_a_static_one_stays)
{
	struct topics t;
	struct member *m;

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	join(m);
	cr_assert_eq(count_members(&t), 1);
	m->log->ops->leave(m->log);
	cr_assert_eq(count_members(&t), 0);
	cr_assert_eq(poll_once(m), GROUP_NONE, "it does not join again");
	member_free(m);

	m = member_new(&t, "one", NULL);
	join(m);
	m->log->ops->leave(m->log);
	member_free(m);
	cr_assert_eq(count_members(&t), 1);
	m = member_new(&t, "one", NULL);
	cr_assert_eq(join(m), 2, "its successor has its partitions");

	member_free(m);
	topics_free(&t);
}

Test(kafka_log, an_offset_that_is_none_is_refused)
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

Test(kafka_log, a_record_beyond_the_limit_is_an_error_that_names_it)
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

Test(kafka_log, an_unknown_setting_is_an_error_that_names_it)
{
	static const struct config_setting wrong = {.name = "fetch.wait.max", .value = "1"};
	struct kafka_log_config config = {.bootstrap_servers = "localhost:1",
		.settings = &wrong,
		.n_settings = 1,
		.group_id = "g",
		.session_timeout_ms = 6000,
		.message_max_bytes = 1000000};
	struct log *log;
	struct err err;

	cr_assert_eq(kafka_log_new(&config, NULL, &log, &err), ERR_CONFIG);
	cr_assert_not_null(strstr(err.text, "fetch.wait.max"), "%s", err.text);
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

Test(kafka_log, a_death_after_produce_lands_nothing)
{
	assert_left_behind("after-produce", -1, 0);
}

Test(kafka_log, a_death_after_send_offsets_lands_nothing)
{
	assert_left_behind("after-send-offsets", -1, 0);
}

Test(kafka_log, a_death_after_the_commit_has_landed_all)
{
	assert_left_behind("after-kafka-commit", 7, 1);
}

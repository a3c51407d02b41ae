#include "harness.h"

#include <criterion/criterion.h>
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

	cr_assert_eq(m->log->ops->transact(m->log, v, n, &next, 1, &end, &m->err), 0, "%s",
		m->err.text);
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
	m = member_new(&t, NULL);
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
	m = member_new(&t, NULL);
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

	cr_assert_eq(high_watermark(m, TOPIC_DLQ, 0), 12, "eight records, four markers");
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
	m = member_new(&t, NULL);
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
	m = member_new(&t, NULL);
	up = upstream_new(t.group_id);
	upstream_begin(up);
	upstream_fill(up, t.names[SOURCE], 0, 0, 1);
	upstream_commit(up);
	upstream_begin(up);
	upstream_fill(up, t.names[SOURCE], 0, 1, 2);
	upstream_abort(up);
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
		cr_assert_eq(m->log->ops->fetch(m->log, &m->arena, m->got, MESSAGES_MAX, 100, &n,
				     &m->err),
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
	m = member_new(&t, NULL);
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



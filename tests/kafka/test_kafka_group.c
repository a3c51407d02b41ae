#include "harness.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(kafka_group, .timeout = 120);

Test(kafka_group, committed_offsets_wait_for_the_pending_transaction_of_another_owner)
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

Test(kafka_group, a_rebalance_revokes_first_and_what_it_revoked_lands_nothing_more)
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
Test(kafka_group, a_zombie_with_the_metadata_of_an_old_generation_lands_nothing)
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

Test(kafka_group, a_second_process_under_one_instance_id_fences_the_first)
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

Test(kafka_group, a_fenced_static_member_asks_the_group_before_it_could_fence_its_successor)
{
	struct topics t;
	struct member *first, *second;
	struct log_record v = record_of(TOPIC_DLQ, 0, "k", "v");
	struct log_end end;
	enum group_event event;
	int r = 0;

	topics_create(&t, 1);
	first = member_new(&t, "one", NULL);
	second = member_new(&t, "one", NULL);
	join(first);
	renew(first);
	renew(second);
	while (poll_once(second) != GROUP_ASSIGNED)
		;
	cr_assert_eq(first->log->ops->transact(first->log, &v, 1, NULL, 0, &end, &first->err), 0);
	cr_assert_not(end.landed, "fenced");
	do
		r = first->log->ops->renew_producer(first->log, &first->err);
	while (r == ERR_UNREACHABLE &&
		(r = first->log->ops->group_poll(first->log, 50, &event, &first->err)) == 0);
	cr_assert_eq(r, ERR_FENCED, "%s", first->err.text);
	cr_assert_eq(
		second->log->ops->transact(second->log, &v, 1, NULL, 0, &end, &second->err), 0);
	cr_assert(end.landed, "%s", second->err.text);

	member_free(first);
	member_free(second);
	topics_free(&t);
}

Test(kafka_group, a_dynamic_member_leaves_at_once_and_a_static_one_stays)
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

#include "kafka_group.h"

#include "clock.h"
#include "failpoint.h"

#include <stdio.h>
#include <stdlib.h>

#define LEAVE_TIMEOUT_US 3000000

static void forget_generation(struct kafka_group *g)
{
	if (g->metadata)
		rd_kafka_consumer_group_metadata_destroy(g->metadata);
	g->metadata = NULL;
	g->n_assigned = 0;
}

static void note_assigned(struct kafka_group *g, const rd_kafka_topic_partition_list_t *list)
{
	g->assigned = mem_realloc(g->assigned, (size_t)list->cnt * sizeof(*g->assigned));
	g->n_assigned = (size_t)list->cnt;
	for (int i = 0; i < list->cnt; i++)
		g->assigned[i] = (struct log_position){
			.topic = kafka_topic_number(g->shared->config, list->elems[i].topic),
			.partition = list->elems[i].partition,
			.offset = -1};
}

/* Answers the event that librdkafka waits for: a steady member, or one that may join again. */
static void answer(struct kafka_group *g)
{
	rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(0);

	if (g->owed != GROUP_NONE)
		rd_kafka_assign(g->handle.rk, g->owed == GROUP_ASSIGNED ? none : NULL);
	g->owed = GROUP_NONE;
	rd_kafka_topic_partition_list_destroy(none);
}

/* Only notes what happened: it is answered by kafka_group_assignment and kafka_group_release. */
static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
	rd_kafka_topic_partition_list_t *list, void *opaque)
{
	struct kafka_group *g = opaque;

	forget_generation(g);
	g->event = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS ? GROUP_ASSIGNED : GROUP_REVOKED;
	g->owed = g->event;
	if (g->event == GROUP_ASSIGNED)
		note_assigned(g, list);
	else if (rd_kafka_assignment_lost(rk))
		kafka_report(g->shared, 'W', "group: the membership was lost");
	if (g->leaving)
		answer(g);
	rd_kafka_yield(rk);
}

static int open_handle(struct kafka_group *g, struct err *err)
{
	const struct kafka_log_config *config = g->shared->config;
	char heartbeat[16];
	const struct kafka_pair defaults[] = {
		{"heartbeat.interval.ms", heartbeat},
		/* How soon a topic that was missing, or a partition that was added, is found. */
		{"topic.metadata.refresh.interval.ms", "5000"},
		{NULL, NULL},
	};
	const struct kafka_pair fixed[] = {
		{"group.id", config->group_id},
		{"partition.assignment.strategy", "range"},
		/* A pending commit is waited for, see kafka_group_committed. */
		{"isolation.level", "read_committed"},
		{"enable.auto.commit", "false"},
		{"enable.auto.offset.store", "false"},
		{config->instance_id ? "group.instance.id" : NULL, config->instance_id},
		{NULL, NULL},
	};
	rd_kafka_conf_t *conf;
	int r;

	if (g->handle.rk)
		return 0;
	snprintf(heartbeat, sizeof(heartbeat), "%d", kafka_heartbeat_ms(config));
	r = kafka_conf_new(g->shared, defaults, fixed, &conf, err);
	if (r)
		return r;
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	r = kafka_handle_open(&g->handle, g->shared, "group", RD_KAFKA_CONSUMER, conf, err);
	if (!r)
		rd_kafka_poll_set_consumer(g->handle.rk);
	return r;
}

void kafka_group_close(struct kafka_group *g)
{
	forget_generation(g);
	free(g->assigned);
	g->assigned = NULL;
	kafka_handle_close(&g->handle);
}

static int subscribe(struct kafka_group *g, struct err *err)
{
	const struct kafka_log_config *config = g->shared->config;
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t code;
	int r = open_handle(g, err);

	if (r || g->subscribed)
		return r;
	list = rd_kafka_topic_partition_list_new((int)config->n_topics);
	for (size_t i = 0; i < config->n_topics; i++)
		if (i == TOPIC_INBOX || i >= TOPIC_SOURCE)
			rd_kafka_topic_partition_list_add(
				list, config->topics[i], RD_KAFKA_PARTITION_UA);
	code = rd_kafka_subscribe(g->handle.rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (code)
		return err_set(err, kafka_err_class(code), "joining group %s: %s", config->group_id,
			rd_kafka_err2str(code));
	g->subscribed = true;
	return 0;
}

static int fatal_error(struct kafka_group *g, struct err *err)
{
	char text[256];
	rd_kafka_resp_err_t code = rd_kafka_fatal_error(g->handle.rk, text, sizeof(text));

	if (!code)
		return 0;
	return err_set(err, kafka_err_class(code) == ERR_FENCED ? ERR_FENCED : ERR_INTERNAL,
		"member %s of group %s: %s",
		g->shared->config->instance_id ? g->shared->config->instance_id : "",
		g->shared->config->group_id, text);
}

/* An error of the group or a subscribed topic; librdkafka goes on trying. */
static int group_error(struct kafka_group *g, rd_kafka_message_t *m, struct err *err)
{
	enum err_class class = kafka_err_class(m->err);
	int r = 0;

	if (class == ERR_CONFIG)
		r = err_set(err, class, "group %s: %s", g->shared->config->group_id,
			rd_kafka_message_errstr(m));
	else
		kafka_report(g->shared, 'W', "group: %s (%s)", rd_kafka_message_errstr(m),
			rd_kafka_err2name(m->err));
	rd_kafka_message_destroy(m);
	return r;
}

int kafka_group_poll(struct kafka_group *g, int timeout_ms, enum group_event *ret, struct err *err)
{
	rd_kafka_message_t *m;
	int r;

	*ret = GROUP_NONE;
	if (g->leaving)
		return 0;
	r = subscribe(g, err);
	if (r)
		return r;
	m = rd_kafka_consumer_poll(g->handle.rk, timeout_ms);
	r = fatal_error(g, err);
	if (m && !r)
		return group_error(g, m, err);
	if (m)
		rd_kafka_message_destroy(m);
	*ret = g->event;
	g->event = GROUP_NONE;
	return r;
}

/*
 * With a generation below 0, and no member, the broker would check nothing at all
 * (ClassicGroup.validateOffsetCommit). librdkafka 2.0.2 has no getter; it writes "CGMDv2:", the
 * generation as the machine's int32, group id and member id, each with a NUL (rdkafka_cgrp.c).
 */
static int check_membership(const rd_kafka_consumer_group_metadata_t *metadata, struct err *err)
{
	static const char magic[] = {'C', 'G', 'M', 'D', 'v', '2', ':'};
	const char *group, *member;
	int32_t generation;
	void *buffer;
	size_t size;
	int r = 0;

	if (!metadata)
		return err_set(err, ERR_UNREACHABLE, "the membership was lost");
	rd_kafka_error_destroy(rd_kafka_consumer_group_metadata_write(metadata, &buffer, &size));
	group = (const char *)buffer + sizeof(magic) + sizeof(generation);
	if (memcmp(buffer, magic, sizeof(magic)) != 0) {
		r = err_set(err, ERR_INTERNAL,
			"librdkafka %s writes group metadata in a form that is not known",
			rd_kafka_version_str());
	} else {
		memcpy(&generation, (const char *)buffer + sizeof(magic), sizeof(generation));
		member = group + strlen(group) + 1;
		if (generation < 0 || !*member)
			r = err_set(
				err, ERR_UNREACHABLE, "group %s: the membership was lost", group);
	}
	rd_kafka_mem_free(NULL, buffer);
	return r;
}

int kafka_group_assignment(
	struct kafka_group *g, const struct log_position **ret, size_t *ret_n, struct err *err)
{
	int r = 0;

	if (g->owed != GROUP_ASSIGNED && !g->metadata)
		return err_set(err, ERR_INTERNAL, "group %s: there is no assignment",
			g->shared->config->group_id);
	if (g->owed == GROUP_ASSIGNED) {
		g->metadata = rd_kafka_consumer_group_metadata(g->handle.rk);
		r = check_membership(g->metadata, err);
		answer(g);
	}
	if (r)
		forget_generation(g);
	*ret = g->assigned;
	*ret_n = g->n_assigned;
	return r;
}

int kafka_group_release(struct kafka_group *g, struct err *err)
{
	(void)err;
	FAILPOINT("in-rebalance");
	forget_generation(g);
	answer(g);
	return 0;
}

int kafka_group_committed(struct kafka_group *g, struct log_position *v, size_t n, struct err *err)
{
	char **topics = g->shared->config->topics;
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t code;
	int r = open_handle(g, err);

	if (r)
		return r;
	list = rd_kafka_topic_partition_list_new((int)n);
	for (size_t i = 0; i < n; i++)
		rd_kafka_topic_partition_list_add(list, topics[v[i].topic], v[i].partition);
	code = rd_kafka_committed(g->handle.rk, list, KAFKA_TURN_MS);
	if (code)
		r = err_set(err, kafka_err_class(code), "committed offsets of group %s: %s",
			g->shared->config->group_id, rd_kafka_err2str(code));
	for (size_t i = 0; !r && i < n; i++) {
		v[i].offset = list->elems[i].offset < 0 ? -1 : list->elems[i].offset;
		code = list->elems[i].err;
		if (code)
			r = err_set(err, kafka_err_class(code),
				"committed offset of %s [%d] in group %s: %s", topics[v[i].topic],
				v[i].partition, g->shared->config->group_id,
				rd_kafka_err2str(code));
	}
	rd_kafka_topic_partition_list_destroy(list);
	return r;
}

/*
 * rd_kafka_consumer_close would wait for the coordinator without end (librdkafka #4041, #4884); a
 * static member sends no LeaveGroup (KIP-345).
 */
void kafka_group_leave(struct kafka_group *g)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + LEAVE_TIMEOUT_US;
	rd_kafka_queue_t *queue;
	rd_kafka_error_t *error;
	rd_kafka_message_t *m;

	if (!g->subscribed || g->leaving)
		return;
	g->leaving = true;
	forget_generation(g);
	answer(g);
	queue = rd_kafka_queue_new(g->handle.rk);
	error = rd_kafka_consumer_close_queue(g->handle.rk, queue);
	while (!error && !rd_kafka_consumer_closed(g->handle.rk) &&
		clock_steady_us(clock_system()) < deadline_us) {
		m = rd_kafka_consume_queue(queue, 100);
		if (m)
			rd_kafka_message_destroy(m);
	}
	if (!rd_kafka_consumer_closed(g->handle.rk))
		kafka_report(g->shared, 'W', "group: the broker was not told of leaving");
	rd_kafka_error_destroy(error);
	rd_kafka_queue_destroy(queue);
}

#include "kafka_admin.h"

#include "clock.h"

#include <stdlib.h>
#include <time.h>

#define CALL_TIMEOUT_MS 10000

struct kafka_admin {
	struct kafka_shared shared;
	struct kafka_handle handle;
	rd_kafka_queue_t *queue; /* results of the admin API */
};

int kafka_admin_new(const struct kafka_log_config *config, struct report *report,
	struct kafka_admin **ret, struct err *err)
{
	static const struct kafka_pair none[] = {{NULL, NULL}};
	CLEANUP(kafka_admin_freep) struct kafka_admin *a = mem_zalloc(sizeof(*a));
	rd_kafka_conf_t *conf;
	int r;

	a->shared = (struct kafka_shared){.config = config, .report = report};
	r = kafka_conf_new(&a->shared, none, none, &conf, err);
	/* A consumer: a producer that asks for a topic makes the broker create it (librdkafka,
	 * allow.auto.create.topics is a consumer's setting). It joins no group. */
	if (!r)
		r = kafka_handle_open(
			&a->handle, &a->shared, "admin", RD_KAFKA_CONSUMER, conf, err);
	if (r)
		return r;
	a->queue = rd_kafka_queue_new(a->handle.rk);
	*ret = TAKE_PTR(a);
	return 0;
}

void kafka_admin_free(struct kafka_admin *a)
{
	if (!a)
		return;
	if (a->queue)
		rd_kafka_queue_destroy(a->queue);
	kafka_handle_close(&a->handle);
	free(a);
}

void kafka_admin_freep(struct kafka_admin **a)
{
	kafka_admin_free(*a);
}

static void topic_destroyp(rd_kafka_topic_t **t)
{
	if (*t)
		rd_kafka_topic_destroy(*t);
}

static void metadata_destroyp(const struct rd_kafka_metadata **m)
{
	if (*m)
		rd_kafka_metadata_destroy(*m);
}

static void event_destroyp(rd_kafka_event_t **e)
{
	if (*e)
		rd_kafka_event_destroy(*e);
}

static void options_destroyp(rd_kafka_AdminOptions_t **o)
{
	rd_kafka_AdminOptions_destroy(*o);
}

static void new_topic_destroyp(rd_kafka_NewTopic_t **t)
{
	rd_kafka_NewTopic_destroy(*t);
}

static void resource_destroyp(rd_kafka_ConfigResource_t **r)
{
	rd_kafka_ConfigResource_destroy(*r);
}

static int fail(struct kafka_admin *a, rd_kafka_resp_err_t error, const char *what,
	const char *topic, struct err *err)
{
	kafka_handle_serve(&a->handle);
	return err_set(err, kafka_err_class(error), "%s topic %s: %s (brokers %.100s)", what, topic,
		rd_kafka_err2str(error), a->shared.config->bootstrap_servers);
}

int kafka_admin_partitions(struct kafka_admin *a, const char *topic, int32_t *ret, struct err *err)
{
	CLEANUP(topic_destroyp) rd_kafka_topic_t *t = rd_kafka_topic_new(a->handle.rk, topic, NULL);
	CLEANUP(metadata_destroyp) const struct rd_kafka_metadata *m = NULL;
	rd_kafka_resp_err_t error = rd_kafka_metadata(a->handle.rk, 0, t, &m, CALL_TIMEOUT_MS);

	if (!error && m->topic_cnt == 1)
		error = m->topics[0].err;
	if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
		*ret = 0;
		return 0;
	}
	if (error)
		return fail(a, error, "looking for", topic, err);
	*ret = m->topics[0].partition_cnt;
	return 0;
}

/* Waits for the one result of an admin call. NULL: *ret_error says why. */
static rd_kafka_event_t *await(struct kafka_admin *a, rd_kafka_resp_err_t *ret_error)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(a->queue, CALL_TIMEOUT_MS + 5000);

	*ret_error = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (event && *ret_error) {
		rd_kafka_event_destroy(event);
		event = NULL;
	}
	return event;
}

static rd_kafka_AdminOptions_t *options_new(struct kafka_admin *a, rd_kafka_admin_op_t op)
{
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(a->handle.rk, op);

	rd_kafka_AdminOptions_set_request_timeout(options, CALL_TIMEOUT_MS, NULL, 0);
	return options;
}

int kafka_admin_group(
	struct kafka_admin *a, const char *group, struct kafka_group_state *ret, struct err *err)
{
	CLEANUP(options_destroyp)
	rd_kafka_AdminOptions_t *options = options_new(a, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
	CLEANUP(event_destroyp) rd_kafka_event_t *event = NULL;
	const rd_kafka_ConsumerGroupDescription_t **groups;
	const rd_kafka_error_t *failure;
	rd_kafka_resp_err_t error;
	size_t n;

	rd_kafka_DescribeConsumerGroups(a->handle.rk, &group, 1, options, a->queue);
	event = await(a, &error);
	if (!event)
		return err_set(err, kafka_err_class(error), "describing group %s: %s", group,
			rd_kafka_err2str(error));
	groups = rd_kafka_DescribeConsumerGroups_result_groups(
		rd_kafka_event_DescribeConsumerGroups_result(event), &n);
	if (n != 1)
		return err_set(err, ERR_INTERNAL, "Kafka described %zu groups, not %s", n, group);
	failure = rd_kafka_ConsumerGroupDescription_error(groups[0]);
	if (failure && rd_kafka_error_code(failure))
		return err_set(err, kafka_err_class(rd_kafka_error_code(failure)),
			"describing group %s: %s", group, rd_kafka_error_string(failure));
	*ret = (struct kafka_group_state){
		.name = rd_kafka_consumer_group_state_name(
			rd_kafka_ConsumerGroupDescription_state(groups[0])),
		.members = rd_kafka_ConsumerGroupDescription_member_count(groups[0]),
	};
	return 0;
}

static void copy_settings(struct arena *arena, const rd_kafka_ConfigResource_t *resource,
	struct kafka_topic_settings *ret)
{
	size_t n;
	const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &n);

	*ret = (struct kafka_topic_settings){arena_alloc(arena, n * sizeof(*ret->v)), 0};
	for (size_t i = 0; i < n; i++) {
		const char *value = rd_kafka_ConfigEntry_value(entries[i]);

		if (value)
			ret->v[ret->n++] = (struct kafka_pair){
				arena_printf(arena, "%s", rd_kafka_ConfigEntry_name(entries[i])),
				arena_printf(arena, "%s", value)};
	}
}

int kafka_admin_settings(struct kafka_admin *a, struct arena *arena, const char *topic,
	struct kafka_topic_settings *ret, struct err *err)
{
	CLEANUP(options_destroyp)
	rd_kafka_AdminOptions_t *options = options_new(a, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	CLEANUP(resource_destroyp)
	rd_kafka_ConfigResource_t *wanted =
		rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
	CLEANUP(event_destroyp) rd_kafka_event_t *event = NULL;
	const rd_kafka_ConfigResource_t **resources;
	rd_kafka_resp_err_t error;
	size_t n;

	rd_kafka_DescribeConfigs(a->handle.rk, &wanted, 1, options, a->queue);
	event = await(a, &error);
	if (!event)
		return fail(a, error, "reading the settings of", topic, err);
	resources = rd_kafka_DescribeConfigs_result_resources(
		rd_kafka_event_DescribeConfigs_result(event), &n);
	if (n != 1)
		return err_set(err, ERR_INTERNAL, "Kafka described %zu topics, not %s", n, topic);
	error = rd_kafka_ConfigResource_error(resources[0]);
	if (error)
		return fail(a, error, "reading the settings of", topic, err);
	copy_settings(arena, resources[0], ret);
	return 0;
}

const char *kafka_topic_setting(const struct kafka_topic_settings *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].name, name) == 0)
			return s->v[i].value;
	return NULL;
}

/* What the broker itself says no to, its policy or a quota, the user must change. */
static int create_failed(const rd_kafka_topic_result_t *result, struct err *err)
{
	rd_kafka_resp_err_t error = rd_kafka_topic_result_error(result);
	const char *why = rd_kafka_topic_result_error_string(result);

	if (!error || error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
		return 0;
	return err_set(err,
		error == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT ? ERR_UNREACHABLE : ERR_CONFIG,
		"creating topic %s: %s", rd_kafka_topic_result_name(result),
		why ? why : rd_kafka_err2str(error));
}

/* With KRaft the controller answers before the brokers have heard of the topic: the next call would
 * not find it. */
static int await_topic(struct kafka_admin *a, const char *topic, struct err *err)
{
	static const struct timespec pause = {.tv_nsec = 20L * 1000 * 1000};
	int64_t deadline_us = clock_steady_us(clock_system()) + CALL_TIMEOUT_MS * 1000LL;
	int32_t partitions = 0;
	int r;

	while (!(r = kafka_admin_partitions(a, topic, &partitions, err)) && !partitions) {
		if (clock_steady_us(clock_system()) > deadline_us)
			return err_set(err, ERR_UNREACHABLE,
				"topic %s was created, but the brokers do not show it", topic);
		nanosleep(&pause, NULL);
	}
	return r;
}

int kafka_admin_create(struct kafka_admin *a, const char *topic, int32_t partitions,
	const struct kafka_pair *v, size_t n, struct err *err)
{
	/* -1: the broker's default.replication.factor (KIP-464). */
	CLEANUP(new_topic_destroyp)
	rd_kafka_NewTopic_t *wanted = rd_kafka_NewTopic_new(topic, partitions, -1, NULL, 0);
	CLEANUP(options_destroyp)
	rd_kafka_AdminOptions_t *options = options_new(a, RD_KAFKA_ADMIN_OP_CREATETOPICS);
	CLEANUP(event_destroyp) rd_kafka_event_t *event = NULL;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
	size_t n_results;
	int r;

	for (size_t i = 0; i < n; i++)
		rd_kafka_NewTopic_set_config(wanted, v[i].name, v[i].value);
	rd_kafka_AdminOptions_set_operation_timeout(options, CALL_TIMEOUT_MS, NULL, 0);
	rd_kafka_CreateTopics(a->handle.rk, &wanted, 1, options, a->queue);
	event = await(a, &error);
	if (!event)
		return fail(a, error, "creating", topic, err);
	r = create_failed(rd_kafka_CreateTopics_result_topics(
				  rd_kafka_event_CreateTopics_result(event), &n_results)[0],
		err);
	return r ? r : await_topic(a, topic, err);
}

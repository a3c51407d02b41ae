/* check: brokers, topics, reading them, the group. */
#include "check.h"
#include "kafka_probe.h"
#include "report.h"
#include "topic_reader.h"
#include "topics.h"

#include <stdlib.h>

#define GROUP_PATIENCE_US (5LL * 1000 * 1000)

struct kafka_check {
	struct checking *c;
	struct kafka_log_config kafka;
	struct report *report;
	struct kafka_admin *admin;
	struct topics topics;
	bool all_described;
};

/* The name that the brokers know us by, where the configuration tells. */
static const char *principal(const struct config *config)
{
	for (size_t i = 0; i < config->n_kafka; i++)
		if (strcmp(config->kafka[i].name, "sasl.username") == 0)
			return config->kafka[i].value;
	return "NAME";
}

static const char *acl(
	struct kafka_check *k, const char *resource, const char *name, const char *operation)
{
	return arena_printf(&k->c->arena,
		"kafka-acls.sh --bootstrap-server %s --add --allow-principal User:%s --%s %s "
		"--operation %s",
		k->kafka.bootstrap_servers, principal(k->c->config), resource, name, operation);
}

static const char *brokers_todo(struct kafka_check *k)
{
	return arena_printf(&k->c->arena,
		"start Kafka, or correct kafka.bootstrap.servers (%s), kafka.security.protocol and "
		"what it needs",
		k->kafka.bootstrap_servers);
}

/* --- topics --- */

static const char *setting(const struct kafka_check *k, int topic, const char *name)
{
	const char *value = kafka_topic_setting(&k->topics.settings[topic], name);

	return value ? value : "?";
}

/* Whether any broker answers; the answer itself is for describe(). */
static bool reach(struct kafka_check *k)
{
	struct err err;
	int32_t n;
	int r = kafka_admin_partitions(k->admin, k->kafka.topics[TOPIC_DLQ], &n, &err);

	if (r == ERR_UNREACHABLE) {
		check_failed(k->c, r, &err, brokers_todo(k));
		return false;
	}
	check_ok(k->c, "brokers %s answer", k->kafka.bootstrap_servers);
	return true;
}

/* -1: it could not be described, which has been said. */
static int32_t describe(struct kafka_check *k, int topic)
{
	const char *name = k->kafka.topics[topic];
	struct err err;
	int32_t n = 0;
	int r = kafka_admin_partitions(k->admin, name, &n, &err);

	if (r) {
		check_failed(k->c, r, &err, acl(k, "topic", name, "Describe"));
		return -1;
	}
	if (!n)
		return 0;
	r = kafka_admin_settings(k->admin, &k->c->arena, name, &k->topics.settings[topic], &err);
	if (!r)
		return n;
	check_failed(k->c, r, &err, acl(k, "topic", name, "DescribeConfigs"));
	return -1;
}

static void describe_all(struct kafka_check *k)
{
	size_t n = k->kafka.n_topics;

	k->topics = (struct topics){.kafka = &k->kafka,
		.partitions = arena_alloc(&k->c->arena, n * sizeof(*k->topics.partitions)),
		.settings = arena_alloc(&k->c->arena, n * sizeof(*k->topics.settings))};
	k->all_described = true;
	for (size_t i = 0; i < n; i++) {
		k->topics.settings[i] = (struct kafka_topic_settings){0};
		k->topics.partitions[i] = describe(k, (int)i);
		k->all_described &= k->topics.partitions[i] >= 0;
	}
}

static void tell(void *arg, bool breaks, const char *text)
{
	struct kafka_check *k = arg;
	const char *semicolon = strstr(text, "; ");

	if (!breaks)
		check_ok(k->c, "advice: %s", text);
	else if (semicolon)
		check_wrong(k->c,
			arena_cstr(&k->c->arena, slice_of(text, (size_t)(semicolon - text))),
			semicolon + 2);
	else
		check_wrong(k->c, text, NULL);
}

static void check_topic(struct kafka_check *k, int topic)
{
	int32_t n = k->topics.partitions[topic];
	const char *policy, *retention;

	if (n < 0)
		return;
	/* What a topic must be like depends on the others. */
	if (!n || k->all_described) {
		if (topics_check_topic(&k->topics, topic, tell, k))
			return;
	}
	policy = setting(k, topic, "cleanup.policy");
	retention = strcmp(policy, "compact") == 0 ? "delete.retention.ms" : "retention.ms";
	check_ok(k->c, "topic %s: partitions %d, cleanup.policy=%s, %s=%s", k->kafka.topics[topic],
		n, policy, retention, setting(k, topic, retention));
}

/* --- rights --- */

static void check_reading(struct kafka_check *k)
{
	rd_kafka_resp_err_t *came = arena_alloc(&k->c->arena, k->kafka.n_topics * sizeof(*came));
	struct err err;
	int r = kafka_probe_reading(&k->kafka, k->report, k->topics.partitions, came, &err);

	if (r) {
		check_failed(k->c, r, &err, brokers_todo(k));
		return;
	}
	for (size_t i = 0; i < k->kafka.n_topics; i++) {
		const char *name = k->kafka.topics[i];

		if (k->topics.partitions[i] <= 0)
			continue;
		if (!came[i]) {
			check_ok(k->c, "topic %s can be read", name);
			continue;
		}
		r = kafka_err_class(came[i]);
		err_set(&err, r, "topic %s cannot be read: %s", name, rd_kafka_err2str(came[i]));
		check_failed(k->c, r, &err,
			r == ERR_CONFIG ? acl(k, "topic", name, "Read") : brokers_todo(k));
	}
}

static void check_group(struct kafka_check *k)
{
	const char *group = k->kafka.group_id;
	struct kafka_group_state state;
	struct err err;
	int r = kafka_admin_group(k->admin, group, &state, &err);

	if (r)
		check_failed(k->c, r, &err,
			r == ERR_CONFIG ? acl(k, "group", group, "Read") : brokers_todo(k));
	else
		check_ok(k->c, "group %s: %s, members %zu", group, state.name, state.members);
}

/* A pending transaction answers late; that is no fault. */
static void check_offsets(struct kafka_check *k)
{
	struct log_position position = {TOPIC_INBOX, 0, -1};
	struct topic_reader reader = {.topics = k->kafka.topics,
		.clock = clock_system(),
		.report = k->report,
		.patience_us = GROUP_PATIENCE_US};
	struct err err;
	int r = kafka_log_new(&k->kafka, k->report, &reader.log, &err);

	if (!r)
		r = topic_reader_committed(&reader, &position, 1, &err);
	if (r)
		check_failed(k->c, r, &err,
			r == ERR_CONFIG ? acl(k, "group", k->kafka.group_id, "Read")
					: brokers_todo(k));
	else
		check_ok(k->c, "offsets of group %s can be read", k->kafka.group_id);
	kafka_log_free(reader.log);
}

void check_kafka(struct checking *c)
{
	struct kafka_check k = {.c = c, .report = report_new(clock_system(), REPORT_COMMAND)};
	struct err err;
	int r;

	kafka_setup(&c->arena, c->config, &k.kafka);
	r = kafka_admin_new(&k.kafka, k.report, &k.admin, &err);
	if (r)
		check_failed(c, r, &err, "correct that setting; `meter-dlq config` shows all");
	if (!r && reach(&k)) {
		describe_all(&k);
		for (int i = 0; i < (int)k.kafka.n_topics; i++)
			check_topic(&k, i);
		check_reading(&k);
		check_group(&k);
		if (k.topics.partitions[TOPIC_INBOX] > 0)
			check_offsets(&k);
	}
	kafka_admin_free(k.admin);
	report_free(k.report);
}

#include "topics.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum rule { EXACTLY, AT_LEAST, AT_MOST };

/* What a topic of ours is created with, and what else would be wrong. */
static const struct requirement {
	int topic;
	const char *name, *value;
	enum rule rule;
	bool breaks;
} requirements[] = {
	/* With `delete`, entries that nobody has resolved would expire. */
	{TOPIC_DLQ, "cleanup.policy", "compact", EXACTLY, true},
	/* A reader slower than this misses tombstones and brings entries back to life. */
	{TOPIC_DLQ, "delete.retention.ms", "604800000", AT_LEAST, false},
	/* The undo window: what was settled can still be read. */
	{TOPIC_DLQ, "min.compaction.lag.ms", "86400000", AT_LEAST, false},
	/* The active segment is never compacted. */
	{TOPIC_DLQ, "segment.ms", "21600000", AT_MOST, false},
	/* Two dead letters of one key are two attempts: compaction would keep one. */
	{TOPIC_INBOX, "cleanup.policy", "delete", EXACTLY, true},
	{TOPIC_INBOX, "retention.ms", "-1", EXACTLY, true},
	{TOPIC_INBOX, "retention.bytes", "-1", EXACTLY, true},
	{TOPIC_PARKED, "cleanup.policy", "delete", EXACTLY, true},
	{TOPIC_PARKED, "retention.ms", "-1", EXACTLY, true},
	{TOPIC_PARKED, "retention.bytes", "-1", EXACTLY, true},
};
#define MESSAGE_BYTES "max.message.bytes"
#define BROKER_MESSAGE_BYTES 1048588 /* message.max.bytes, the broker's default */

int topics_describe(struct kafka_admin *admin, const struct kafka_log_config *kafka,
	struct arena *arena, struct topics *ret, struct err *err)
{
	size_t n = kafka->n_topics;
	int r = 0;

	*ret = (struct topics){.kafka = kafka,
		.partitions = arena_alloc(arena, n * sizeof(*ret->partitions)),
		.settings = arena_alloc(arena, n * sizeof(*ret->settings))};
	for (size_t i = 0; i < n && !r; i++) {
		ret->settings[i] = (struct kafka_topic_settings){0};
		r = kafka_admin_partitions(admin, kafka->topics[i], &ret->partitions[i], err);
		if (!r && ret->partitions[i])
			r = kafka_admin_settings(
				admin, arena, kafka->topics[i], &ret->settings[i], err);
	}
	return r;
}

static const char *setting(const struct topics *t, int topic, const char *name)
{
	return kafka_topic_setting(&t->settings[topic], name);
}

static int64_t message_bytes(const struct topics *t, int topic)
{
	const char *text = setting(t, topic, MESSAGE_BYTES);

	return text ? strtoll(text, NULL, 10) : BROKER_MESSAGE_BYTES;
}

/* What our topics must take: the largest message of a source, in its entry. */
static int64_t wanted_bytes(const struct topics *t)
{
	int64_t most = 0;

	for (int i = TOPIC_SOURCE; i < (int)t->kafka->n_topics; i++)
		if (message_bytes(t, i) > most)
			most = message_bytes(t, i);
	most += ENVELOPE_BYTES;
	return most > INT_MAX ? INT_MAX : most;
}

int64_t topics_record_bytes(const struct topics *t)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < TOPIC_SOURCE; i++)
		if (message_bytes(t, i) < least)
			least = message_bytes(t, i);
	return least;
}

struct decode_rules topics_decode_rules(const struct topics *t, const struct config *config)
{
	int64_t bytes = topics_record_bytes(t) - ENVELOPE_BYTES;

	return (struct decode_rules){
		.key = config->key_rule,
		.names = config->read_names,
		.classify = config->classify_rules,
		.max_bytes = bytes > 0 ? (size_t)bytes : 0,
	};
}

const struct kafka_pair *topics_settings(
	const struct topics *t, int topic, struct arena *arena, size_t *ret_n)
{
	struct kafka_pair *v = arena_alloc(arena, (ARRAY_LEN(requirements) + 1) * sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(requirements); i++)
		if (requirements[i].topic == topic)
			v[n++] = (struct kafka_pair){requirements[i].name, requirements[i].value};
	if (topic < TOPIC_SOURCE)
		v[n++] = (struct kafka_pair){
			MESSAGE_BYTES, arena_printf(arena, "%lld", (long long)wanted_bytes(t))};
	*ret_n = n;
	return v;
}

/* --- checking --- */

struct checker {
	const struct topics *topics;
	topics_tell_fn *tell;
	void *arg;
	unsigned breaks;
};

__attribute__((format(printf, 3, 4))) static void say(
	struct checker *c, bool breaks, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->breaks += breaks;
	c->tell(c->arg, breaks, text);
}

static void say_setting(struct checker *c, const struct requirement *q, const char *is)
{
	static const char *const rules[] = {
		[EXACTLY] = "", [AT_LEAST] = "at least ", [AT_MOST] = "at most "};
	const char *topic = c->topics->kafka->topics[q->topic];

	say(c, q->breaks,
		"topic %s has %s=%s where it %s be %s%s; mend it with: kafka-configs.sh "
		"--bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config "
		"%s=%s",
		topic, q->name, is, q->breaks ? "must" : "should", rules[q->rule], q->value,
		c->topics->kafka->bootstrap_servers, topic, q->name, q->value);
}

static bool fulfils(const struct requirement *q, const char *is)
{
	long long a = strtoll(is, NULL, 10), b = strtoll(q->value, NULL, 10);

	if (q->rule == AT_LEAST)
		return a >= b;
	if (q->rule == AT_MOST)
		return a <= b;
	return strcmp(is, q->value) == 0;
}

static void check_settings(struct checker *c, int topic)
{
	for (size_t i = 0; i < ARRAY_LEN(requirements); i++) {
		const struct requirement *q = &requirements[i];
		const char *is = q->topic == topic ? setting(c->topics, topic, q->name) : NULL;

		if (is && !fulfils(q, is))
			say_setting(c, q, is);
	}
}

/* Too small for what the source lets in: such reads are parked as a pointer. Too small for any
 * entry at all: nothing can be written. */
static void check_bytes(struct checker *c, int topic)
{
	int64_t is = message_bytes(c->topics, topic), wanted = wanted_bytes(c->topics);
	char is_text[24], wanted_text[24];
	const struct requirement q = {
		topic, MESSAGE_BYTES, wanted_text, AT_LEAST, is < 2 * ENVELOPE_BYTES};

	snprintf(is_text, sizeof(is_text), "%lld", (long long)is);
	snprintf(wanted_text, sizeof(wanted_text), "%lld", (long long)wanted);
	if (is < wanted)
		say_setting(c, &q, is_text);
}

/* A write that one broker alone has acknowledged is lost with it. */
static void check_replication(struct checker *c, int topic)
{
	const struct requirement q = {
		topic, "unclean.leader.election.enable", "false", EXACTLY, false};
	const char *is = setting(c->topics, topic, q.name);

	if (is && strcmp(is, "true") == 0)
		say_setting(c, &q, is);
}

static void check_partitions(struct checker *c, int topic)
{
	const struct topics *t = c->topics;
	int32_t n = t->partitions[TOPIC_DLQ], is = t->partitions[topic];

	if (n && is != n)
		say(c, true,
			"topic %s has %d partitions where %s has %d; they must be equal for ever. "
			"If "
			"it is still empty, delete it and run `meter-dlq init`; else see README, "
			"\"Changing the number of partitions\"",
			t->kafka->topics[topic], is, t->kafka->topics[TOPIC_DLQ], n);
}

unsigned topics_check_topic(const struct topics *t, int topic, topics_tell_fn *tell, void *arg)
{
	struct checker c = {.topics = t, .tell = tell, .arg = arg};

	if (!t->partitions[topic]) {
		say(&c, true, "topic %s does not exist; run `meter-dlq init`",
			t->kafka->topics[topic]);
	} else if (topic < TOPIC_SOURCE) {
		check_partitions(&c, topic);
		check_settings(&c, topic);
		check_bytes(&c, topic);
		check_replication(&c, topic);
	}
	return c.breaks;
}

unsigned topics_check(const struct topics *t, topics_tell_fn *tell, void *arg)
{
	unsigned breaks = 0;

	for (int i = 0; i < (int)t->kafka->n_topics; i++)
		breaks += topics_check_topic(t, i, tell, arg);
	return breaks;
}

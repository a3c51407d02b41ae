#include "config_table.h"

#include <stdlib.h>

#define VALUE_BYTES ((size_t)64 * 1024)

int config_read(struct config *c, const char *path, size_t max, struct buf *ret, struct err *err)
{
	if (c->read(c->read_arg, path, ret, err))
		return err_prefix(err, "%.200s", path);
	if (ret->n > max || (ret->n && memchr(ret->p, '\0', ret->n)))
		return err_set(
			err, ERR_CONFIG, "%.200s: not a text of at most %zu bytes", path, max);
	return 0;
}

/* "@/path" is the content of that file, without the line end after it. */
static int resolve(struct config *c, const char **value, struct err *err)
{
	CLEANUP(buf_free) struct buf content = {0};
	int r;

	if (strncmp(*value, "@/", 2) != 0)
		return 0;
	if ((r = config_read(c, *value + 1, VALUE_BYTES, &content, err)))
		return r;
	while (content.n && (content.p[content.n - 1] == '\n' || content.p[content.n - 1] == '\r'))
		content.n--;
	*value = arena_cstr(&c->arena, slice_of(content.p, content.n));
	return 0;
}

/* Where a value came from, and the file that it was read from. */
static const char *place(struct config *c, const char *where, struct slice value)
{
	if (value.n < 2 || memcmp(value.p, "@/", 2) != 0)
		return where;
	return arena_printf(
		&c->arena, "%s, from %.*s", where, (int)value.n - 1, (const char *)value.p + 1);
}

static int set_option(struct config *c, enum config_level level, const char *where,
	const struct config_entry *e, struct slice value, struct err *err)
{
	enum config_level *held = &c->level[e - config_options];
	const char *text = arena_cstr(&c->arena, value);

	if (level < *held)
		return 0;
	if (resolve(c, &text, err) || config_value_set(c, e, text, err))
		return err_prefix(err, "%s", where);
	*held = level;
	c->where[e - config_options] = place(c, where, value);
	return 0;
}

static int config_unknown(const char *where, const char *key, struct err *err)
{
	const char *names[CONFIG_OPTION_COUNT];

	for (size_t i = 0; i < CONFIG_OPTION_COUNT; i++)
		names[i] = config_options[i].name;
	return err_set(err, ERR_CONFIG, "%s: unknown key \"%.100s\"; the nearest is \"%s\"", where,
		key, config_nearest(key, names, ARRAY_LEN(names)));
}

int config_set(struct config *c, enum config_level level, const char *where, struct slice key,
	struct slice value, struct err *err)
{
	static const char kafka[] = "kafka.";
	const struct config_entry *e = config_option_find(key);

	if (e)
		return set_option(c, level, where, e, value, err);
	if (key.n > sizeof(kafka) - 1 && memcmp(key.p, kafka, sizeof(kafka) - 1) == 0)
		return config_set_kafka(c, level, where,
			slice_of(key.p + sizeof(kafka) - 1, key.n - sizeof(kafka) + 1), value, err);
	return config_unknown(where, arena_cstr(&c->arena, key), err);
}

static struct config_setting *find_setting(struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_kafka; i++)
		if (strcmp(c->kafka[i].name, name) == 0)
			return &c->kafka[i];
	c->kafka = mem_realloc(c->kafka, (c->n_kafka + 1) * sizeof(*c->kafka));
	c->kafka[c->n_kafka] = (struct config_setting){.name = name};
	return &c->kafka[c->n_kafka++];
}

static int set_setting(struct config *c, enum config_level level, const char *where,
	const char *name, struct slice value, struct err *err)
{
	struct config_setting *setting = find_setting(c, name);
	const char *text = arena_cstr(&c->arena, value);

	if (level < setting->level)
		return 0;
	if (resolve(c, &text, err))
		return err_prefix(err, "%s", where);
	setting->value = text;
	setting->level = level;
	setting->where = place(c, where, value);
	return 0;
}

/*
 * What the protocol rests on cannot be set. A file that was written for other clients may say
 * what holds anyway, such as acks=all.
 */
static int refuse_fixed(const struct config_pair *fixed, enum config_level level, const char *where,
	struct slice value, struct err *err)
{
	if (level == LEVEL_KAFKA_FILE && slice_eq(value, slice_str(fixed->value)))
		return 0;
	return err_set(err, ERR_CONFIG,
		"%s: kafka.%s cannot be set: the protocol rests on it (%s); remove it", where,
		fixed->name, fixed->value);
}

/*
 * kcat's prefix for settings of a topic, where librdkafka itself needs none. Some settings of a
 * client begin with it, too.
 */
static struct slice without_topic_prefix(struct slice name)
{
	static const struct slice prefix = SLICE_INIT("topic.");
	static const struct slice settings[] = {
		SLICE_INIT("topic.metadata."), SLICE_INIT("topic.blacklist")};

	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (slice_begins(name, settings[i]))
			return name;
	if (!slice_begins(name, prefix))
		return name;
	return slice_of(name.p + prefix.n, name.n - prefix.n);
}

int config_set_kafka(struct config *c, enum config_level level, const char *where,
	struct slice name, struct slice value, struct err *err)
{
	name = without_topic_prefix(name);

	const struct config_pair *fixed = config_pair_find(config_fixed, config_fixed_n, name);
	const struct config_pair *alias = config_pair_find(config_aliases, config_aliases_n, name);
	const char *text = arena_cstr(&c->arena, name);
	const char *key = alias ? alias->value : arena_printf(&c->arena, "kafka.%s", text);
	const struct config_entry *e = config_option_find(slice_str(key));

	if (fixed)
		return refuse_fixed(fixed, level, where, value, err);
	if (e)
		return set_option(c, level, where, e, value, err);
	return set_setting(c, level, where, text, value, err);
}

static int set_defaults(struct config *c, struct err *err)
{
	for (size_t i = 0; i < CONFIG_OPTION_COUNT; i++) {
		const struct config_entry *e = &config_options[i];

		if (config_value_set(c, e, e->preset, err))
			return err_prefix(err, "the default of %s", e->name);
	}
	return 0;
}

static int check_topics(const struct config *c, struct err *err)
{
	const char *own[] = {c->dlq_topic, c->inbox_topic, c->parked_topic};
	size_t n = ARRAY_LEN(own) + c->source_topics.n;

	if (!c->source_topics.n)
		return err_set(err, ERR_CONFIG, "source.topics is empty");
	for (size_t i = 0; i < n; i++) {
		const char *name = i < 3 ? own[i] : c->source_topics.v[i - 3];

		if (!topic_name_valid(slice_str(name)))
			return err_set(
				err, ERR_CONFIG, "\"%.250s\" cannot be a topic's name", name);
		for (size_t j = 0; j < i; j++)
			if (strcmp(name, j < 3 ? own[j] : c->source_topics.v[j - 3]) == 0)
				return err_set(err, ERR_CONFIG,
					"topic %s is configured twice: source.topics, dlq.topic, "
					"inbox.topic and parked.topic must all differ",
					name);
	}
	return 0;
}

/* An SQL name that needs no quoting, with or without its schema. */
static bool sql_name_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
	static const char others[] = "abcdefghijklmnopqrstuvwxyz_0123456789$";
	size_t n = strspn(name, others);

	if (n == 0 || !strchr(letters, name[0]))
		return false;
	if (name[n] != '.')
		return !name[n];
	name += n + 1;
	return name[0] && strchr(letters, name[0]) && !name[strspn(name, others)];
}

/* What no single value shows. */
static int check(struct config *c, unsigned command, struct err *err)
{
	if (check_topics(c, err))
		return ERR_CONFIG;
	if (!c->group_id[0])
		return err_set(err, ERR_CONFIG, "group.id is empty");
	if (!key_rule_parse(c->key_from, &c->key_rule))
		return err_set(err, ERR_CONFIG,
			"key.from: \"%.100s\" is none of auto, key, header:NAME, payload",
			c->key_from);
	if (read_names_parse(c->payload_fields.v, c->payload_fields.n, &c->read_names, err))
		return err_prefix(err, "payload.fields");
	if (classify_rules_parse(&c->arena, c->classify.v, c->classify.n, &c->classify_rules, err))
		return err_prefix(err, "classify");
	if (!sql_name_valid(c->sink_function))
		return err_set(err, ERR_CONFIG,
			"sink.function: \"%.100s\" is no name in small letters, with or without a "
			"schema before it",
			c->sink_function);
	if (c->audit_table[0] && !sql_name_valid(c->audit_table))
		return err_set(err, ERR_CONFIG,
			"audit.table: \"%.100s\" is no name in small letters, with or without a "
			"schema before it",
			c->audit_table);
	if (command == COMMAND_AUDIT && c->execute && !c->repair)
		return err_set(err, ERR_CONFIG, "--execute does nothing without --repair");
	if (strcmp(c->log_format, "auto") != 0 && strcmp(c->log_format, "json") != 0 &&
		strcmp(c->log_format, "text") != 0)
		return err_set(err, ERR_CONFIG,
			"log.format: \"%.100s\" is none of auto, json, text", c->log_format);
	if (c->backoff_max < c->backoff_initial)
		return err_set(err, ERR_CONFIG,
			"replay.backoff.max is shorter than replay.backoff.initial");
	return 0;
}

int config_load(struct config *ret, unsigned command, int argc, char *const *argv,
	char *const *environment, config_read_fn *read, void *read_arg, struct err *err)
{
	int r;

	*ret = (struct config){.read = read, .read_arg = read_arg};
	if ((r = set_defaults(ret, err)) || (r = config_flags(ret, command, argc, argv, err)))
		return r;
	if (ret->help)
		return 0;
	if ((r = config_environment(ret, environment, err)))
		return r;
	if (ret->config_file && (r = config_file(ret, LEVEL_FILE, ret->config_file, err)))
		return r;
	if (ret->kafka_file && (r = config_file(ret, LEVEL_KAFKA_FILE, ret->kafka_file, err)))
		return r;
	return check(ret, command, err);
}

int config_committed_table(
	struct arena *a, const struct config *c, const char **ret, struct err *err)
{
	const char *dot = strchr(c->sink_function, '.');
	const char *name = dot ? dot + 1 : c->sink_function;

	*ret = c->audit_table;
	if (c->audit_table[0])
		return 0;
	if (strcmp(name, "commit_meter_reads") != 0)
		return err_set(err, ERR_CONFIG,
			"sink.function is %.100s, and only it knows where its reads are: set "
			"audit.table to a table or view with the columns idempotency_key, "
			"meter_id, read_at, sequence, kwh, reading_type and quality of them",
			c->sink_function);
	*ret = arena_printf(a, "%.*smeter_read", (int)(name - c->sink_function), c->sink_function);
	return 0;
}

void config_free(struct config *c)
{
	free(c->kafka);
	arena_free(&c->arena);
}

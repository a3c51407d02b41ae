/* The layers of the configuration: environment and files. Flags: config_flags.c. */
#include "config_table.h"

#define CONFIG_FILE_BYTES ((size_t)1024 * 1024)

static const char prefix[] = "METER_DLQ_";

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* "METER_DLQ_" and the key in capitals, '_' for '.'. */
static char *environment_name(struct arena *a, const char *key)
{
	char *name = arena_printf(a, "%s%s", prefix, key);

	for (char *p = name; *p; p++)
		*p = *p == '.' ? '_' : upper(*p);
	return name;
}

/* As the apache/kafka image does: "_" is ".", "__" is "_", "___" is "-". */
static struct slice kafka_name(struct arena *a, struct slice text)
{
	char *name = arena_alloc(a, text.n);
	size_t n = 0, run;

	for (size_t i = 0; i < text.n; i += run) {
		for (run = 0; run < 3 && i + run < text.n && text.p[i + run] == '_'; run++)
			;
		name[n++] = run == 0 ? lower((char)text.p[i]) : "._-"[run - 1];
		run += run == 0;
	}
	return slice_of(name, n);
}

static struct slice option_key(struct arena *a, struct slice text)
{
	char *key = arena_cstr(a, text);

	for (char *p = key; *p; p++)
		*p = *p == '_' ? '.' : lower(*p);
	return slice_str(key);
}

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Kubernetes sets these in every pod beside a Service that is called meter-dlq. */
static bool is_service_link(const char *name)
{
	return begins(name, "SERVICE_") || begins(name, "PORT=") || begins(name, "PORT_");
}

static int set_variable(struct config *c, const char *variable, struct err *err)
{
	const char *name = variable + sizeof(prefix) - 1, *equals = strchr(name, '=');
	struct slice text = slice_of(name, (size_t)(equals - name));
	struct slice value = slice_str(equals + 1);
	struct slice key = option_key(&c->arena, text);
	const char *where = arena_cstr(&c->arena, slice_of(variable, (size_t)(equals - variable)));

	if (begins(name, "KAFKA_"))
		return config_set_kafka(c, LEVEL_ENVIRONMENT, where,
			kafka_name(&c->arena, slice_of(text.p + 6, text.n - 6)), value, err);
	if (!config_option_find(key)) {
		const char *names[CONFIG_OPTION_COUNT];

		for (size_t i = 0; i < CONFIG_OPTION_COUNT; i++)
			names[i] = environment_name(&c->arena, config_options[i].name);
		return err_set(err, ERR_CONFIG, "%.100s sets nothing; the nearest is %s", where,
			config_nearest(where, names, ARRAY_LEN(names)));
	}
	return config_set(c, LEVEL_ENVIRONMENT, where, key, value, err);
}

int config_environment(struct config *c, char *const *environment, struct err *err)
{
	for (; *environment; environment++) {
		const char *variable = *environment;
		int r;

		if (!begins(variable, prefix) || !strchr(variable, '=') ||
			is_service_link(variable + sizeof(prefix) - 1))
			continue;
		r = set_variable(c, variable, err);
		if (r)
			return r;
	}
	return 0;
}

/* --- files --- */

static struct slice trim(struct slice s)
{
	while (s.n && strchr(" \t\r", s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && strchr(" \t\r", s.p[s.n - 1]))
		s.n--;
	return s;
}

/* word="value" or word='value' in a JAAS line; null where there is none. */
static struct slice jaas_word(struct arena *a, struct slice line, const char *word)
{
	const char *text = arena_cstr(a, line), *p = text, *end;
	size_t n = strlen(word);

	while ((p = strstr(p, word))) {
		bool whole = p > text && strchr(" \t", p[-1]) && p[n] == '=';

		p += n;
		if (!whole || (p[1] != '"' && p[1] != '\''))
			continue;
		end = strchr(p + 2, p[1]);
		return end ? slice_of(p + 2, (size_t)(end - p - 2)) : SLICE_NULL;
	}
	return SLICE_NULL;
}

/* Java's clients keep user and password in one setting, librdkafka in two. */
static int set_jaas(struct config *c, const char *where, struct slice value, struct err *err)
{
	static const struct config_pair words[] = {
		{"username", "sasl.username"}, {"password", "sasl.password"}};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct slice word = jaas_word(&c->arena, value, words[i].name);
		int r;

		if (slice_is_null(word))
			return err_set(err, ERR_CONFIG,
				"%s: sasl.jaas.config has no %s in quotes; set %s", where,
				words[i].name, words[i].value);
		r = config_set_kafka(
			c, LEVEL_KAFKA_FILE, where, slice_str(words[i].value), word, err);
		if (r)
			return r;
	}
	return 0;
}

static int set_line(struct config *c, enum config_level level, const char *where, struct slice line,
	struct err *err)
{
	const uint8_t *equals = line.n ? memchr(line.p, '=', line.n) : NULL;
	struct slice key, value;

	if (!equals)
		return err_set(err, ERR_CONFIG, "%s: \"%.*s\" is not \"key = value\"", where,
			(int)(line.n < 60 ? line.n : 60), (const char *)line.p);
	key = trim(slice_of(line.p, (size_t)(equals - line.p)));
	value = trim(slice_of(equals + 1, (size_t)(line.p + line.n - equals - 1)));
	if (level != LEVEL_KAFKA_FILE)
		return config_set(c, level, where, key, value, err);
	if (slice_eq(key, SLICE_LIT("sasl.jaas.config")))
		return set_jaas(c, where, value, err);
	return config_set_kafka(c, level, where, key, value, err);
}

/*
 * Joins lines that end in a backslash (java.util.Properties, Properties.load), in place, keeping
 * their number: what was joined is followed by as many empty lines.
 */
static void join_lines(struct buf *text)
{
	size_t to = 0, joined = 0;

	for (size_t i = 0; i < text->n; i++) {
		if (text->p[i] == '\\' && i + 1 < text->n && text->p[i + 1] == '\n') {
			joined++;
			i++;
			continue;
		}
		text->p[to++] = text->p[i];
		if (text->p[i] == '\n')
			for (; joined; joined--)
				text->p[to++] = '\n';
	}
	text->n = to;
}

static int set_lines(struct config *c, enum config_level level, const char *path, struct slice text,
	struct err *err)
{
	unsigned number = 0;

	while (text.n) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;
		struct slice line = trim(slice_of(text.p, n));
		int r;

		text = slice_of(text.p + n + !!end, text.n - n - !!end);
		number++;
		if (!line.n || line.p[0] == '#' || (level == LEVEL_KAFKA_FILE && line.p[0] == '!'))
			continue;
		r = set_line(
			c, level, arena_printf(&c->arena, "%.200s:%u", path, number), line, err);
		if (r)
			return r;
	}
	return 0;
}

int config_file(struct config *c, enum config_level level, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf content = {0};

	int r = config_read(c, path, CONFIG_FILE_BYTES, &content, err);

	if (r)
		return r;
	if (level == LEVEL_KAFKA_FILE)
		join_lines(&content);
	return set_lines(c, level, path, slice_of(content.p, content.n), err);
}

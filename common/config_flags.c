/* Flags: --name VALUE, --name=VALUE, -x VALUE, -xVALUE; switches without a value may be joined. */
#include "config_table.h"

struct words {
	char *const *v;
	int n, at;
};

static const struct config_entry *find_letter(const struct config_entry *v, size_t n, char letter)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].letter == letter)
			return &v[i];
	return NULL;
}

static const struct config_entry *find_switch(const char *name)
{
	for (size_t i = 0; i < config_switches_n; i++)
		if (strcmp(config_switches[i].name, name) == 0)
			return &config_switches[i];
	return NULL;
}

static bool is_switch(const struct config_entry *e)
{
	return e->commands != 0;
}

/* value: what came with the flag itself, else the next word. NULL: there is none. */
static const char *value_of(struct words *w, const char *flag, const char *value, struct err *err)
{
	if (!value && w->at < w->n)
		value = w->v[w->at++];
	if (!value)
		err_set(err, ERR_CONFIG, "%.100s needs a value", flag);
	return value;
}

/* A list that is given again goes on. */
static int add_to_list(
	struct config *c, const struct config_entry *e, const char *value, struct err *err)
{
	struct config_list *list = (void *)((char *)c + e->at), before = *list, all;
	int r = config_value_set(c, e, value, err);

	if (r || !before.n)
		return r;
	all.n = before.n + list->n;
	all.v = arena_alloc(&c->arena, all.n * sizeof(*all.v));
	memcpy(all.v, before.v, before.n * sizeof(*all.v));
	memcpy(all.v + before.n, list->v, list->n * sizeof(*all.v));
	*list = all;
	return 0;
}

static int set_switch(struct config *c, unsigned command, const struct config_entry *e,
	const char *flag, const char *value, struct words *w, struct err *err)
{
	if (!(e->commands & command))
		return err_set(err, ERR_CONFIG, "%.100s is not for this command", flag);
	if (e->type == TYPE_BOOL && value)
		return err_set(err, ERR_CONFIG, "%.100s takes no value", flag);
	if (e->type == TYPE_BOOL)
		return config_value_set(c, e, "true", err);
	value = value_of(w, flag, value, err);
	if (!value)
		return ERR_CONFIG;
	if ((e->type == TYPE_LIST ? add_to_list : config_value_set)(c, e, value, err))
		return err_prefix(err, "%.100s", flag);
	return 0;
}

static int set_option(struct config *c, const char *key, const char *flag, const char *value,
	struct words *w, struct err *err)
{
	value = value_of(w, flag, value, err);
	if (!value)
		return ERR_CONFIG;
	return config_set(c, LEVEL_FLAG, flag, slice_str(key), slice_str(value), err);
}

static int unknown_flag(
	struct config *c, unsigned command, const char *name, const char *flag, struct err *err)
{
	const char **names =
		arena_alloc(&c->arena, (config_switches_n + CONFIG_OPTION_COUNT) * sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < config_switches_n; i++)
		if (config_switches[i].commands & command)
			names[n++] = config_switches[i].name;
	for (size_t i = 0; i < CONFIG_OPTION_COUNT; i++)
		names[n++] = config_options[i].name;
	return err_set(err, ERR_CONFIG, "unknown flag %.100s; the nearest is --%s", flag,
		config_nearest(name, names, n));
}

/* --poison-cap is --poison.cap. */
static const char *flag_key(struct arena *a, const char *name)
{
	char *key = arena_cstr(a, slice_str(name));

	if (strncmp(key, "kafka.", 6) != 0)
		for (char *p = key; *p; p++)
			*p = *p == '-' ? '.' : *p;
	return key;
}

static int long_flag(
	struct config *c, unsigned command, const char *word, struct words *w, struct err *err)
{
	size_t n = strcspn(word, "=");
	const char *flag = arena_cstr(&c->arena, slice_of(word, n)), *name = flag + 2;
	const char *value = word[n] ? word + n + 1 : NULL;
	const struct config_entry *e = find_switch(name);
	const char *key = flag_key(&c->arena, name);

	if (e)
		return set_switch(c, command, e, flag, value, w, err);
	if (strncmp(key, "kafka.", 6) != 0 && !config_option_find(slice_str(key)))
		return unknown_flag(c, command, key, flag, err);
	return set_option(c, key, flag, value, w, err);
}

/* -X name=value, as kcat. */
static int kafka_flag(struct config *c, const char *value, struct words *w, struct err *err)
{
	const char *equals;

	value = value_of(w, "-X", value, err);
	if (!value)
		return ERR_CONFIG;
	equals = strchr(value, '=');
	if (!equals)
		return err_set(err, ERR_CONFIG, "-X %.100s is not name=value", value);
	return config_set_kafka(c, LEVEL_FLAG, "-X", slice_of(value, (size_t)(equals - value)),
		slice_str(equals + 1), err);
}

static int letter_flags(
	struct config *c, unsigned command, const char *word, struct words *w, struct err *err)
{
	for (const char *p = word + 1; *p; p++) {
		const char *flag = arena_printf(&c->arena, "-%c", *p);
		const char *rest = p[1] ? p + 1 : NULL;
		const struct config_entry *s = find_letter(config_switches, config_switches_n, *p);
		const struct config_entry *e =
			s ? s : find_letter(config_options, CONFIG_OPTION_COUNT, *p);
		int r;

		if (*p == 'X')
			return kafka_flag(c, rest, w, err);
		if (!e)
			return err_set(err, ERR_CONFIG, "unknown flag %s; see --help", flag);
		if (!is_switch(e))
			return set_option(c, e->name, flag, rest, w, err);
		if (e->type != TYPE_BOOL)
			return set_switch(c, command, e, flag, rest, w, err);
		r = set_switch(c, command, e, flag, NULL, w, err);
		if (r)
			return r;
	}
	return 0;
}

/* A word that is no flag. */
static int set_argument(struct config *c, unsigned command, const char *word, struct err *err)
{
	const struct config_entry *e = config_argument(command);
	const char **held = e ? (const char **)((char *)c + e->at) : NULL;

	if (!e)
		return err_set(err, ERR_CONFIG,
			"unexpected argument \"%.100s\"; flags begin with -, see --help", word);
	if (*held)
		return err_set(err, ERR_CONFIG,
			"a second %s, \"%.100s\": give one; quote it where it holds blanks",
			e->argument, word);
	return config_value_set(c, e, word, err);
}

int config_flags(struct config *c, unsigned command, int argc, char *const *argv, struct err *err)
{
	struct words w = {.v = argv, .n = argc};
	bool flags = true; /* until "--" */

	while (w.at < w.n) {
		const char *word = w.v[w.at++];
		int r;

		if (flags && strcmp(word, "--") == 0) {
			flags = false;
			continue;
		}
		if (!flags || word[0] != '-' || !word[1])
			r = set_argument(c, command, word, err);
		else if (word[1] == '-')
			r = long_flag(c, command, word, &w, err);
		else
			r = letter_flags(c, command, word, &w, err);
		if (r)
			return r;
	}
	return 0;
}

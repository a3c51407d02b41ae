#include "config_table.h"

#include <stddef.h>

const struct config_entry config_options[CONFIG_OPTION_COUNT] = {
#define OPTION(field, key, kind, value, low, high, mark, doc)                                      \
	[CONFIG_OPTION_##field] = {.name = (key),                                                  \
		.type = TYPE_##kind,                                                               \
		.letter = (mark),                                                                  \
		.at = offsetof(struct config, field),                                              \
		.text = (doc),                                                                     \
		.preset = (value),                                                                 \
		.min = (low),                                                                      \
		.max = (high)},
#include "options.def"
};

const struct config_entry config_switches[] = {
#define SWITCH(field, key, kind, mark, whose, metavar, doc)                                        \
	{.name = (key),                                                                            \
		.type = TYPE_##kind,                                                               \
		.letter = (mark),                                                                  \
		.at = offsetof(struct config, field),                                              \
		.text = (doc),                                                                     \
		.max = INT64_MAX,                                                                  \
		.commands = (whose),                                                               \
		.argument = (metavar)},
#include "options.def"
};
const size_t config_switches_n = ARRAY_LEN(config_switches);

static const struct config_entry arguments[] = {
#define ARGUMENT(field, whose, metavar, doc)                                                       \
	{.name = "",                                                                               \
		.type = TYPE_TEXT,                                                                 \
		.at = offsetof(struct config, field),                                              \
		.text = (doc),                                                                     \
		.commands = (whose),                                                               \
		.argument = (metavar)},
#include "options.def"
};

const struct config_entry *config_argument(unsigned command)
{
	for (size_t i = 0; i < ARRAY_LEN(arguments); i++)
		if (arguments[i].commands & command)
			return &arguments[i];
	return NULL;
}

const struct config_pair config_fixed[] = {
#define FIXED(name, value) {(name), (value)},
#include "options.def"
};
const size_t config_fixed_n = ARRAY_LEN(config_fixed);

const struct config_pair config_aliases[] = {
#define ALIAS(name, key) {(name), (key)},
#include "options.def"
};
const size_t config_aliases_n = ARRAY_LEN(config_aliases);

const struct config_entry *config_option_find(struct slice key)
{
	for (size_t i = 0; i < CONFIG_OPTION_COUNT; i++)
		if (slice_eq(slice_str(config_options[i].name), key))
			return &config_options[i];
	return NULL;
}

const struct config_pair *config_pair_find(const struct config_pair *v, size_t n, struct slice name)
{
	for (size_t i = 0; i < n; i++)
		if (slice_eq(slice_str(v[i].name), name))
			return &v[i];
	return NULL;
}

#define NEAREST_BYTES 128

/* Levenshtein's distance of the first NEAREST_BYTES of each. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t n = strnlen(b, NEAREST_BYTES), row[NEAREST_BYTES + 1];

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; i < strnlen(a, NEAREST_BYTES); i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[n];
}

const char *config_nearest(const char *text, const char *const *names, size_t n)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t distance = edit_distance(text, names[i]);

		if (distance < best_distance) {
			best_distance = distance;
			best = names[i];
		}
	}
	return best;
}

/* config_table.h: options.def as data, for config*.c alone. */
#ifndef COMMON_CONFIG_TABLE_H
#define COMMON_CONFIG_TABLE_H

#include "config.h"

enum config_type { TYPE_TEXT, TYPE_LIST, TYPE_DURATION, TYPE_SIZE, TYPE_COUNT, TYPE_BOOL };

/* An option, or a switch: then min, max and preset are unused. */
struct config_entry {
	const char *name;
	enum config_type type;
	char letter; /* 0: none */
	size_t at;   /* offset in struct config */
	const char *text;
	const char *preset;
	int64_t min, max;
	unsigned commands;
	const char *argument; /* of a switch */
};

extern const struct config_entry config_options[CONFIG_OPTION_COUNT];
extern const struct config_entry config_switches[];
extern const size_t config_switches_n;

/* The word that a command takes besides flags; NULL: none. */
const struct config_entry *config_argument(unsigned command);
/* A value of c as its text; NULL for an unset switch. */
const char *config_value_text(
	const struct config *c, const struct config_entry *e, struct arena *arena);

struct config_pair {
	const char *name, *value;
};
extern const struct config_pair config_fixed[], config_aliases[];
extern const size_t config_fixed_n, config_aliases_n;

/* NULL: none of that name. */
const struct config_entry *config_option_find(struct slice key);
const struct config_pair *config_pair_find(
	const struct config_pair *v, size_t n, struct slice name);

/* Sets what e describes to the value that text gives. */
MUST_CHECK int config_value_set(
	struct config *c, const struct config_entry *e, const char *text, struct err *err);

/*
 * Sets an option, or a librdkafka setting (name without "kafka."), unless a higher level has set it
 * already. where is for the error: the flag, the variable, the line.
 */
MUST_CHECK int config_set(struct config *c, enum config_level level, const char *where,
	struct slice key, struct slice value, struct err *err);
MUST_CHECK int config_set_kafka(struct config *c, enum config_level level, const char *where,
	struct slice name, struct slice value, struct err *err);
/* Reads a text file of at most max bytes. */
MUST_CHECK int config_read(
	struct config *c, const char *path, size_t max, struct buf *ret, struct err *err);

/* The layers. */
MUST_CHECK int config_flags(
	struct config *c, unsigned command, int argc, char *const *argv, struct err *err);
MUST_CHECK int config_environment(struct config *c, char *const *environment, struct err *err);
MUST_CHECK int config_file(
	struct config *c, enum config_level level, const char *path, struct err *err);

#endif

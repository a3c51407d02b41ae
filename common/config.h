/*
 * config.h: the configuration: flags over environment over file over defaults, all by the one table
 * options.def. Pure: the environment comes as an array, files through a callback.
 */
#ifndef COMMON_CONFIG_H
#define COMMON_CONFIG_H

#include "dead_letter.h"
#include "err.h"
#include "mem.h"

#define CONFIG_SECOND (1000000LL)
#define CONFIG_DAY (86400 * CONFIG_SECOND)
#define CONFIG_GIB (1024LL * 1024 * 1024)

/* The commands, as bits: which switches are theirs. */
enum {
	COMMAND_RUN = 1,
	COMMAND_INIT = 2,
	COMMAND_PUT = 4,
	COMMAND_LIST = 8,
	COMMAND_AUDIT = 16,
	COMMAND_SHOW = 32,
	COMMAND_STATS = 64,
	COMMAND_CONFIG = 128,
	COMMAND_CHECK = 256,
	COMMAND_SCHEMAS = 512,
	COMMAND_ALL = 1023,
	/* Those that choose among live entries and parked reads. */
	COMMAND_CHOOSE = COMMAND_LIST | COMMAND_SHOW | COMMAND_STATS,
};

/* Where a value came from; a higher one wins, in whatever order they are set. */
enum config_level {
	LEVEL_DEFAULT = 0,
	LEVEL_KAFKA_FILE, /* --kafka-config */
	LEVEL_FILE,	  /* -F */
	LEVEL_ENVIRONMENT,
	LEVEL_FLAG,
};

struct config_list {
	char **v;
	size_t n;
};

/* A setting for librdkafka. */
struct config_setting {
	const char *name, *value;
	enum config_level level;
	const char *where; /* the flag, the variable, FILE:LINE */
};

/* How the table's types are held: durations in microseconds, sizes in bytes. */
#define CONFIG_TYPE_TEXT const char *
#define CONFIG_TYPE_LIST struct config_list
#define CONFIG_TYPE_DURATION int64_t
#define CONFIG_TYPE_SIZE int64_t
#define CONFIG_TYPE_COUNT int64_t
#define CONFIG_TYPE_BOOL bool

enum config_option {
#define OPTION(field, ...) CONFIG_OPTION_##field,
#include "options.def"
	CONFIG_OPTION_COUNT
};

/* Reads a file whole into *ret. The error need not name the file. */
typedef int config_read_fn(void *arg, const char *path, struct buf *ret, struct err *err);

/* Values borrow from the arena. Fields lie as the table has them, for people. */
struct config { /* NOLINT(clang-analyzer-optin.performance.Padding) */
#define OPTION(field, key, type, ...) CONFIG_TYPE_##type field;
#define SWITCH(field, name, type, ...) CONFIG_TYPE_##type field;
#define ARGUMENT(field, ...) const char *field;
#include "options.def"
	struct key_rule key_rule;	      /* key.from */
	struct read_names read_names;	      /* payload.fields */
	struct classify_rules classify_rules; /* classify */
	/* What librdkafka is to be given besides the keys that are options. */
	struct config_setting *kafka;
	size_t n_kafka;

	enum config_level level[CONFIG_OPTION_COUNT];
	const char *where[CONFIG_OPTION_COUNT]; /* as of a setting; NULL: the default */
	config_read_fn *read;
	void *read_arg;
	struct arena arena;
};

/*
 * Loads the configuration of a command. argv: the words after the command's name. environment: as
 * environ. read: for -F, --kafka-config and values of the form @/path. Where --help is among the
 * flags, nothing else is read. ERR_CONFIG says what is wrong where; ret is to be freed regardless.
 */
MUST_CHECK int config_load(struct config *ret, unsigned command, int argc, char *const *argv,
	char *const *environment, config_read_fn *read, void *read_arg, struct err *err);
void config_free(struct config *c);

/*
 * The relation in which what sink.function committed can be looked up: audit.table, or meter_read
 * in the schema of commit_meter_reads. ERR_CONFIG where it is another function and none is named.
 * *ret is in the arena, or borrows from c.
 */
MUST_CHECK int config_committed_table(
	struct arena *a, const struct config *c, const char **ret, struct err *err);

/* Digits and ms, s, m, h or d; false where text is no such duration. */
bool config_duration_parse(const char *text, int64_t *ret_us);

/* One effective value, for people. */
struct config_item {
	const char *key, *value, *where;
	enum config_level level;
	bool fixed; /* the protocol rests on it: nobody may set it */
};
/*
 * Everything that a configuration says, options first, then the settings for librdkafka, then those
 * that are fixed. Secrets are masked but in sink.conninfo, which libpq alone can take apart.
 * Borrows from c and arena.
 */
size_t config_items(const struct config *c, struct arena *arena, struct config_item **ret);

/* The name nearest to text by edit distance; NULL where n is 0. */
const char *config_nearest(const char *text, const char *const *names, size_t n);

/* Appends " [KEY]" where the command takes a word besides flags. */
void config_help_argument(struct buf *out, unsigned command);
/* Appends the switches of a command, or all options, as text for people. */
void config_help_switches(struct buf *out, unsigned command);
void config_help_options(struct buf *out);
/* Appends README's section. */
void config_help_markdown(struct buf *out);

#endif

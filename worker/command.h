/* command.h: the subcommands as data. */
#ifndef WORKER_COMMAND_H
#define WORKER_COMMAND_H

#include "config.h"

enum exit_status {
	STATUS_OK = 0,
	STATUS_SOME_FAILED = 1, /* some reads failed or were parked */
	STATUS_USAGE = 2,	/* usage or configuration */
	STATUS_UNREACHABLE = 3, /* Kafka or Postgres */
	STATUS_MISMATCH = 4,	/* the audit found one */
	STATUS_INTERNAL = 5,	/* fenced, or a bug */
};

/* An exit status, or a negative enum err_class with *err filled. */
typedef int command_fn(const struct config *config, struct err *err);

struct command {
	const char *name;
	unsigned bit; /* COMMAND_* of config.h */
	const char *summary;
	command_fn *run;
};

command_fn cmd_run, cmd_init, cmd_put, cmd_list, cmd_audit;
command_fn cmd_show, cmd_stats, cmd_config, cmd_check, cmd_schemas;

/* The exit status of an error. */
enum exit_status status_of_error(int class);

/* A line on stderr for the person who gave the command. */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);

#endif

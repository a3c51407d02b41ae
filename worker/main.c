/* main.c: meter-dlq COMMAND [FLAGS]. */
#include "command.h"
#include "kafka_setup.h"
#include "metrics.h"

#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)2 * 1024 * 1024)

extern char **environ; /* POSIX leaves it to the program to declare it */

static const struct command commands[] = {
	{"run", COMMAND_RUN, "work: take dead letters in, replay what is due, park what cannot be",
		cmd_run},
	{"init", COMMAND_INIT, "create the topics and install the SQL", cmd_init},
	{"put", COMMAND_PUT, "dead-letter the reads on stdin, one KEY<TAB>PAYLOAD a line", cmd_put},
	{"list", COMMAND_LIST, "list live entries or parked reads", cmd_list},
	{"show", COMMAND_SHOW, "show all there is of a read: show KEY, or show --meter M --day D",
		cmd_show},
	{"stats", COMMAND_STATS, "count reads, meters and energy, and say what to do", cmd_stats},
	{"audit", COMMAND_AUDIT, "prove that no dead letter is missing", cmd_audit},
	{"config", COMMAND_CONFIG, "print the configuration in effect and where it comes from",
		cmd_config},
	{"check", COMMAND_CHECK, "check Kafka, Postgres, topics and rights, and say what to do",
		cmd_check},
	{"schemas", COMMAND_SCHEMAS, "compare the schemas of our topics with a schema registry's",
		cmd_schemas},

};

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("meter-dlq: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

enum exit_status status_of_error(int class)
{
	switch ((enum err_class) class) {
	case ERR_CONFIG:
		return STATUS_USAGE;
	case ERR_UNREACHABLE:
		return STATUS_UNREACHABLE;
	case ERR_INTERRUPTED:
	case ERR_FENCED:
	case ERR_DATA:
	case ERR_RANGE:
	case ERR_INTERNAL:
	case ERR_CRASH:
		break;
	}
	return STATUS_INTERNAL;
}

static void closep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static int read_file(void *arg, const char *path, struct buf *ret, struct err *err)
{
	CLEANUP(closep) FILE *f = fopen(path, "re");
	size_t n = 1;

	(void)arg;
	while (f && n && ret->n < FILE_BYTES_MAX) {
		n = fread(buf_reserve(ret, 65536), 1, 65536, f);
		ret->n += n;
	}
	if (!f || ferror(f))
		return err_set(err, ERR_CONFIG, "%s", strerror(errno));
	return 0;
}

static void print(struct buf *text)
{
	fwrite(text->p, 1, text->n, stdout);
	buf_free(text);
}

static int print_usage(void)
{
	struct buf out = {0};

	buf_add_str(&out, "usage: meter-dlq COMMAND [FLAGS]\n\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		buf_printf(&out, "  %-7s %s\n", commands[i].name, commands[i].summary);
	buf_add_str(&out, "\nmeter-dlq COMMAND --help lists its flags, --version the version.\n");
	print(&out);
	return STATUS_OK;
}

static int print_help(const struct command *command)
{
	struct buf out = {0};

	buf_printf(&out, "usage: meter-dlq %s", command->name);
	config_help_argument(&out, command->bit);
	buf_printf(&out, " [FLAGS]\n%s\n\n", command->summary);
	config_help_switches(&out, command->bit);
	buf_add_str(&out, "\nAlso in the file as KEY = VALUE, in the environment as METER_DLQ_KEY\n"
			  "with _ for . :\n");
	config_help_options(&out);
	print(&out);
	return STATUS_OK;
}

/* A section of README. */
static int print_markdown(void (*section)(struct buf *))
{
	struct buf out = {0};

	section(&out);
	print(&out);
	return STATUS_OK;
}

static int print_version(void)
{
	printf("meter-dlq %s (librdkafka %s)\n", METER_DLQ_VERSION, rd_kafka_version_str());
	return STATUS_OK;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[ARRAY_LEN(commands)];

	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		names[i] = commands[i].name;
	say("unknown command \"%s\"; the nearest is \"%s\"", name,
		config_nearest(name, names, ARRAY_LEN(names)));
	return STATUS_USAGE;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	CLEANUP(config_free) struct config config;
	struct err err = {0};
	int r = config_load(&config, command->bit, argc, argv, environ, read_file, NULL, &err);

	if (r == 0 && config.help)
		return print_help(command);
	if (r == 0)
		r = kafka_setup_check(&config, &err);
	if (r == 0)
		r = command->run(&config, &err);
	if (r >= 0)
		return r;
	say("%s", err.text);
	return status_of_error(r);
}

static int dispatch(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *command = find_command(name);

	if (command)
		return run_command(command, argc - 2, argv + 2);
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return print_usage();
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return print_version();
	if (strcmp(name, "--help-markdown") == 0)
		return print_markdown(config_help_markdown);
	if (strcmp(name, "--metrics-markdown") == 0)
		return print_markdown(metrics_help_markdown);
	if (*name)
		return unknown_command(name);
	say("no command; see meter-dlq --help");
	return STATUS_USAGE;
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	if (fflush(stdout) || ferror(stdout)) {
		say("writing to stdout: %s", strerror(errno));
		return status ? status : STATUS_INTERNAL;
	}
	return status;
}

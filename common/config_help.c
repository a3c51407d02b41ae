/* Help and README's section, from the table. */
#include "config_table.h"

static void letter(struct buf *out, const struct config_entry *e)
{
	if (e->letter)
		buf_printf(out, "  -%c, ", e->letter);
	else
		buf_add_str(out, "      ");
}

#define COLUMNS 80
#define LETTER_COLUMNS 6
#define NAME_COLUMNS 24
#define TEXT_INDENT 10

/* Breaks text between words. */
static void add_wrapped(struct buf *out, const char *text)
{
	size_t column = COLUMNS;

	for (const char *p = text; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (column + 1 + n > COLUMNS) {
			buf_printf(out, "\n%*s", TEXT_INDENT, "");
			column = TEXT_INDENT;
		} else {
			buf_add_byte(out, ' ');
			column++;
		}
		buf_add(out, p, n);
		column += n;
		p += n;
	}
	buf_add_byte(out, '\n');
}

/* The text stands beside its name where a line has room for both. */
static void add_line(struct buf *out, const char *name, const char *text)
{
	if (strlen(name) <= NAME_COLUMNS &&
		LETTER_COLUMNS + NAME_COLUMNS + 1 + strlen(text) <= COLUMNS) {
		buf_printf(out, "%-*s %s\n", NAME_COLUMNS, name, text);
		return;
	}
	buf_add_str(out, name);
	add_wrapped(out, text);
}

static const char *name_of(struct arena *a, const struct config_entry *e)
{
	if (!*e->name)
		return e->argument;
	return arena_printf(
		a, "--%s%s%s", e->name, e->argument ? " " : "", e->argument ? e->argument : "");
}

static void help_line(struct buf *out, const struct config_entry *e)
{
	CLEANUP(arena_free) struct arena a = {0};
	const char *preset = e->preset && *e->preset ? e->preset : NULL;

	letter(out, e);
	add_line(out, name_of(&a, e),
		preset ? arena_printf(&a, "%s [%s]", e->text, preset) : e->text);
}

void config_help_argument(struct buf *out, unsigned command)
{
	const struct config_entry *argument = config_argument(command);

	if (argument)
		buf_printf(out, " [%s]", argument->argument);
}

void config_help_switches(struct buf *out, unsigned command)
{
	const struct config_entry *argument = config_argument(command);

	if (argument)
		help_line(out, argument);
	for (size_t i = 0; i < config_switches_n; i++)
		if (config_switches[i].commands & command)
			help_line(out, &config_switches[i]);
	buf_add_str(out, "  -X  ");
	add_line(out, "name=value", "set a librdkafka setting; the same as --kafka.name=value");
}

void config_help_options(struct buf *out)
{
	for (size_t i = 0; i < CONFIG_OPTION_COUNT; i++)
		if (*config_options[i].text)
			help_line(out, &config_options[i]);
}

void config_help_markdown(struct buf *out)
{
	buf_add_str(out, "| key | letter | default | meaning |\n|---|---|---|---|\n");
	for (size_t i = 0; i < CONFIG_OPTION_COUNT; i++) {
		const struct config_entry *e = &config_options[i];

		if (!*e->text)
			continue;
		buf_printf(out, "| `%s` | ", e->name);
		if (e->letter)
			buf_printf(out, "`-%c`", e->letter);
		buf_printf(out, " | %s%s%s | %s |\n", *e->preset ? "`" : "",
			*e->preset ? e->preset : "none", *e->preset ? "`" : "", e->text);
	}
	buf_add_str(out, "\nRefused, because the protocol rests on them: ");
	for (size_t i = 0; i < config_fixed_n; i++)
		buf_printf(out, "%s`kafka.%s`", i ? ", " : "", config_fixed[i].name);
	buf_add_str(out, ".\n");
}

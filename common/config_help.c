/* Help and README's section, from the table. */
#include "config_table.h"

static void letter(struct buf *out, const struct config_entry *e)
{
	if (e->letter)
		buf_printf(out, "  -%c, ", e->letter);
	else
		buf_add_str(out, "      ");
}

static void help_line(struct buf *out, const struct config_entry *e)
{
	CLEANUP(buf_free) struct buf name = {0};

	letter(out, e);
	buf_printf(&name, "--%s", e->name);
	if (e->argument)
		buf_printf(&name, " %s", e->argument);
	buf_printf(out, "%-32.*s %s", (int)name.n, (const char *)name.p, e->text);
	if (e->preset && *e->preset)
		buf_printf(out, " [%s]", e->preset);
	buf_add_str(out, "\n");
}

void config_help_switches(struct buf *out, unsigned command)
{
	const struct config_entry *argument = config_argument(command);

	if (argument)
		buf_printf(out, "      %-32s %s\n", argument->argument, argument->text);
	for (size_t i = 0; i < config_switches_n; i++)
		if (config_switches[i].commands & command)
			help_line(out, &config_switches[i]);
	buf_add_str(out,
		"  -X name=value                        set a librdkafka setting; the same "
		"as --kafka.name=value\n");
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

/* config: the values in effect, and where each comes from; secrets masked. */
#include "command.h"
#include "output.h"
#include "secret.h"
#include "visible.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#define VALUE_BYTES_MAX 4096

static void options_freep(PQconninfoOption **options)
{
	PQconninfoFree(*options);
}

/* libpq's mark of what is a password. */
static bool secret_option(const PQconninfoOption *o)
{
	return strchr(o->dispchar, '*') || secret_name(o->keyword);
}

static const char *option_text(struct arena *a, const PQconninfoOption *o)
{
	return secret_option(o) ? SECRET_MASK : arena_printf(a, "%s", o->val);
}

/* As key words, also where it was a URI. What cannot be taken apart is hidden whole. */
static const char *conninfo_text(struct arena *a, const char *conninfo)
{
	CLEANUP(options_freep) PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	CLEANUP(buf_free) struct buf text = {0};

	if (!options)
		return SECRET_MASK " (libpq cannot parse it)";
	for (const PQconninfoOption *o = options; o->keyword; o++)
		if (o->val)
			buf_printf(
				&text, "%s%s=%s", text.n ? " " : "", o->keyword, option_text(a, o));
	return text.n ? arena_cstr(a, slice_of(text.p, text.n)) : "";
}

static const char *level_name(const struct config_item *item)
{
	static const char *const names[] = {
		[LEVEL_DEFAULT] = "default",
		[LEVEL_KAFKA_FILE] = "file",
		[LEVEL_FILE] = "file",
		[LEVEL_ENVIRONMENT] = "environment",
		[LEVEL_FLAG] = "flag",
	};

	return item->fixed ? "fixed" : names[item->level];
}

static void print_item(struct arena *a, const struct config_item *item, bool json)
{
	if (json)
		output_json(json_pack("{s:s, s:s, s:s, s:s?}", "key", item->key, "value",
			item->value, "source", level_name(item), "where", item->where));
	else
		printf("%s = %s  # %s%s%s\n", item->key,
			visible(a, slice_str(item->value), VALUE_BYTES_MAX), level_name(item),
			item->where ? " " : "", item->where ? item->where : "");
}

/* What libpq takes from PG* variables and a service file, because conninfo lacks it. */
static void print_libpq(struct arena *a, const char *conninfo, bool json)
{
	CLEANUP(options_freep) PQconninfoOption *given = PQconninfoParse(conninfo, NULL);
	CLEANUP(options_freep) PQconninfoOption *all = PQconndefaults();

	for (int i = 0; given && all && all[i].keyword; i++) {
		const PQconninfoOption *o = &all[i];
		struct config_item item = {
			.key = arena_printf(a, "sink.conninfo %s", o->keyword),
			.where = o->envvar,
			.level = LEVEL_ENVIRONMENT,
		};

		if (given[i].val || !o->val || !o->envvar || !getenv(o->envvar))
			continue;
		item.value = option_text(a, o);
		print_item(a, &item, json);
	}
}

int cmd_config(const struct config *config, struct err *err)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct config_item *items;
	size_t n = config_items(config, &a, &items);

	(void)err;
	for (size_t i = 0; i < n; i++) {
		bool conninfo = strcmp(items[i].key, "sink.conninfo") == 0;

		if (conninfo)
			items[i].value = conninfo_text(&a, config->sink_conninfo);
		print_item(&a, &items[i], config->json);
		if (conninfo)
			print_libpq(&a, config->sink_conninfo, config->json);
	}
	return STATUS_OK;
}

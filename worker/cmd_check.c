/* check: whether all that the worker needs is there: each line "ok" or "NO" and what to do. */
#include "check.h"
#include "command.h"
#include "output.h"
#include "visible.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_BYTES_MAX 4096

/* What is asked, in this order. */
static void (*const parts[])(struct checking *) = {check_kafka, check_postgres, check_registry};

static void print_line(struct checking *c, bool ok, const char *what, const char *todo)
{
	if (c->config->json) {
		output_json(json_pack("{s:b, s:s, s:s?}", "ok", ok, "what", what, "todo", todo));
		return;
	}
	printf("%s %s%s%s\n", ok ? "ok" : "NO", visible(&c->arena, slice_str(what), LINE_BYTES_MAX),
		todo ? ": " : "", todo ? visible(&c->arena, slice_str(todo), LINE_BYTES_MAX) : "");
}

void check_ok(struct checking *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print_line(c, true, text, NULL);
}

void check_wrong(struct checking *c, const char *what, const char *todo)
{
	c->wrong++;
	print_line(c, false, what, todo);
}

void check_failed(struct checking *c, int r, const struct err *err, const char *todo)
{
	c->unreachable |= r == ERR_UNREACHABLE;
	check_wrong(c, err->text, todo);
}

int cmd_check(const struct config *config, struct err *err)
{
	struct checking c = {.config = config};

	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		parts[i](&c);
	say("not tried, as it would leave traces: writing to topics, joining the group, and the "
	    "transactional id; README, \"Permissions\", has what they need");
	arena_free(&c.arena);
	if (c.unreachable)
		return STATUS_UNREACHABLE;
	return c.wrong ? STATUS_SOME_FAILED : STATUS_OK;
}

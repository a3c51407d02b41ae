/* Values of the configuration from their text. */
#include "config_table.h"

struct unit {
	const char *suffix;
	int64_t size;
};
/* The smallest first. */
static const struct unit durations[] = {
	{"ms", 1000},
	{"s", CONFIG_SECOND},
	{"m", 60 * CONFIG_SECOND},
	{"h", 3600 * CONFIG_SECOND},
	{"d", CONFIG_DAY},
};
static const struct unit sizes[] = {
	{"", 1},
	{"B", 1},
	{"KiB", 1024},
	{"MiB", 1024LL * 1024},
	{"GiB", CONFIG_GIB},
};
static const struct unit counts[] = {{"", 1}};

struct units {
	const struct unit *v;
	size_t n;
	const char *what;
};

static struct units units_of(enum config_type type)
{
	if (type == TYPE_DURATION)
		return (struct units){durations, ARRAY_LEN(durations),
			"a duration such as 50ms, 30s, 5m, 12h or 90d"};
	if (type == TYPE_SIZE)
		return (struct units){sizes, ARRAY_LEN(sizes), "a size such as 512KiB or 4MiB"};
	return (struct units){counts, ARRAY_LEN(counts), "a whole number"};
}

/* False where text is not digits and one of the units, or is too large for any range. */
static bool quantity_parse(const char *text, struct units units, int64_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	int64_t n = 0;

	if (!digits)
		return false;
	for (size_t i = 0; i < digits; i++)
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, text[i] - '0', &n))
			return false;
	for (size_t i = 0; i < units.n; i++)
		if (strcmp(text + digits, units.v[i].suffix) == 0)
			return !__builtin_mul_overflow(n, units.v[i].size, ret);
	return false;
}

bool config_duration_parse(const char *text, int64_t *ret_us)
{
	return quantity_parse(text, units_of(TYPE_DURATION), ret_us);
}

/* In the largest unit that needs no fraction. */
static const char *quantity_format(struct arena *a, struct units units, int64_t n)
{
	size_t i = units.n - 1;

	while (i > 0 && (n == 0 || n % units.v[i].size))
		i--;
	return arena_printf(a, "%lld%s", (long long)(n / units.v[i].size), units.v[i].suffix);
}

static int quantity_set(struct config *c, const struct config_entry *e, const char *text,
	int64_t *ret, struct err *err)
{
	struct units units = units_of(e->type);
	int64_t n;

	if (!quantity_parse(text, units, &n))
		return err_set(err, ERR_CONFIG, "\"%.100s\" is not %s", text, units.what);
	if (n < e->min || n > e->max)
		return err_set(err, ERR_CONFIG, "%.100s is not between %s and %s", text,
			quantity_format(&c->arena, units, e->min),
			quantity_format(&c->arena, units, e->max));
	*ret = n;
	return 0;
}

static int bool_set(const char *text, bool *ret, struct err *err)
{
	bool yes = strcmp(text, "true") == 0;

	if (!yes && strcmp(text, "false") != 0)
		return err_set(
			err, ERR_CONFIG, "\"%.100s\" is neither \"true\" nor \"false\"", text);
	*ret = yes;
	return 0;
}

/* The empty text is the empty list; where there must be an item, config.c sees to it. */
static int list_set(struct arena *a, const char *text, struct config_list *ret, struct err *err)
{
	struct config_list list = {0};
	size_t commas = 0;

	if (!*text) {
		*ret = list;
		return 0;
	}
	for (const char *p = text; *p; p++)
		commas += *p == ',';
	list.v = arena_alloc(a, (commas + 1) * sizeof(*list.v));
	for (const char *p = text;; p++) {
		p += strspn(p, " \t");

		size_t whole = strcspn(p, ","), n = whole;

		while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
			n--;
		if (n == 0)
			return err_set(
				err, ERR_CONFIG, "\"%.100s\" has an empty item in its list", text);
		list.v[list.n++] = arena_cstr(a, slice_of(p, n));
		p += whole;
		if (!*p)
			break;
	}
	*ret = list;
	return 0;
}

int config_value_set(
	struct config *c, const struct config_entry *e, const char *text, struct err *err)
{
	void *ret = (char *)c + e->at;

	switch (e->type) {
	case TYPE_TEXT:
		*(const char **)ret = arena_cstr(&c->arena, slice_str(text));
		return 0;
	case TYPE_LIST:
		return list_set(&c->arena, text, ret, err);
	case TYPE_BOOL:
		return bool_set(text, ret, err);
	case TYPE_DURATION:
	case TYPE_SIZE:
	case TYPE_COUNT:
		return quantity_set(c, e, text, ret, err);
	}
	return err_set(err, ERR_INTERNAL, "option %s has no type", e->name);
}

static const char *list_text(struct arena *arena, const struct config_list *list)
{
	CLEANUP(buf_free) struct buf text = {0};

	for (size_t i = 0; i < list->n; i++)
		buf_printf(&text, "%s%s", i ? "," : "", list->v[i]);
	return arena_cstr(arena, slice_of(text.n ? text.p : (const uint8_t *)"", text.n));
}

const char *config_value_text(
	const struct config *c, const struct config_entry *e, struct arena *arena)
{
	const void *at = (const char *)c + e->at;

	switch (e->type) {
	case TYPE_TEXT:
		return *(const char *const *)at;
	case TYPE_LIST:
		return list_text(arena, at);
	case TYPE_BOOL:
		return *(const bool *)at ? "true" : "false";
	case TYPE_DURATION:
	case TYPE_SIZE:
	case TYPE_COUNT:
		break;
	}
	return quantity_format(arena, units_of(e->type), *(const int64_t *)at);
}

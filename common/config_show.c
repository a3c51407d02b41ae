/* What the configuration is in effect, and where each value comes from. */
#include "config_table.h"
#include "secret.h"

static const char *shown(struct arena *a, const char *key, const char *value)
{
	if (!*value)
		return value;
	return secret_name(key) ? SECRET_MASK : secret_mask_urls(a, value);
}

static struct config_item option_item(const struct config *c, size_t i, struct arena *a)
{
	const struct config_entry *e = &config_options[i];
	const char *value = config_value_text(c, e, a);

	return (struct config_item){
		.key = e->name,
		.value = i == CONFIG_OPTION_sink_conninfo ? value : shown(a, e->name, value),
		.where = c->where[i],
		.level = c->level[i],
	};
}

static struct config_item setting_item(const struct config_setting *s, struct arena *a)
{
	return (struct config_item){
		.key = arena_printf(a, "kafka.%s", s->name),
		.value = shown(a, s->name, s->value),
		.where = s->where,
		.level = s->level,
	};
}

static struct config_item fixed_item(const struct config_pair *p, struct arena *a)
{
	return (struct config_item){
		.key = arena_printf(a, "kafka.%s", p->name), .value = p->value, .fixed = true};
}

size_t config_items(const struct config *c, struct arena *arena, struct config_item **ret)
{
	size_t most = CONFIG_OPTION_COUNT + c->n_kafka + config_fixed_n, n = 0;
	struct config_item *v = arena_alloc(arena, most * sizeof(*v));

	for (size_t i = 0; i < CONFIG_OPTION_COUNT; i++)
		if (*config_options[i].text)
			v[n++] = option_item(c, i, arena);
	for (size_t i = 0; i < c->n_kafka; i++)
		v[n++] = setting_item(&c->kafka[i], arena);
	for (size_t i = 0; i < config_fixed_n; i++)
		v[n++] = fixed_item(&config_fixed[i], arena);
	*ret = v;
	return n;
}

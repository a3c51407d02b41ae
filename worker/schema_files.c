#include "schema_files.h"

#include "avsc_files.h"

const char *schema_file_text(const char *name)
{
	for (size_t i = 0; i < avsc_files_n; i++)
		if (strcmp(avsc_files[i].name, name) == 0)
			return avsc_files[i].text;
	return NULL;
}

static int pin_fingerprint(struct schema_cache *cache, struct slice text, struct err *err)
{
	struct avro_schema *schema;
	int r = avro_schema_parse(text, &schema, err);

	if (!r)
		schema_cache_pin(cache,
			&(struct schema_ref){
				.kind = SCHEMA_BY_FINGERPRINT, .number = schema->fingerprint},
			schema);
	return r;
}

static int pin_id(struct schema_cache *cache, uint64_t id, struct slice text, struct err *err)
{
	struct avro_schema *schema;
	int r = avro_schema_parse(text, &schema, err);

	if (!r)
		schema_cache_pin(
			cache, &(struct schema_ref){.kind = SCHEMA_BY_ID, .number = id}, schema);
	return r;
}

/* "7=path": the id, and where the path begins; 0 where there is none. False: a wrong id. */
static bool split_id(const char **item, uint64_t *ret_id)
{
	const char *equals = strchr(*item, '=');
	size_t digits = strspn(*item, "0123456789");
	uint64_t id = 0;

	*ret_id = 0;
	if (!equals || digits == 0 || (*item)[digits] != '=')
		return true;
	for (size_t i = 0; i < digits && id <= INT32_MAX; i++)
		id = id * 10 + (uint64_t)((*item)[i] - '0');
	*item = equals + 1;
	*ret_id = id;
	return id > 0 && id <= INT32_MAX;
}

static int load(
	struct schema_cache *cache, const struct config *config, const char *item, struct err *err)
{
	CLEANUP(buf_free) struct buf text = {0};
	const char *path = item;
	uint64_t id;
	int r;

	if (!split_id(&path, &id))
		return err_set(err, ERR_CONFIG,
			"schema.files: %.200s: a schema id is a number from 1 to 2147483647", item);
	r = config->read(config->read_arg, path, &text, err);
	if (!r)
		r = pin_fingerprint(cache, slice_of(text.p, text.n), err);
	if (!r && id)
		r = pin_id(cache, id, slice_of(text.p, text.n), err);
	if (!r)
		return 0;
	err_prefix(err, "schema.files: %.200s", path);
	return ERR_CONFIG;
}

int schema_files_load(struct schema_cache *cache, const struct config *config, struct err *err)
{
	int r = pin_fingerprint(cache, slice_str(schema_file_text("meter_read.avsc")), err);

	for (size_t i = 0; !r && i < config->schema_files.n; i++)
		r = load(cache, config, config->schema_files.v[i], err);
	return r;
}

/* check: the schema registry at each of its addresses, and the schema files. */
#include "check.h"
#include "registry_http.h"
#include "schema_files.h"

static const char network[] = "see registry.url, registry.user, registry.ca and the network";

static void check_address(struct checking *c, char *url)
{
	struct config one = *c->config;
	CLEANUP(registry_http_close) struct registry_http http;
	CLEANUP(registry_answer_free) struct registry_answer answer = {0};
	struct err err;
	int r;

	one.registry_url = (struct config_list){&url, 1};
	r = registry_http_open(&http, &one, &err);
	if (!r) {
		registry_ask(&http, REGISTRY_PROBE, NULL, &answer);
		if (answer.verdict != REGISTRY_OK)
			r = err_set(&err, ERR_UNREACHABLE, "schema registry %.200s: %.250s", url,
				answer.why);
	}
	if (r)
		check_failed(c, r, &err, network);
	else
		check_ok(c, "schema registry %s", url);
}

static void check_files(struct checking *c)
{
	struct schema_cache *cache = schema_cache_new(0);
	struct err err;
	int r = schema_files_load(cache, c->config, &err);

	if (r)
		check_failed(c, r, &err, "correct schema.files");
	else if (c->config->schema_files.n)
		check_ok(c, "%zu schema files", c->config->schema_files.n);
	schema_cache_free(cache);
}

void check_registry(struct checking *c)
{
	for (size_t i = 0; i < c->config->registry_url.n; i++)
		check_address(c, c->config->registry_url.v[i]);
	check_files(c);
}

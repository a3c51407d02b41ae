/*
 * schema_registry.c: what is wanted is fetched, a few at a time, over curl's multi interface. Any
 * failure opens the breaker; then one schema at a time is asked for until one is answered. Nothing
 * else tells whether the registry is well: its other pages come without its storage.
 */
#include "schema_registry.h"

#include "breaker.h"
#include "registry_http.h"
#include "report.h"
#include "schema_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FETCHES 8u
/* Unlike Postgres, a registry has little to do when it comes back. */
#define PROBE_PAUSE_US (5ll * 1000 * 1000)
#define PATIENCE_US (10ll * 1000 * 1000)
#define NO_SCHEMA "the registry's answer has no schema in it"
#define REFERENCES_BYTES (4 * REGISTRY_ANSWER_BYTES)

/* A schema that another one names. */
struct reference {
	char *name, *subject;
	json_int_t version;
	struct buf text;
};

struct fetch {
	bool busy;
	struct schema_ref ref;
	struct registry_call call;
	struct buf text; /* of the schema */
	struct reference references[AVRO_REFERENCES];
	size_t n_references;
	size_t next; /* reference to ask for */
	size_t bytes;
	bool probes; /* the breaker waits for it */
};

struct registry {
	struct schemas schemas;
	const struct config *config;
	struct clock *clock;
	struct report *report;
	struct schema_cache *cache;
	struct registry_http http;
	CURLM *multi;
	struct fetch fetches[FETCHES];
	/* A schema that was found; where another one fails, it tells whose fault that is. */
	struct schema_ref witness;
	bool has_witness, witness_failed;
	struct registry_call probe;
	struct schema_ref probed; /* by it: the witness of then */
	struct breaker breaker;
	bool away; /* and people have been told */
};

static struct registry *of(struct schemas *s)
{
	return (struct registry *)s;
}

static int64_t now_us(const struct registry *r)
{
	return clock_steady_us(r->clock);
}

/* --- whether it is well --- */

/* It has said what it has by ref, or that it has nothing. */
static void heard(struct registry *r, const struct schema_ref *ref)
{
	if (r->away)
		report_event(r->report, 'I', "registry-up", "the schema registry answers");
	r->away = false;
	breaker_ok(&r->breaker);
	r->witness_failed = false;
	for (size_t i = 0; i < FETCHES; i++)
		r->fetches[i].probes = false;
	schema_cache_answered(r->cache, ref, now_us(r));
}

static void open_breaker(struct registry *r, uint64_t random)
{
	int64_t now = now_us(r);

	if (r->breaker.state == BREAKER_OPEN) /* one of several that were under way */
		return;
	breaker_fail(&r->breaker, now, random);
	if (r->breaker.retry_us > now + PROBE_PAUSE_US)
		r->breaker.retry_us = now + PROBE_PAUSE_US;
}

static void trouble(struct registry *r, const char *why)
{
	open_breaker(r, clock_random(r->clock));
	if (!r->away)
		report_event(r->report, 'W', "registry-away",
			"schema registry %s: %s; what needs a schema that is not known yet waits, "
			"and no attempt is charged",
			registry_http_address(&r->http), why);
	r->away = true;
}

/* --- one schema --- */

/* NULL, or why it cannot be asked for. */
static const char *path_of(const struct config *c, const struct schema_ref *ref, struct buf *ret)
{
	static const char compatible[] = "/apis/ccompat/v7";
	char text[SCHEMA_REF_TEXT_BYTES];

	if (!c->registry_url.n)
		return "not in schema.files, and no registry.url is set";
	switch (ref->kind) {
	case SCHEMA_BY_ID:
		buf_printf(ret, "/schemas/ids/%" PRIu64, ref->number);
		return NULL;
	case SCHEMA_BY_GUID:
		buf_printf(
			ret, "/schemas/guids/%s", schema_ref_text(ref, text) + strlen("schema "));
		return NULL;
	case SCHEMA_BY_GLOBAL_ID:
		for (size_t i = 0; i < c->registry_url.n; i++)
			if (!strstr(c->registry_url.v[i], compatible))
				return "only an Apicurio registry knows it, so a registry.url that "
				       "ends in /apis/ccompat/v7";
		/* Its own API, beside the compatible one; libcurl resolves the dots. */
		buf_printf(ret, "/../../registry/v2/ids/globalIds/%" PRIu64, ref->number);
		return NULL;
	case SCHEMA_BY_FINGERPRINT:
		break;
	}
	return "not in schema.files; no registry knows fingerprints";
}

static void fetch_end(struct fetch *f)
{
	for (size_t i = 0; i < f->n_references; i++) {
		free(f->references[i].name);
		free(f->references[i].subject);
		buf_free(&f->references[i].text);
	}
	buf_free(&f->text);
	*f = (struct fetch){0};
}

static void fetch_unknown(struct registry *r, struct fetch *f, const char *why)
{
	schema_cache_unknown(r->cache, &f->ref, why, now_us(r));
	heard(r, &f->ref);
	fetch_end(f);
}

static void fetch_found(struct registry *r, struct fetch *f, struct avro_schema *schema)
{
	schema_cache_found(r->cache, &f->ref, schema);
	r->witness = f->ref;
	r->has_witness = true;
	heard(r, &f->ref);
	fetch_end(f);
}

/* Maybe for this schema's own sake: a probe, at once, tells whether others are answered. */
static void fetch_odd(struct registry *r, struct fetch *f, const char *why)
{
	schema_cache_failed(r->cache, &f->ref, true, why);
	if (r->has_witness && schema_ref_same(&r->witness, &f->ref))
		r->has_witness = false;
	if (f->probes)
		trouble(r, why);
	else if (r->breaker.state == BREAKER_CLOSED)
		open_breaker(r, 0);
	fetch_end(f);
}

static void fetch_refused(struct registry *r, struct fetch *f, const char *answer)
{
	char why[600];

	snprintf(why, sizeof(why), "the registry does not let us read it: %s", answer);
	fetch_odd(r, f, why);
}

static void ask(struct registry *r, struct registry_call *call, const char *path)
{
	registry_call_open(call, &r->http, path, NULL);
	curl_multi_add_handle(r->multi, call->easy);
}

static void fetch_start(struct registry *r, struct fetch *f, const struct schema_ref *ref)
{
	CLEANUP(buf_free) struct buf path = {0};

	f->busy = true;
	f->ref = *ref;
	path_of(r->config, ref, &path);
	ask(r, &f->call, (const char *)path.p);
}

static bool keep_text(struct fetch *f, struct slice text, struct buf *to)
{
	buf_add(to, text.p, text.n);
	f->bytes += text.n;
	return f->bytes <= REFERENCES_BYTES;
}

static bool has_reference(const struct fetch *f, const char *name)
{
	for (size_t i = 0; i < f->n_references; i++)
		if (strcmp(f->references[i].name, name) == 0)
			return true;
	return false;
}

/* NULL, or why they are refused. */
static const char *keep_references(struct fetch *f, const json_t *list)
{
	struct registry_reference ref;

	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!registry_reference_read(json_array_get(list, i), &ref))
			return "has a reference without name, subject and version";
		if (has_reference(f, ref.name))
			continue;
		if (f->n_references == AVRO_REFERENCES)
			return "has more than 64 references";
		f->references[f->n_references++] = (struct reference){.name = mem_strdup(ref.name),
			.subject = mem_strdup(ref.subject),
			.version = ref.version};
	}
	return NULL;
}

static void fetch_finish(struct registry *r, struct fetch *f)
{
	struct avro_reference v[AVRO_REFERENCES];
	struct avro_schema *schema;
	struct err err;

	for (size_t i = 0; i < f->n_references; i++)
		v[i] = (struct avro_reference){slice_str(f->references[i].name),
			slice_of(f->references[i].text.p, f->references[i].text.n)};
	if (avro_schema_parse_with(
		    slice_of(f->text.p, f->text.n), v, f->n_references, &schema, &err)) {
		err_prefix(&err, "is no Avro schema");
		fetch_unknown(r, f, err.text);
		return;
	}
	fetch_found(r, f, schema);
}

static void fetch_next(struct registry *r, struct fetch *f)
{
	CLEANUP(buf_free) struct buf path = {0};
	const struct reference *ref = &f->references[f->next];
	char *subject;

	if (f->next == f->n_references) {
		fetch_finish(r, f);
		return;
	}
	subject = curl_easy_escape(NULL, ref->subject, 0);
	buf_printf(
		&path, "/subjects/%s/versions/%lld?deleted=true", subject, (long long)ref->version);
	curl_free(subject);
	ask(r, &f->call, (const char *)path.p);
}

/* The schema itself, then what it refers to, one after the other. */
static struct buf *expected_text(struct fetch *f)
{
	return f->text.n ? &f->references[f->next++].text : &f->text;
}

static void fetch_schema(struct registry *r, struct fetch *f, const struct registry_schema *schema)
{
	const char *why;
	char text[100];

	if (schema->type == REGISTRY_JSON && !f->text.n) {
		fetch_found(r, f, NULL);
		return;
	}
	if (schema->type != REGISTRY_AVRO || !schema->text.n) {
		snprintf(text, sizeof(text), "is %.50s, not Avro or JSON", schema->type_name);
		fetch_unknown(r, f, text);
		return;
	}
	why = keep_text(f, schema->text, expected_text(f)) ? keep_references(f, schema->references)
							   : "has references of more than 4 MiB";
	if (why)
		fetch_unknown(r, f, why);
	else
		fetch_next(r, f);
}

/* Apicurio's own API sends the schema as it was written, without saying of which type it is. */
static void fetch_bare(struct registry *r, struct fetch *f, const json_t *json)
{
	bool is_json = json_object_get(json, "$schema") != NULL;
	AUTO_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
	const struct registry_schema schema = {.type = is_json ? REGISTRY_JSON : REGISTRY_AVRO,
		.type_name = "AVRO",
		.text = slice_str(text)};

	fetch_schema(r, f, &schema);
}

static void fetch_ok(struct registry *r, struct fetch *f, const json_t *json)
{
	struct registry_schema schema;

	if (f->ref.kind == SCHEMA_BY_GLOBAL_ID)
		fetch_bare(r, f, json);
	else if (registry_schema_read(json, &schema))
		fetch_schema(r, f, &schema);
	else
		fetch_odd(r, f, NO_SCHEMA);
}

static void fetch_none(struct registry *r, struct fetch *f)
{
	const struct reference *ref = &f->references[f->next];
	char why[300];

	snprintf(why, sizeof(why), "not in the registry");
	if (f->text.n)
		snprintf(why, sizeof(why),
			"refers to subject %.100s version %lld, which is not in the registry",
			ref->subject, (long long)ref->version);
	fetch_unknown(r, f, why);
}

static void fetch_answered(
	struct registry *r, struct fetch *f, const struct registry_answer *answer)
{
	registry_call_close(&f->call);
	switch (answer->verdict) {
	case REGISTRY_OK:
		fetch_ok(r, f, answer->json);
		return;
	case REGISTRY_NONE:
		fetch_none(r, f);
		return;
	case REGISTRY_REFUSED:
		fetch_refused(r, f, answer->why);
		return;
	case REGISTRY_ODD:
		fetch_odd(r, f, answer->why);
		return;
	case REGISTRY_TROUBLE:
		break;
	}
	schema_cache_failed(r->cache, &f->ref, false, answer->why);
	fetch_end(f);
	trouble(r, answer->why);
}

/* --- whether it answers again --- */

static const char *why_no_schema(const struct registry *r, const struct registry_answer *answer)
{
	struct registry_schema schema;

	if (answer->verdict == REGISTRY_NONE)
		return NULL;
	if (answer->verdict != REGISTRY_OK)
		return answer->why;
	return r->probed.kind == SCHEMA_BY_GLOBAL_ID || registry_schema_read(answer->json, &schema)
		       ? NULL
		       : NO_SCHEMA;
}

static void probe_answered(struct registry *r, const struct registry_answer *answer)
{
	const char *why = why_no_schema(r, answer);

	registry_call_close(&r->probe);
	if (!why) {
		heard(r, &r->probed);
		return;
	}
	r->witness_failed = true;
	if (r->breaker.state != BREAKER_CLOSED)
		trouble(r, why);
}

/* One may still be under way from before another answer closed the breaker. */
static bool probe_witness(struct registry *r)
{
	CLEANUP(buf_free) struct buf path = {0};

	if (!r->has_witness || r->witness_failed || r->probe.easy)
		return false;
	r->probed = r->witness;
	path_of(r->config, &r->probed, &path);
	ask(r, &r->probe, (const char *)path.p);
	return true;
}

static struct fetch *start_fetch(struct registry *r)
{
	struct schema_ref ref;

	for (size_t i = 0; i < FETCHES; i++) {
		if (r->fetches[i].busy)
			continue;
		if (!schema_cache_take_wanted(r->cache, &ref))
			return NULL;
		fetch_start(r, &r->fetches[i], &ref);
		return &r->fetches[i];
	}
	return NULL;
}

static bool is_busy(const struct registry *r)
{
	for (size_t i = 0; i < FETCHES; i++)
		if (r->fetches[i].busy)
			return true;
	return false;
}

/* One that has failed is behind the others. What is under way may tell first. */
static bool probe_wanted(struct registry *r)
{
	struct fetch *f = is_busy(r) ? NULL : start_fetch(r);

	if (!f)
		return false;
	f->probes = true;
	r->witness_failed = false; /* its turn comes again */
	return true;
}

/* --- all of them --- */

static void start(struct registry *r)
{
	if (breaker_probe_due(&r->breaker, now_us(r)) && !probe_witness(r) && !probe_wanted(r))
		breaker_cancel_probe(&r->breaker);
	while (r->breaker.state == BREAKER_CLOSED && start_fetch(r))
		;
}

static void ended(struct registry *r, struct registry_call *call, CURLcode result)
{
	struct registry_answer answer;

	curl_multi_remove_handle(r->multi, call->easy);
	if (!registry_call_end(call, result, &answer)) {
		curl_multi_add_handle(r->multi, call->easy);
		return;
	}
	if (call == &r->probe)
		probe_answered(r, &answer);
	else
		fetch_answered(r,
			(struct fetch *)(void *)((char *)call - offsetof(struct fetch, call)),
			&answer);
	registry_answer_free(&answer);
}

static int step(struct schemas *s, int timeout_ms, bool *ret_news, struct err *err)
{
	struct registry *r = of(s);
	CURLMsg *message;
	int left;

	(void)err;
	start(r);
	curl_multi_perform(r->multi, &left);
	if (timeout_ms) {
		curl_multi_poll(r->multi, NULL, 0, timeout_ms, NULL);
		curl_multi_perform(r->multi, &left);
	}
	while ((message = curl_multi_info_read(r->multi, &left))) {
		struct registry_call *call;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
		ended(r, call, message->data.result);
	}
	start(r);
	*ret_news = schema_cache_take_change(r->cache);
	return 0;
}

static struct schema_answer find(struct schemas *s, const struct schema_ref *ref)
{
	struct registry *r = of(s);
	CLEANUP(buf_free) struct buf path = {0};
	const char *why;

	if (!schema_cache_knows(r->cache, ref, now_us(r)) && (why = path_of(r->config, ref, &path)))
		return (struct schema_answer){.state = SCHEMA_UNKNOWN, .why = why};
	return schema_cache_find(r->cache, ref, now_us(r));
}

static int64_t away_since_us(struct schemas *s)
{
	return of(s)->away ? of(s)->breaker.opened_us : 0;
}

static const struct schemas_ops ops = {.find = find, .step = step, .away_since_us = away_since_us};

int schema_registry_new(const struct config *config, struct clock *clock, struct report *report,
	struct schemas **ret, struct err *err)
{
	struct registry *r = mem_zalloc(sizeof(*r));
	int result;

	r->schemas.ops = &ops;
	r->config = config;
	r->clock = clock;
	r->report = report;
	r->cache = schema_cache_new(config->registry_negative_ttl);
	*ret = &r->schemas;
	result = registry_http_open(&r->http, config, err);
	r->multi = curl_multi_init();
	if (!r->multi)
		mem_exhausted("libcurl");
	return result ? result : schema_files_load(r->cache, config, err);
}

static void close_call(struct registry *r, struct registry_call *call)
{
	if (!call->easy)
		return;
	curl_multi_remove_handle(r->multi, call->easy);
	registry_call_close(call);
}

void schema_registry_free(struct schemas *s)
{
	struct registry *r = of(s);

	if (!r)
		return;
	close_call(r, &r->probe);
	for (size_t i = 0; i < FETCHES; i++) {
		close_call(r, &r->fetches[i].call);
		fetch_end(&r->fetches[i]);
	}
	curl_multi_cleanup(r->multi);
	registry_http_close(&r->http);
	schema_cache_free(r->cache);
	free(r);
}

static struct schema_answer find_waiting(void *ctx, const struct schema_ref *ref)
{
	struct registry *r = ctx;
	struct schema_answer answer;

	while ((answer = find(&r->schemas, ref)).state == SCHEMA_AWAY) {
		bool news;

		if (r->away && now_us(r) - r->breaker.opened_us > PATIENCE_US)
			break;
		if (step(&r->schemas, 100, &news, NULL))
			break;
	}
	return answer;
}

struct schema_source schema_registry_waiting(struct schemas *s)
{
	return (struct schema_source){find_waiting, s};
}

/* schemas: whether a registry has the schemas of our topics, for those who run one; with --execute
 * those that are missing are registered. The worker itself needs none of them. */
#include "command.h"
#include "registry_http.h"
#include "schema_files.h"

#include <stdio.h>
#include <stdlib.h>

enum state { PRESENT, MISSING, INCOMPATIBLE, REGISTERED };

/* One topic's values, by Confluent's TopicNameStrategy. */
struct subject {
	const char *topic, *file;
	char *name;    /* "meter-reads.dlq-value" */
	char *escaped; /* the same in a URL */
	char *body;    /* the schema, as the API takes it */
	enum state state;
	bool is_new; /* MISSING: no version of it at all */
	json_int_t id, version;
	char why[300]; /* INCOMPATIBLE */
};

static void subject_free(struct subject *s)
{
	free(s->name);
	curl_free(s->escaped);
	free(s->body);
}

static void subject_open(struct subject *s)
{
	CLEANUP(buf_free) struct buf name = {0};
	json_t *body =
		json_pack("{s:s, s:s}", "schema", schema_file_text(s->file), "schemaType", "AVRO");

	buf_printf(&name, "%s-value", s->topic);
	s->name = mem_strdup((const char *)name.p);
	s->escaped = curl_easy_escape(NULL, s->name, 0);
	s->body = json_dumps(body, JSON_COMPACT);
	json_decref(body);
}

/* POSTs the schema to a path with the subject in it. NONE is no error. */
static int post(struct registry_http *h, const struct subject *s, const char *before,
	const char *after, struct registry_answer *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf path = {0};

	buf_printf(&path, "%s/subjects/%s%s", before, s->escaped, after);
	registry_ask(h, (const char *)path.p, s->body, ret);
	if (ret->verdict == REGISTRY_OK || ret->verdict == REGISTRY_NONE)
		return 0;
	return err_set(err, ERR_UNREACHABLE, "schema registry %s, subject %s: %s",
		registry_http_address(h), s->name, ret->why);
}

static void note_id(struct subject *s, const json_t *json)
{
	s->id = json_integer_value(json_object_get(json, "id"));
	s->version = json_integer_value(json_object_get(json, "version"));
}

static int look(struct registry_http *h, struct subject *s, struct err *err)
{
	CLEANUP(registry_answer_free) struct registry_answer answer = {0};
	int r = post(h, s, "", "", &answer, err);

	if (r)
		return r;
	s->state = answer.verdict == REGISTRY_OK ? PRESENT : MISSING;
	note_id(s, answer.json);
	return 0;
}

static int compare(struct registry_http *h, struct subject *s, struct err *err)
{
	CLEANUP(registry_answer_free) struct registry_answer answer = {0};
	int r = post(h, s, "/compatibility", "/versions/latest?verbose=true", &answer, err);
	const json_t *message;

	if (r)
		return r;
	s->is_new = answer.verdict == REGISTRY_NONE;
	if (s->is_new || json_is_true(json_object_get(answer.json, "is_compatible")))
		return 0;
	s->state = INCOMPATIBLE;
	message = json_array_get(json_object_get(answer.json, "messages"), 0);
	snprintf(s->why, sizeof(s->why), "%s",
		json_is_string(message) ? json_string_value(message)
					: "the registry does not say why");
	return 0;
}

static int enter(struct registry_http *h, struct subject *s, struct err *err)
{
	CLEANUP(registry_answer_free) struct registry_answer answer = {0};
	int r = post(h, s, "", "/versions", &answer, err);

	if (r)
		return r;
	if (answer.verdict == REGISTRY_NONE)
		return err_set(err, ERR_UNREACHABLE, "subject %s: %s", s->name, answer.why);
	s->state = REGISTERED;
	note_id(s, answer.json);
	return 0;
}

static int check(struct registry_http *h, struct subject *s, bool execute, struct err *err)
{
	int r = look(h, s, err);

	if (!r && s->state == MISSING)
		r = compare(h, s, err);
	if (!r && s->state == MISSING && execute)
		r = enter(h, s, err);
	return r;
}

static void print_text(const struct subject *s)
{
	switch (s->state) {
	case PRESENT:
		printf("%s: present, id %lld, version %lld\n", s->name, (long long)s->id,
			(long long)s->version);
		break;
	case REGISTERED:
		printf("%s: registered, id %lld\n", s->name, (long long)s->id);
		break;
	case MISSING:
		printf("%s: missing, %s; --execute registers it\n", s->name,
			s->is_new ? "nothing of that name" : "compatible with the latest version");
		break;
	case INCOMPATIBLE:
		printf("%s: incompatible with the latest version: %s\n", s->name, s->why);
		break;
	}
}

static void print_json(const struct subject *s)
{
	static const char *const states[] = {[PRESENT] = "present",
		[MISSING] = "missing",
		[INCOMPATIBLE] = "incompatible",
		[REGISTERED] = "registered"};
	json_t *o = json_pack("{s:s, s:s}", "subject", s->name, "state", states[s->state]);

	if (s->id)
		json_object_set_new(o, "id", json_integer(s->id));
	if (s->version)
		json_object_set_new(o, "version", json_integer(s->version));
	if (*s->why)
		json_object_set_new(o, "why", json_string(s->why));
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

int cmd_schemas(const struct config *config, struct err *err)
{
	CLEANUP(registry_http_close) struct registry_http http;
	struct subject subjects[] = {
		{.topic = config->dlq_topic, .file = "dead_letter_record.avsc"},
		{.topic = config->parked_topic, .file = "parked_record.avsc"},
		{.topic = config->inbox_topic, .file = "inbox_record.avsc"},
	};
	int r = registry_http_open(&http, config, err), status = STATUS_OK;

	if (!r && !config->registry_url.n)
		r = err_set(err, ERR_CONFIG, "registry.url is not set");
	for (size_t i = 0; !r && i < ARRAY_LEN(subjects); i++) {
		subject_open(&subjects[i]);
		r = check(&http, &subjects[i], config->execute, err);
		if (!r)
			(config->json ? print_json : print_text)(&subjects[i]);
		if (subjects[i].state == INCOMPATIBLE)
			status = STATUS_USAGE;
		subject_free(&subjects[i]);
	}
	return r ? r : status;
}

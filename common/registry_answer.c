#include "registry_answer.h"

#include "utf8.h"

#include <stdio.h>

#define MESSAGE_BYTES 300

/* "message" of the API's errors; the first words of anything else. */
static struct slice message_of(struct arena *a, const json_t *json, struct slice body)
{
	const json_t *message = json_object_get(json, "message");
	uint32_t cut;

	if (json_is_string(message))
		body = slice_of(json_string_value(message), json_string_length(message));
	return utf8_clean(a, body, MESSAGE_BYTES, &cut);
}

/* 404 alone may also mean that registry.url leads nowhere. */
static bool says_none(long status, int error_code)
{
	return status == 404 && error_code > 40400 && error_code < 40500;
}

static bool is_trouble(long status)
{
	return status == 407 || status == 429 || status == 502 || status == 503 || status == 504 ||
	       (status >= 300 && status < 400);
}

/* Some registries have rights by subject. */
static bool is_refusal(long status)
{
	return status == 401 || status == 403;
}

static enum registry_verdict verdict_of(long status, int error_code)
{
	if (says_none(status, error_code))
		return REGISTRY_NONE;
	if (is_refusal(status))
		return REGISTRY_REFUSED;
	return is_trouble(status) ? REGISTRY_TROUBLE : REGISTRY_ODD;
}

static const char *advice(long status)
{
	if (is_refusal(status))
		return "; check registry.user and registry.password";
	if (status == 404)
		return "; check registry.url";
	return "";
}

static void json_freep(json_t **json)
{
	json_decref(*json);
}

void registry_answer_read(long status, struct slice body, struct registry_answer *ret)
{
	CLEANUP(arena_free) struct arena arena = {0};
	json_error_t error;
	CLEANUP(json_freep) json_t *json = json_loadb((const char *)body.p, body.n, 0, &error);
	struct slice message = message_of(&arena, json, body);

	*ret = (struct registry_answer){.verdict = REGISTRY_OK};
	if (status == 200 && json) {
		ret->json = TAKE_PTR(json);
		return;
	}
	ret->error_code = (int)json_integer_value(json_object_get(json, "error_code"));
	ret->verdict = verdict_of(status, ret->error_code);
	if (ret->verdict == REGISTRY_NONE)
		snprintf(ret->why, sizeof(ret->why), "not in the registry");
	else if (status == 200)
		snprintf(ret->why, sizeof(ret->why), "answer is not JSON: %s", error.text);
	else
		snprintf(ret->why, sizeof(ret->why), "HTTP %ld: %.*s%s", status, SLICE_FMT(message),
			advice(status));
}

void registry_answer_free(struct registry_answer *a)
{
	json_decref(a->json);
	a->json = NULL;
}

static struct slice string_of(const json_t *json)
{
	return json_is_string(json) ? slice_of(json_string_value(json), json_string_length(json))
				    : SLICE_NULL;
}

bool registry_schema_read(const json_t *json, struct registry_schema *ret)
{
	const json_t *type = json_object_get(json, "schemaType");
	const json_t *references = json_object_get(json, "references");

	*ret = (struct registry_schema){.text = string_of(json_object_get(json, "schema")),
		.type_name = json_is_string(type) ? json_string_value(type) : "AVRO",
		.references = json_array_size(references) ? references : NULL};
	if (strcmp(ret->type_name, "AVRO") != 0)
		ret->type = strcmp(ret->type_name, "JSON") == 0 ? REGISTRY_JSON : REGISTRY_OTHER;
	return !slice_is_null(ret->text);
}

bool registry_reference_read(const json_t *json, struct registry_reference *ret)
{
	const json_t *version = json_object_get(json, "version");

	*ret = (struct registry_reference){.name = json_string_value(json_object_get(json, "name")),
		.subject = json_string_value(json_object_get(json, "subject")),
		.version = json_integer_value(version)};
	return ret->name && ret->subject && json_is_integer(version);
}

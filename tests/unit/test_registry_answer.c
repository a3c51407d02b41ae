#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "registry_answer.h"

struct verdict_case {
	long status;
	const char *body, *why;
	enum registry_verdict verdict;
};

/* As Confluent's registry, Apicurio, and what stands before them, answer. */
ParameterizedTestParameters(registry_answer, says_what_the_status_and_the_body_mean)
{
	static struct verdict_case cases[] = {
		{200, "{\"schema\":\"\\\"string\\\"\"}", "", REGISTRY_OK},
		{200, "[\"JSON\",\"PROTOBUF\",\"AVRO\"]", "", REGISTRY_OK},
		{200, "<html>log in</html>", "not JSON", REGISTRY_ODD},
		{200, "", "not JSON", REGISTRY_ODD},
		{404, "{\"error_code\":40403,\"message\":\"Schema 9 not found\"}",
			"not in the registry", REGISTRY_NONE},
		{404, "{\"error_code\":40401,\"message\":\"Subject 'x' not found.\"}",
			"not in the registry", REGISTRY_NONE},
		{404, "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}",
			"HTTP 404: HTTP 404 Not Found; check registry.url", REGISTRY_ODD},
		{404, "<h1>Not Found</h1>", "check registry.url", REGISTRY_ODD},
		{401, "{\"error_code\":401,\"message\":\"Unauthorized\"}",
			"HTTP 401: Unauthorized; check registry.user and registry.password",
			REGISTRY_REFUSED},
		{403, "", "registry.password", REGISTRY_REFUSED},
		{429, "slow down", "HTTP 429: slow down", REGISTRY_TROUBLE},
		{500, "{\"error_code\":50001,\"message\":\"Error in the backend\"}",
			"HTTP 500: Error in the backend", REGISTRY_ODD},
		{502, "Bad Gateway", "HTTP 502", REGISTRY_TROUBLE},
		{503, "", "HTTP 503", REGISTRY_TROUBLE},
		{504, "", "HTTP 504", REGISTRY_TROUBLE},
		{302, "", "HTTP 302", REGISTRY_TROUBLE},
		{500, "\xff\xfe", "HTTP 500", REGISTRY_ODD},
	};

	return cr_make_param_array(struct verdict_case, cases, ARRAY_LEN(cases));
}

ParameterizedTest(struct verdict_case *c, registry_answer, says_what_the_status_and_the_body_mean)
{
	struct registry_answer a;

	registry_answer_read(c->status, slice_str(c->body), &a);
	cr_expect_eq(a.verdict, c->verdict, "%ld %s: %d %s", c->status, c->body, a.verdict, a.why);
	cr_expect(strstr(a.why, c->why), "%ld: %s", c->status, a.why);
	cr_expect_eq(a.json != NULL, c->verdict == REGISTRY_OK);
	registry_answer_free(&a);
}

static json_t *json(const char *text)
{
	json_t *j = json_loads(text, 0, NULL);

	cr_assert(j, "%s", text);
	return j;
}

Test(registry_answer, a_schema_is_avro_where_it_does_not_say)
{
	json_t *j = json("{\"schema\":\"\\\"int\\\"\",\"references\":[]}");
	struct registry_schema s;

	cr_assert(registry_schema_read(j, &s));
	cr_expect_eq(s.type, REGISTRY_AVRO);
	cr_expect(slice_eq(s.text, SLICE_LIT("\"int\"")));
	cr_expect_null(s.references);
	json_decref(j);
}

Test(registry_answer, other_types_are_told_apart)
{
	json_t *as_json = json("{\"schema\":\"{}\",\"schemaType\":\"JSON\"}");
	json_t *other = json("{\"schema\":\"syntax\",\"schemaType\":\"PROTOBUF\"}");
	struct registry_schema s;

	cr_assert(registry_schema_read(as_json, &s));
	cr_expect_eq(s.type, REGISTRY_JSON);
	cr_assert(registry_schema_read(other, &s));
	cr_expect_eq(s.type, REGISTRY_OTHER);
	cr_expect_str_eq(s.type_name, "PROTOBUF");
	json_decref(as_json);
	json_decref(other);
}

Test(registry_answer, what_has_no_schema_is_none)
{
	static const char *const texts[] = {"{}", "[]", "{\"schema\":7}", "{\"schema\":null}"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		json_t *j = json(texts[i]);
		struct registry_schema s;

		cr_expect_not(registry_schema_read(j, &s), "%s", texts[i]);
		json_decref(j);
	}
}

Test(registry_answer, a_reference_has_name_subject_and_version)
{
	json_t *whole = json("{\"name\":\"a.B\",\"subject\":\"b-value\",\"version\":3}");
	json_t *half = json("{\"name\":\"a.B\",\"subject\":\"b-value\"}");
	struct registry_reference r;

	cr_assert(registry_reference_read(whole, &r));
	cr_expect(strcmp(r.name, "a.B") == 0 && strcmp(r.subject, "b-value") == 0);
	cr_expect_eq(r.version, 3);
	cr_expect_not(registry_reference_read(half, &r));
	json_decref(whole);
	json_decref(half);
}

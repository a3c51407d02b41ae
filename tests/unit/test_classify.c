#include <criterion/criterion.h>

#include "classify.h"
#include "dialect_headers.h"
#include "glob.h"
#include "http_status.h"

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(classify, .fini = free_arena);

/* --- patterns --- */

static bool matches(const char *pattern, const char *text)
{
	return glob_match(slice_str(pattern), slice_str(text));
}

static bool names(const char *pattern, const char *name)
{
	return glob_match_name(slice_str(pattern), slice_str(name));
}

Test(classify, a_star_stands_for_any_bytes)
{
	cr_expect(matches("", ""));
	cr_expect(matches("*", ""));
	cr_expect(matches("*", "abc"));
	cr_expect(matches("a*c", "ac"));
	cr_expect(matches("a*c", "abcabc"));
	cr_expect(matches("*b*", "abc"));
	cr_expect(matches("a*b*c", "aXbYbZc"));
	cr_expect(matches("**c", "abc"));
	cr_expect_not(matches("", "a"));
	cr_expect_not(matches("a", ""));
	cr_expect_not(matches("a*c", "abcd"));
	cr_expect_not(matches("*bc", "abcb"));
	cr_expect_not(matches("a?c", "abc"));
	cr_expect_not(matches("abc", "ab"));
}

Test(classify, a_pattern_is_the_whole_name_or_what_is_behind_a_separator)
{
	cr_expect(names("com.acme.Busy", "com.acme.Busy"));
	cr_expect(names("Busy", "com.acme.Busy"));
	cr_expect(names("acme.Busy", "com.acme.Busy"));
	cr_expect(names("Busy", "com.acme.Meter$Busy"));
	cr_expect(names("Busy", "Acme::Busy"));
	cr_expect(names("Busy", "Acme.Meter+Busy"));
	cr_expect(names("com.acme.*", "com.acme.Busy"));
	cr_expect(names("*Busy", "com.acme.VeryBusy"));
	cr_expect_not(names("Busy", "com.acme.NotBusy"));
	cr_expect_not(names("Busy", "com.acme.Busy2"));
	cr_expect_not(names("com.acme", "com.acme.Busy"));
	cr_expect_not(names("Busy", ""));
	cr_expect_not(glob_match_name(SLICE_LIT("*"), SLICE_NULL));
}

/* --- HTTP --- */

static const struct {
	const char *class, *message;
	const char *status; /* NULL: none */
} statuses[] = {
	/* Spring */
	{"org.springframework.web.client.HttpClientErrorException$NotFound",
		"404 Not Found: \"no such meter\"", "404"},
	{"org.springframework.web.client.HttpClientErrorException$NotFound", NULL, "404"},
	{"org.springframework.web.client.HttpClientErrorException", "418 I'm a teapot: [no body]",
		"418"},
	{"org.springframework.web.client.HttpClientErrorException$TooManyRequests",
		"429 Too Many Requests: [no body]", "429"},
	{"org.springframework.web.client.HttpServerErrorException$ServiceUnavailable",
		"503 Service Unavailable: [no body]", "503"},
	{"org.springframework.web.reactive.function.client.WebClientResponseException$BadRequest",
		"400 Bad Request from POST http://meters/api", "400"},
	{"org.springframework.web.server.ResponseStatusException", "409 CONFLICT \"stale\"", "409"},
	{"org.springframework.web.client.HttpClientErrorException",
		"Listener failed; nested exception is "
		"org.springframework.web.client.HttpClientErrorException: 451 Unavailable",
		"451"},
	/* OpenFeign */
	{"feign.FeignException$NotFound",
		"[404 Not Found] during [GET] to [http://meters/7] [Meters#get(int)]: []", "404"},
	{"feign.FeignException", "status 422 reading Meters#get(int)", "422"},
	/* others */
	{"jakarta.ws.rs.NotFoundException", "HTTP 404 Not Found", "404"},
	{"retrofit2.HttpException", "HTTP 403 Forbidden", "403"},
	{"org.jboss.resteasy.reactive.ClientWebApplicationException",
		"Received: 'Not Found, status code 404' when invoking: Rest Client method: 'get'",
		"404"},
	{"System.Net.Http.HttpRequestException",
		"Response status code does not indicate success: 404 (Not Found).", "404"},
	{"Faraday::ResourceNotFound", "the server responded with status 404", "404"},
	{"requests.exceptions.HTTPError", "404 Client Error: Not Found for url: http://meters/7",
		"404"},
	{"com.acme.Failure", "HTTP HTTP x, then HTTP 410", "410"},
	/* no status */
	{"com.acme.Failure", "404 meters failed", NULL},
	{"com.acme.Failure", "HTTP 4040", NULL},
	{"com.acme.Failure", "HTTP 40", NULL},
	{"com.acme.Failure", "HTTP ", NULL},
	{"com.acme.Failure", "HTTP 999", NULL},
	{"com.acme.Failure", "HTTP 404th", NULL},
	{"com.acme.MeterException$NotFound", "no such meter", NULL},
	{"org.springframework.web.client.HttpClientErrorException", "I/O error", NULL},
	{"org.springframework.web.client.HttpClientErrorException", "", NULL},
	{NULL, NULL, NULL},
};

Test(classify, an_http_status_is_found_where_clients_put_it)
{
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct slice status = http_status_find(
			slice_str(statuses[i].class), slice_str(statuses[i].message));

		cr_expect(slice_eq(status, slice_str(statuses[i].status)), "statuses[%zu]: %.*s", i,
			SLICE_FMT(status));
	}
}

Test(classify, of_http_only_a_breach_of_contract_is_permanent)
{
	static const char *const permanent[] = {
		"400", "401", "403", "404", "409", "410", "422", "499"};
	static const char *const transient[] = {"100", "200", "301", "408", "429", "500", "503"};

	for (size_t i = 0; i < ARRAY_LEN(permanent); i++)
		cr_expect(http_status_permanent(slice_str(permanent[i])), "%s", permanent[i]);
	for (size_t i = 0; i < ARRAY_LEN(transient); i++)
		cr_expect_not(http_status_permanent(slice_str(transient[i])), "%s", transient[i]);
	cr_expect(http_status_valid(SLICE_LIT("599")));
	cr_expect_not(http_status_valid(SLICE_LIT("600")));
	cr_expect_not(http_status_valid(SLICE_LIT("099")));
	cr_expect_not(http_status_valid(SLICE_LIT("4x4")));
	cr_expect_not(http_status_valid(SLICE_LIT("4040")));
	cr_expect_not(http_status_valid(SLICE_NULL));
}

/* --- what decides --- */

static struct dialect_facts classified(
	const struct classify_rules *rules, const char *class, const char *wrapper)
{
	struct dialect_facts f = {.reason = REASON_POISON};

	f.error.class = slice_str(class);
	f.wrapper = slice_str(wrapper);
	classify(rules, &f);
	return f;
}

static enum reason reason_of(const char *class)
{
	static const struct classify_rules none;

	return classified(&none, class, NULL).reason;
}

Test(classify, classes_of_deserialization_conversion_schema_and_validation_are_permanent)
{
	static const char *const v[] = {
		"org.apache.kafka.common.errors.SerializationException",
		"org.apache.kafka.common.errors.RecordDeserializationException",
		"org.springframework.kafka.support.serializer.DeserializationException",
		"com.fasterxml.jackson.databind.exc.MismatchedInputException",
		"com.fasterxml.jackson.core.JsonParseException",
		"tools.jackson.core.exc.StreamReadException",
		"com.google.gson.JsonSyntaxException",
		"com.google.protobuf.InvalidProtocolBufferException",
		"System.Text.Json.JsonException",
		"Newtonsoft.Json.JsonReaderException",
		"JSON::ParserError",
		"json.decoder.JSONDecodeError",
		"org.springframework.kafka.support.converter.ConversionException",
		"org.springframework.messaging.converter.MessageConversionException",
		"org.springframework.core.convert.ConversionFailedException",
		"java.lang.ClassCastException",
		"java.lang.NumberFormatException",
		"java.time.format.DateTimeParseException",
		"System.FormatException",
		"org.apache.kafka.connect.errors.DataException",
		"org.apache.kafka.connect.errors.SchemaBuilderException",
		"org.apache.kafka.connect.errors.SchemaProjectorException",
		"org.apache.avro.AvroTypeException",
		"org.apache.avro.SchemaParseException",
		"jakarta.validation.ConstraintViolationException",
		"javax.validation.ConstraintViolationException",
		"jakarta.validation.ValidationException",
		"FluentValidation.ValidationException",
		"pydantic_core._pydantic_core.ValidationError",
		"org.springframework.messaging.handler.annotation.support."
		"MethodArgumentNotValidException",
		"org.springframework.validation.BindException",
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		cr_expect_eq(reason_of(v[i]), REASON_PERMANENT_4XX, "%s", v[i]);
}

Test(classify, time_outs_connections_and_unknown_classes_are_retried)
{
	static const char *const v[] = {
		"java.net.SocketTimeoutException",
		"java.util.concurrent.TimeoutException",
		"org.apache.kafka.common.errors.TimeoutException",
		"io.netty.channel.ConnectTimeoutException",
		"java.net.ConnectException",
		"java.net.UnknownHostException",
		"java.net.BindException",
		"org.apache.kafka.common.errors.NetworkException",
		"org.apache.kafka.common.errors.DisconnectException",
		"org.apache.kafka.connect.errors.RetriableException",
		"org.apache.kafka.connect.errors.ConnectException",
		"org.springframework.dao.CannotAcquireLockException",
		"org.springframework.dao.TransientDataAccessResourceException",
		"org.springframework.jdbc.CannotGetJdbcConnectionException",
		"org.springframework.dao.CannotSerializeTransactionException",
		"org.hibernate.exception.ConstraintViolationException",
		"io.github.resilience4j.circuitbreaker.CallNotPermittedException",
		"com.acme.SchemaRegistryUnavailableException",
		"com.acme.SchemaValidationTimeoutException",
		"java.lang.IllegalStateException",
		"java.lang.RuntimeException",
		"com.acme.Whatever",
		"unknown",
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		cr_expect_eq(reason_of(v[i]), REASON_RETRIES_EXHAUSTED, "%s", v[i]);
}

Test(classify, the_cause_decides_before_what_wraps_it)
{
	static const char deserialization[] = "a.b.DeserializationException";
	static const char connection[] = "java.net.ConnectException";
	static const struct classify_rules none;

	cr_expect_eq(
		classified(&none, connection, deserialization).reason, REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(classified(&none, deserialization, connection).reason, REASON_PERMANENT_4XX);
	cr_expect_eq(
		classified(&none, "a.b.Unknown", deserialization).reason, REASON_PERMANENT_4XX);
	cr_expect_eq(
		classified(&none, "a.b.Unknown", "a.b.Wrapper").reason, REASON_RETRIES_EXHAUSTED);
}

/* The facts of headers, classified. */
static struct dialect_facts judged(const struct classify_rules *rules, struct slice headers)
{
	struct dialect_facts f = facts_of(headers);

	classify(rules, &f);
	return f;
}
#define JUDGED(...) judged(&(struct classify_rules){0}, HEADERS(&arena, __VA_ARGS__))

Test(classify, a_reason_that_is_given_stands)
{
	cr_expect_eq(
		JUDGED(H("dlq-reason", "retries_exhausted"),
			H("dlq-error-class", "SerializationException"), H("dlq-error-code", "404"))
			.reason,
		REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(JUDGED(H("dlq-reason", "poison")).reason, REASON_POISON);
	cr_expect_eq(JUDGED(H("traceparent", "x")).reason, REASON_RETRIES_EXHAUSTED);
}

Test(classify, a_code_is_an_http_status_where_it_has_its_form)
{
	cr_expect_eq(JUDGED(H("dlq-error-code", "404")).reason, REASON_PERMANENT_4XX);
	cr_expect_eq(
		JUDGED(H("dlq-error-code", "503"), H("dlq-error-class", "SerializationException"))
			.reason,
		REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(JUDGED(H("dlq-error-code", "23505")).reason, REASON_RETRIES_EXHAUSTED);
}

Test(classify, a_status_found_in_the_text_becomes_the_code)
{
	struct dialect_facts f = JUDGED(H("kafka_dlt-exception-fqcn", SPRING_LISTENER_FAILED),
		H("kafka_dlt-exception-cause-fqcn", "org.springframework.web.client."
						    "HttpClientErrorException$UnprocessableEntity"),
		H("kafka_dlt-exception-message", "Listener failed"), SPRING_ORIGIN);
	struct dialect_facts known =
		JUDGED(H("dlq-error-code", "E17"), H("dlq-error-message", "HTTP 404 Not Found"));

	cr_expect_eq(f.reason, REASON_PERMANENT_4XX);
	expect_text(f.error.code, "422", "code");
	cr_expect_eq(known.reason, REASON_PERMANENT_4XX);
	expect_text(known.error.code, "E17", "code");
}

Test(classify, a_status_decides_before_the_class)
{
	cr_expect_eq(JUDGED(H("exception-type", "a.ValidationException"),
			     H("exception-message", "HTTP 503 Service Unavailable"))
			     .reason,
		REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(JUDGED(H("exception-type", "a.TimeoutException"),
			     H("exception-message", "HTTP 400 Bad Request"))
			     .reason,
		REASON_PERMANENT_4XX);
}

#define CONNECT(stage, class)                                                                      \
	JUDGED(CONNECT_PASS("meter-reads", "3", "42", stage, class,                                \
		       H("__connect.errors.exception.message", "failed")))                         \
		.reason

Test(classify, stages_of_connect_that_only_read_are_permanent_unless_the_class_says_otherwise)
{
	cr_expect_eq(CONNECT("KEY_CONVERTER", "a.Unknown"), REASON_PERMANENT_4XX);
	cr_expect_eq(CONNECT("VALUE_CONVERTER", "a.Unknown"), REASON_PERMANENT_4XX);
	cr_expect_eq(CONNECT("HEADER_CONVERTER", "a.Unknown"), REASON_PERMANENT_4XX);
	cr_expect_eq(CONNECT("TRANSFORMATION", "a.Unknown"), REASON_PERMANENT_4XX);
	cr_expect_eq(CONNECT("VALUE_CONVERTER", "org.apache.kafka.common.errors.NetworkException"),
		REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(
		CONNECT("VALUE_CONVERTER", "org.apache.kafka.connect.errors.RetriableException"),
		REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(CONNECT("TASK_PUT", "a.Unknown"), REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(CONNECT("TASK_PUT", "org.apache.kafka.connect.errors.DataException"),
		REASON_PERMANENT_4XX);
	cr_expect_eq(CONNECT("VALUE_CONVERTER", "org.apache.kafka.connect.errors.ConnectException"),
		REASON_PERMANENT_4XX);
	cr_expect_eq(JUDGED(H("__connect.errors.stage", "VALUE_CONVERTER")).reason,
		REASON_PERMANENT_4XX);
}

/* --- the configuration --- */

static int parse(const char *const *items, size_t n, struct classify_rules *ret, struct err *err)
{
	return classify_rules_parse(&arena, (char *const *)items, n, ret, err);
}

Test(classify, our_rules_decide_before_the_tables_the_first_that_fits)
{
	static const char *const items[] = {"com.acme.ValidationException:retries_exhausted",
		"Busy*:poison", "Acme::Meter::Unknown:permanent_4xx",
		"HttpClientErrorException$NotFound:retries_exhausted",
		"BusyElsewhere:permanent_4xx", "unknown:permanent_4xx"};
	struct classify_rules rules;

	cr_assert_eq(parse(items, ARRAY_LEN(items), &rules, NULL), 0);
	cr_assert_eq(rules.n, ARRAY_LEN(items));
	cr_expect_eq(classified(&rules, "com.acme.ValidationException", NULL).reason,
		REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(classified(&rules, "com.other.ValidationException", NULL).reason,
		REASON_PERMANENT_4XX);
	cr_expect_eq(classified(&rules, "com.acme.BusyElsewhere", NULL).reason, REASON_POISON);
	cr_expect_eq(classified(&rules, "Acme::Meter::Unknown", NULL).reason, REASON_PERMANENT_4XX);
	cr_expect_eq(classified(&rules,
			     "org.springframework.web.client."
			     "HttpClientErrorException$NotFound",
			     NULL)
			     .reason,
		REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(classified(&rules, "a.b.C", "com.acme.Busy").reason, REASON_POISON);
	cr_expect_eq(classified(&rules, "unknown", NULL).reason, REASON_PERMANENT_4XX);
	cr_expect_eq(judged(&rules, HEADERS(&arena, H("dlq-reason", "retries_exhausted"),
					    H("dlq-error-class", "com.acme.Busy")))
			     .reason,
		REASON_RETRIES_EXHAUSTED);
	cr_expect_eq(judged(&rules, HEADERS(&arena, H("traceparent", "x"))).reason,
		REASON_RETRIES_EXHAUSTED, "without an error there is no class");
}

Test(classify, rules_of_another_form_are_refused)
{
	static const char *const bad[] = {
		"", ":poison", "Busy", "Busy:", "Busy:later", "Busy:poison ", "Busy=poison"};
	struct classify_rules rules;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cr_expect_eq(parse(&bad[i], 1, &rules, &err), ERR_CONFIG, "%s", bad[i]);
		cr_expect_not_null(strstr(err.text, "CLASS:REASON"));
	}
	cr_assert_eq(parse(NULL, 0, &rules, &err), 0);
	cr_expect_eq(rules.n, 0);
}

Test(classify, a_class_too_long_to_be_one_is_unknown)
{
	char class[2000];

	memset(class, 'x', sizeof(class) - 1);
	memcpy(class, "a.ValidationException", 21);
	class[sizeof(class) - 1] = '\0';
	memcpy(class + sizeof(class) - 22, ".ValidationException", 20);
	cr_expect_eq(reason_of(class), REASON_RETRIES_EXHAUSTED);
}

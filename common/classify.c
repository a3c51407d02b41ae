#include "classify.h"

#include "glob.h"
#include "http_status.h"

/* A longer one is no class, and not worth the time. */
#define CLASS_BYTES 512

#define TRANSIENT REASON_RETRIES_EXHAUSTED
#define PERMANENT REASON_PERMANENT_4XX

/*
 * The first that fits decides; which ones heal stands first. Classes that say neither, such as
 * IllegalStateException, are left out: to replay a read in vain costs little, not to replay it
 * needs a human.
 */
static const struct classify_rule classes[] = {
	/* Time-outs, connections, locks: the same read may succeed later. */
	{SLICE_INIT("*Timeout*"), TRANSIENT},
	{SLICE_INIT("*TimedOut*"), TRANSIENT},
	{SLICE_INIT("java.net.*"), TRANSIENT},
	{SLICE_INIT("*ConnectionException"), TRANSIENT},
	{SLICE_INIT("*ConnectionError"), TRANSIENT},
	{SLICE_INIT("*ConnectionFailed*"), TRANSIENT},
	{SLICE_INIT("*Disconnect*"), TRANSIENT},
	{SLICE_INIT("*Unavailable*"), TRANSIENT},
	{SLICE_INIT("*RetriableException"), TRANSIENT},
	{SLICE_INIT("*RetryableException"), TRANSIENT},
	{SLICE_INIT("*Transient*"), TRANSIENT},
	{SLICE_INIT("*CannotAcquireLock*"), TRANSIENT},
	{SLICE_INIT("*Deadlock*"), TRANSIENT},
	{SLICE_INIT("*OptimisticLock*"), TRANSIENT},
	{SLICE_INIT("*Throttl*"), TRANSIENT},
	{SLICE_INIT("CallNotPermittedException"), TRANSIENT}, /* Resilience4j: breaker open */
	{SLICE_INIT("org.apache.kafka.common.errors.NetworkException"), TRANSIENT},
	/* Deserialization. */
	{SLICE_INIT("*SerializationException"), PERMANENT},
	{SLICE_INIT("*Deserialization*"), PERMANENT},
	{SLICE_INIT("com.fasterxml.jackson.*"), PERMANENT},
	{SLICE_INIT("tools.jackson.*"), PERMANENT},
	{SLICE_INIT("com.google.gson.*"), PERMANENT},
	{SLICE_INIT("InvalidProtocolBufferException"), PERMANENT},
	{SLICE_INIT("*JsonException"), PERMANENT},
	{SLICE_INIT("*JsonReaderException"), PERMANENT},
	{SLICE_INIT("JSON::ParserError"), PERMANENT},
	{SLICE_INIT("json.decoder.JSONDecodeError"), PERMANENT},
	/* Conversion; what Spring Kafka's DefaultErrorHandler does not retry either. */
	{SLICE_INIT("*ConversionException"), PERMANENT},
	{SLICE_INIT("*ConversionFailedException"), PERMANENT},
	{SLICE_INIT("ConverterNotFoundException"), PERMANENT},
	{SLICE_INIT("MethodArgumentResolutionException"), PERMANENT},
	{SLICE_INIT("java.lang.NoSuchMethodException"), PERMANENT},
	{SLICE_INIT("java.lang.ClassCastException"), PERMANENT},
	{SLICE_INIT("java.lang.NumberFormatException"), PERMANENT},
	{SLICE_INIT("java.time.format.DateTimeParseException"), PERMANENT},
	{SLICE_INIT("System.FormatException"), PERMANENT},
	{SLICE_INIT("System.InvalidCastException"), PERMANENT},
	{SLICE_INIT("org.apache.kafka.connect.errors.DataException"), PERMANENT},
	/* Schema. */
	{SLICE_INIT("org.apache.avro.*"), PERMANENT},
	{SLICE_INIT("*SchemaException"), PERMANENT},
	{SLICE_INIT("*SchemaParseException"), PERMANENT},
	{SLICE_INIT("*SchemaBuilderException"), PERMANENT},
	{SLICE_INIT("*SchemaProjectorException"), PERMANENT},
	{SLICE_INIT("*SchemaValidation*"), PERMANENT},
	/* Validation; not every ConstraintViolationException: one of a database can heal. */
	{SLICE_INIT("*ValidationException"), PERMANENT},
	{SLICE_INIT("*ValidationError"), PERMANENT},
	{SLICE_INIT("jakarta.validation.*"), PERMANENT},
	{SLICE_INIT("javax.validation.*"), PERMANENT},
	{SLICE_INIT("org.springframework.validation.*"), PERMANENT},
	{SLICE_INIT("MethodArgumentNotValidException"), PERMANENT},
};

/* Where Connect was with the record: before these are over it has only read it. */
static const struct slice permanent_stages[] = {
	SLICE_INIT("KEY_CONVERTER"),
	SLICE_INIT("VALUE_CONVERTER"),
	SLICE_INIT("HEADER_CONVERTER"),
	SLICE_INIT("TRANSFORMATION"),
};

int classify_rules_parse(
	struct arena *a, char *const *items, size_t n, struct classify_rules *ret, struct err *err)
{
	struct classify_rules rules = {.v = arena_alloc(a, n * sizeof(*rules.v))};

	for (size_t i = 0; i < n; i++) {
		const char *colon = strrchr(items[i], ':'); /* Ruby's classes have some, too */
		struct classify_rule *rule = &rules.v[rules.n++];

		if (!colon || colon == items[i] ||
			!reason_parse(slice_str(colon + 1), &rule->reason))
			return err_set(err, ERR_CONFIG,
				"\"%.100s\" is not of the form CLASS:REASON, where REASON is "
				"retries_exhausted, permanent_4xx or poison",
				items[i]);
		rule->class = slice_of(items[i], (size_t)(colon - items[i]));
	}
	*ret = rules;
	return 0;
}

static const struct classify_rule *rule_find(
	const struct classify_rule *v, size_t n, struct slice class)
{
	for (size_t i = 0; i < n; i++)
		if (glob_match_name(v[i].class, class))
			return &v[i];
	return NULL;
}

static struct slice class_or_null(struct slice s)
{
	return s.n <= CLASS_BYTES ? s : SLICE_NULL;
}

/* The cause knows more than what wraps it. */
static bool by_class(
	const struct classify_rule *v, size_t n, const struct dialect_facts *f, enum reason *ret)
{
	const struct classify_rule *rule = rule_find(v, n, class_or_null(f->error.class));

	if (!rule)
		rule = rule_find(v, n, class_or_null(f->wrapper));
	if (rule)
		*ret = rule->reason;
	return rule != NULL;
}

static bool by_status(struct dialect_facts *f)
{
	struct slice status = f->error.code, message = f->error.message;

	if (message.n > RECORD_ERROR_MESSAGE_BYTES)
		message.n = RECORD_ERROR_MESSAGE_BYTES;
	if (!http_status_valid(status))
		status = http_status_find(class_or_null(f->error.class), message);
	if (slice_is_null(status))
		status = http_status_find(class_or_null(f->wrapper), message);
	if (slice_is_null(status))
		return false;
	if (slice_is_null(f->error.code))
		f->error.code = status;
	f->reason = http_status_permanent(status) ? PERMANENT : TRANSIENT;
	return true;
}

static bool by_stage(struct dialect_facts *f)
{
	for (size_t i = 0; i < ARRAY_LEN(permanent_stages); i++) {
		if (slice_eq(f->stage, permanent_stages[i])) {
			f->reason = PERMANENT;
			return true;
		}
	}
	return false;
}

void classify(const struct classify_rules *rules, struct dialect_facts *f)
{
	bool nothing_known = slice_is_null(f->error.class) && slice_is_null(f->stage);

	if (f->reason_given || nothing_known)
		return;
	if (by_class(rules->v, rules->n, f, &f->reason) || by_status(f) ||
		by_class(classes, ARRAY_LEN(classes), f, &f->reason) || by_stage(f))
		return;
	f->reason = REASON_RETRIES_EXHAUSTED;
}

#include "advice.h"

#include "glob.h"
#include "http_status.h"
#include "mem.h"

#define REREAD "have its dead letter read again (README, \"Replaying a dead-letter topic\")"
#define READ_AGAIN "then " REREAD
#define CORRECT "put a corrected read with a higher sequence into the live pipeline"

/* Causes that say more than the error does. */
static const struct {
	enum cause cause;
	struct advice advice;
} causes[] = {
	{CAUSE_MALFORMED,
		{"the payload cannot be understood as a read",
			"see why with `meter-dlq show`; if the payload is right and only named or "
			"encoded "
			"otherwise, set payload.fields, else " CORRECT}},
	{CAUSE_CONFLICT, {"a read with the same key but other content is committed; that row stays",
				 "compare both with `meter-dlq show`; if the parked one is "
				 "right, " CORRECT}},
	{CAUSE_OVERSIZE,
		{"it is larger than our topics take, so only a pointer to it is kept",
			"fetch it from the dead-letter topic before retention takes it, or raise "
			"max.message.bytes of our topics and have it read again"}},
	{CAUSE_ORIGINAL_GONE, {"the dead letter was only a pointer to a read that is not at hand",
				      "have the share group copy records "
				      "(errors.deadletterqueue.copy.record.enable), and "
				      "read the original's topic by hand"}},
	{CAUSE_OPERATOR, {"somebody parked it by hand", "read note and ref with `meter-dlq show`"}},
	{CAUSE_EXPIRED, {"it neither failed nor was due for expire.after",
				"find out whether the read is still wanted, " READ_AGAIN}},
};

/* PostgreSQL manual, appendix A. The longest prefix that fits decides. */
static const struct code_advice {
	const char *code;
	struct advice advice;
} sqlstates[] = {
	{"08", {"the connection to Postgres broke", NULL}},
	{"22", {"a value does not fit its column", "widen the column, or " CORRECT}},
	{"22003", {"a number is out of its column's range", "widen the column, or " CORRECT}},
	{"22021", {"a text has characters that the database's encoding lacks",
			  "use a database in UTF8, or " CORRECT}},
	{"23", {"a constraint of the table refuses the row",
		       "repair data or constraint, " READ_AGAIN}},
	{"23502", {"a column that must not be null has no value",
			  "give the column a default, or " CORRECT}},
	{"23503", {"a foreign key refers to a row that is not there, such as an unknown meter",
			  "load the master data, " READ_AGAIN}},
	{"23505", {"a unique constraint other than that of the key is violated",
			  "drop that constraint, or " CORRECT}},
	{"23514", {"a CHECK constraint of the table refuses the row",
			  "change the constraint, or " CORRECT}},
	{"28", {"the worker may not log in to Postgres", "repair password or pg_hba.conf"}},
	{"40", {"it met other transactions too often", NULL}},
	{"42", {"the database lacks something the function needs",
		       "run `meter-dlq check`, and what it says"}},
	{"42501", {"the worker's role lacks a right", "GRANT meter_read_writer to it"}},
	{"54", {"the read is too large or too complex for the table", CORRECT}},
	{"55P03", {"a lock on its row was held too long",
			  "look in pg_locks for who holds it, " READ_AGAIN}},
	{"57014", {"committing it took longer than sink.statement.timeout",
			  "look for slow triggers or missing indexes, or raise the time-out"}},
	{"P0", {"a trigger raised an error", "read its message with `meter-dlq show`, and repair "
					     "what it asks for, " READ_AGAIN}},
};
static const struct advice sqlstate_other = {
	"Postgres refused it", "read the error with `meter-dlq show`, repair it, " READ_AGAIN};

static const struct code_advice statuses[] = {
	{"4", {"the service it was sent to refuses the read for good",
		      "see the service's answer with `meter-dlq show`; " CORRECT}},
	{"401", {"the ingestion was not logged in", "renew its credentials, " READ_AGAIN}},
	{"403", {"the ingestion lacked a right", "grant it, " READ_AGAIN}},
	{"404", {"the service does not know what the read is about, such as its meter",
			"load the master data, " READ_AGAIN}},
	{"408", {"the service was too slow", NULL}},
	{"429", {"the service was asked too often", NULL}},
	{"5", {"the service failed", NULL}},
};

/* The first that fits decides; patterns as in classify.c. */
static const struct {
	struct slice class;
	struct advice advice;
} exceptions[] = {
	{SLICE_INIT("*Timeout*"), {"the ingestion waited too long for something", NULL}},
	{SLICE_INIT("*TimedOut*"), {"the ingestion waited too long for something", NULL}},
	{SLICE_INIT("*Connect*"), {"the ingestion lost a connection", NULL}},
	{SLICE_INIT("java.net.*"), {"the ingestion lost a connection", NULL}},
	{SLICE_INIT("*Unavailable*"), {"a service was not there for the ingestion", NULL}},
	{SLICE_INIT("*Lock*"), {"the ingestion met other transactions", NULL}},
	{SLICE_INIT("*lock*"), {"the ingestion met other transactions", NULL}},
	{SLICE_INIT("*Schema*"), {"the payload does not fit its schema, or the schema is missing",
					 "register the schema or repair the producer; " CORRECT}},
	{SLICE_INIT("org.apache.avro.*"),
		{"the payload does not fit its schema",
			"register the schema or repair the producer; " CORRECT}},
	{SLICE_INIT("*erializ*"),
		{"the ingestion could not decode the payload", "repair the producer; " CORRECT}},
	{SLICE_INIT("*Json*"),
		{"the ingestion could not decode the payload", "repair the producer; " CORRECT}},
	{SLICE_INIT("*JSON*"),
		{"the ingestion could not decode the payload", "repair the producer; " CORRECT}},
	{SLICE_INIT("*Conver*"),
		{"the ingestion could not convert the read", "repair the producer; " CORRECT}},
	{SLICE_INIT("*Validation*"), {"the ingestion found the read invalid",
					     "see why with `meter-dlq show`; " CORRECT}},
	{SLICE_INIT("*ConstraintViolation*"), {"a constraint refused the read at the ingestion",
						      "repair data or constraint, " READ_AGAIN}},
};

static const struct advice exception_other = {"the program that dead-lettered it failed",
	"read the error with `meter-dlq show`, and repair that program"};
static const struct advice permanent_other = {"its dead letter says that it can never go through",
	"it stays parked: see what it holds with `meter-dlq show`, and " CORRECT};
static const struct advice nothing_known = {"its dead letter does not say why",
	"have the ingestion send the headers dlq-error-class and dlq-error-code"};

static const struct advice *by_cause(const struct advice_subject *s)
{
	for (size_t i = 0; s->parked && i < ARRAY_LEN(causes); i++)
		if (causes[i].cause == s->cause)
			return &causes[i].advice;
	return NULL;
}

static bool begins(struct slice text, const char *prefix)
{
	size_t n = strlen(prefix);

	return text.n >= n && memcmp(text.p, prefix, n) == 0;
}

/* Five digits or capitals; an HTTP status has three. */
static bool is_sqlstate(struct slice code)
{
	for (size_t i = 0; i < code.n; i++)
		if (!(code.p[i] >= '0' && code.p[i] <= '9') &&
			!(code.p[i] >= 'A' && code.p[i] <= 'Z'))
			return false;
	return code.n == 5;
}

static const struct advice *by_code(
	const struct code_advice *v, size_t n_codes, struct slice code, const struct advice *other)
{
	const struct advice *found = other;
	size_t longest = 0;

	for (size_t i = 0; i < n_codes; i++) {
		size_t n = strlen(v[i].code);

		if (n > longest && begins(code, v[i].code)) {
			longest = n;
			found = &v[i].advice;
		}
	}
	return found;
}

static const struct advice *by_class(struct slice class)
{
	for (size_t i = 0; i < ARRAY_LEN(exceptions); i++)
		if (glob_match_name(exceptions[i].class, class))
			return &exceptions[i].advice;
	return NULL;
}

static const struct advice *by_error(const struct advice_subject *s)
{
	const struct advice *found = NULL;

	if (is_sqlstate(s->code))
		found = by_code(sqlstates, ARRAY_LEN(sqlstates), s->code, &sqlstate_other);
	if (!found && http_status_valid(s->code))
		found = by_code(statuses, ARRAY_LEN(statuses), s->code, NULL);
	if (!found)
		found = by_class(s->class);
	if (!found && !slice_is_null(s->class))
		found = &exception_other;
	return found;
}

struct advice advice_for(const struct advice_subject *s)
{
	bool permanent = s->parked && s->cause == CAUSE_PERMANENT;
	const struct advice *found = by_cause(s);
	struct advice advice;

	if (!found)
		found = by_error(s);
	if (!found)
		found = permanent ? &permanent_other : &nothing_known;
	advice = *found;
	if (permanent)
		advice.next = permanent_other.next; /* reading it again does not change it */
	else if (!advice.next)
		advice.next = s->parked ? REREAD : "nothing: it is tried again until poison.cap";
	return advice;
}

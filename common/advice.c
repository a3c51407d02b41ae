#include "advice.h"

#include "glob.h"
#include "http_status.h"
#include "mem.h"

#define REREAD "have its dead letter read again (README, \"Replaying a dead-letter topic\")"
#define CORRECT "put a corrected read with a higher sequence into the live pipeline"

/*
 * again: once it is repaired, the same read can go through. repair NULL: there is nothing to
 * repair. correct: else a corrected read can.
 */
struct entry {
	const char *why, *repair;
	bool again, correct;
};
#define AGAIN(why, repair)                                                                         \
	{                                                                                          \
		(why), (repair), true, false                                                       \
	}
#define EITHER(why, repair)                                                                        \
	{                                                                                          \
		(why), (repair), true, true                                                        \
	}
#define FINAL(why, next)                                                                           \
	{                                                                                          \
		(why), (next), false, false                                                        \
	}

/* Causes that say more than the error does. */
static const struct {
	enum cause cause;
	struct entry advice;
} causes[] = {
	{CAUSE_MALFORMED,
		FINAL("the payload cannot be understood as a read",
			"see why with `meter-dlq show`; if the payload is right and only named or "
			"encoded "
			"otherwise, set payload.fields, else " CORRECT)},
	{CAUSE_CONFLICT,
		FINAL("a read with the same key but other content is committed; that row stays",
			"compare both with `meter-dlq show`; if the parked one is "
			"right, " CORRECT)},
	{CAUSE_OVERSIZE,
		FINAL("it is larger than our topics take, so only a pointer to it is kept",
			"fetch it from the dead-letter topic before retention takes it, or raise "
			"max.message.bytes of our topics and have it read again")},
	{CAUSE_ORIGINAL_GONE,
		FINAL("the dead letter was only a pointer to a read that is not at hand",
			"if its topic may not be read, grant that and rewind the dead-letter "
			"topic; "
			"else have the share group copy records "
			"(errors.deadletterqueue.copy.record.enable), and "
			"read the original's topic by hand")},
	{CAUSE_OPERATOR,
		FINAL("somebody parked it by hand", "read note and ref with `meter-dlq show`")},
	{CAUSE_EXPIRED, AGAIN("it neither failed nor was due for expire.after",
				"find out whether the read is still wanted")},
};

/* PostgreSQL manual, appendix A. The longest prefix that fits decides. */
static const struct code_advice {
	const char *code;
	struct entry advice;
} sqlstates[] = {
	{"08", AGAIN("the connection to Postgres broke", NULL)},
	{"22", EITHER("a value does not fit its column", "widen the column")},
	{"22003", EITHER("a number is out of its column's range", "widen the column")},
	{"22021", EITHER("a text has characters that the database's encoding lacks",
			  "use a database in UTF8")},
	{"23", AGAIN("a constraint of the table refuses the row", "repair data or constraint")},
	{"23502",
		EITHER("a column that must not be null has no value", "give the column a default")},
	{"23503", AGAIN("a foreign key refers to a row that is not there, such as an unknown meter",
			  "load the master data")},
	{"23505", EITHER("a unique constraint other than that of the key is violated",
			  "drop that constraint")},
	{"23514",
		EITHER("a CHECK constraint of the table refuses the row", "change the constraint")},
	{"28", AGAIN("the worker may not log in to Postgres", "repair password or pg_hba.conf")},
	{"40", AGAIN("it met other transactions too often", NULL)},
	{"42", AGAIN("the database lacks something the function needs",
		       "run `meter-dlq check`, and what it says")},
	{"42501", AGAIN("the worker's role lacks a right", "GRANT meter_read_writer to it")},
	{"54", FINAL("the read is too large or too complex for the table", CORRECT)},
	{"55P03",
		AGAIN("a lock on its row was held too long", "look in pg_locks for who holds it")},
	{"57014", FINAL("committing it took longer than sink.statement.timeout",
			  "look for slow triggers or missing indexes, or raise the time-out")},
	{"P0", AGAIN("a trigger raised an error",
		       "read its message with `meter-dlq show`, and repair "
		       "what it asks for")},
};
static const struct entry sqlstate_other =
	AGAIN("Postgres refused it", "read the error with `meter-dlq show`, repair it");

static const struct code_advice statuses[] = {
	{"4", FINAL("the service it was sent to refuses the read for good",
		      "see the service's answer with `meter-dlq show`; " CORRECT)},
	{"401", AGAIN("the ingestion was not logged in", "renew its credentials")},
	{"403", AGAIN("the ingestion lacked a right", "grant it")},
	{"404", AGAIN("the service does not know what the read is about, such as its meter",
			"load the master data")},
	{"408", AGAIN("the service was too slow", NULL)},
	{"429", AGAIN("the service was asked too often", NULL)},
	{"5", AGAIN("the service failed", NULL)},
};

/* The first that fits decides; patterns as in classify.c. */
static const struct {
	struct slice class;
	struct entry advice;
} exceptions[] = {
	{SLICE_INIT("*Timeout*"), AGAIN("the ingestion waited too long for something", NULL)},
	{SLICE_INIT("*TimedOut*"), AGAIN("the ingestion waited too long for something", NULL)},
	{SLICE_INIT("*Connect*"), AGAIN("the ingestion lost a connection", NULL)},
	{SLICE_INIT("java.net.*"), AGAIN("the ingestion lost a connection", NULL)},
	{SLICE_INIT("*Unavailable*"), AGAIN("a service was not there for the ingestion", NULL)},
	{SLICE_INIT("*Lock*"), AGAIN("the ingestion met other transactions", NULL)},
	{SLICE_INIT("*lock*"), AGAIN("the ingestion met other transactions", NULL)},
	{SLICE_INIT("*Schema*"),
		FINAL("the payload does not fit its schema, or the schema is missing",
			"register the schema or repair the producer; " CORRECT)},
	{SLICE_INIT("org.apache.avro.*"),
		FINAL("the payload does not fit its schema",
			"register the schema or repair the producer; " CORRECT)},
	{SLICE_INIT("*erializ*"), FINAL("the ingestion could not decode the payload",
					  "repair the producer; " CORRECT)},
	{SLICE_INIT("*Json*"), FINAL("the ingestion could not decode the payload",
				       "repair the producer; " CORRECT)},
	{SLICE_INIT("*JSON*"), FINAL("the ingestion could not decode the payload",
				       "repair the producer; " CORRECT)},
	{SLICE_INIT("*Conver*"),
		FINAL("the ingestion could not convert the read", "repair the producer; " CORRECT)},
	{SLICE_INIT("*Validation*"), FINAL("the ingestion found the read invalid",
					     "see why with `meter-dlq show`; " CORRECT)},
	{SLICE_INIT("*ConstraintViolation*"),
		AGAIN("a constraint refused the read at the ingestion",
			"repair data or constraint")},
};

static const struct entry exception_other = FINAL("the program that dead-lettered it failed",
	"read the error with `meter-dlq show`, and repair that program");
static const struct entry permanent_other =
	FINAL("its dead letter says that it can never go through",
		"it stays parked: see what it holds with `meter-dlq show`, and " CORRECT);
static const struct entry capped = FINAL("it failed until it had poison.cap attempts",
	"see by which errors with `meter-dlq stats --parked --by error`");
static const struct entry nothing_known = FINAL("its dead letter does not say why",
	"have the ingestion send the headers dlq-error-class and dlq-error-code");

static const struct entry *by_cause(const struct advice_subject *s)
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

static const struct entry *by_code(
	const struct code_advice *v, size_t n_codes, struct slice code, const struct entry *other)
{
	const struct entry *found = other;
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

static const struct entry *by_class(struct slice class)
{
	for (size_t i = 0; i < ARRAY_LEN(exceptions); i++)
		if (glob_match_name(exceptions[i].class, class))
			return &exceptions[i].advice;
	return NULL;
}

static const struct entry *by_error(const struct advice_subject *s)
{
	const struct entry *found = NULL;

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

/* Where nothing is known of the error. */
static const struct entry *by_cause_alone(const struct advice_subject *s)
{
	if (s->parked && s->cause == CAUSE_PERMANENT)
		return &permanent_other;
	if (s->parked && s->cause == CAUSE_POISON_CAP)
		return &capped;
	return &nothing_known;
}

static const char *next_of(
	struct arena *a, const struct advice_subject *s, const struct entry *found)
{
	const char * or = found->correct ? "; or " CORRECT : "";

	if (s->parked && s->cause == CAUSE_PERMANENT) /* reading it again does not change it */
		return permanent_other.repair;
	if (!found->again)
		return found->repair;
	if (!found->repair)
		return s->parked ? REREAD : "nothing: it is tried again until poison.cap";
	if (!s->parked)
		return arena_printf(a, "%s; it is tried again until poison.cap", found->repair);
	return arena_printf(a, "%s, then " REREAD "%s", found->repair, or);
}

struct advice advice_for(struct arena *a, const struct advice_subject *s)
{
	const struct entry *found = by_cause(s);

	if (!found)
		found = by_error(s);
	if (!found)
		found = by_cause_alone(s);
	return (struct advice){found->why, next_of(a, s, found)};
}

#include "dialect.h"

#include "codec.h"
#include "dialect_table.h"
#include "key.h"
#include "mem.h"

#define MS_MAX 253402300799999 /* the last millisecond of the year 9999 */

/* What the headers of one dialect say. */
struct said {
	enum dialect_id by;
	unsigned facts;	   /* a bit for each of v that is set */
	unsigned error_at; /* the number of the newest header of its error */
	bool anything;	   /* any of v has a value that is not null or empty */
	enum reason reason;
	struct {
		struct slice value;
		unsigned sizes;
	} v[FACT_COUNT];
};

/* v is not zeroed: a dead letter has the headers of one or two dialects. */
struct reading {
	size_t n; /* in the order of their first headers */
	struct said said[DIALECT_COUNT];
};

#define BIT(fact) (1u << (fact))
#define ORIGIN_FACTS (BIT(FACT_OLDEST_COUNTS) - 1)
#define ERROR_FACTS (BIT(FACT_CLASS) | BIT(FACT_CAUSE) | BIT(FACT_CODE) | BIT(FACT_MESSAGE))

/* --- gathering --- */

static struct said *said_by(struct reading *r, enum dialect_id by)
{
	struct said *s;

	for (size_t i = 0; i < r->n; i++)
		if (r->said[i].by == by)
			return &r->said[i];
	s = &r->said[r->n++];
	s->by = by;
	s->facts = s->error_at = 0;
	s->anything = false;
	s->reason = REASON_RETRIES_EXHAUSTED;
	return s;
}

/* Whether the first of headers that repeat is the one that counts. */
static bool first_counts(const struct dialect *d, enum fact fact)
{
	return (fact < FACT_OLDEST_COUNTS) != d->prepends;
}

static void take(struct said *s, const struct dialect_row *row, struct slice value, unsigned at)
{
	const struct dialect *d = &dialects[s->by];

	if (row->fact == FACT_REASON && !reason_parse(value, &s->reason))
		return;
	if (s->facts & BIT(row->fact) && first_counts(d, row->fact))
		return;
	if (row->fact == FACT_CLASS && d->class_begins)
		s->facts &= ~ERROR_FACTS;
	if (BIT(row->fact) & ERROR_FACTS)
		s->error_at = at;
	s->facts |= BIT(row->fact);
	s->anything |= value.n > 0;
	s->v[row->fact].value = value;
	s->v[row->fact].sizes = row->sizes;
}

static void gather(struct slice headers, struct reading *r)
{
	struct header h;
	size_t pos = 0;

	for (unsigned at = 1; headers_next(headers, &pos, &h); at++) {
		enum dialect_id by;
		const struct dialect_row *row = dialect_row_find(h.key, &by);

		if (row && row->fact < FACT_COUNT)
			take(said_by(r, by), row, h.value, at);
	}
}

/* --- values --- */

/* Null where it is not said, null or empty. */
static struct slice text(const struct said *s, enum fact fact)
{
	bool there = s->facts & BIT(fact) && s->v[fact].value.n;

	return there ? s->v[fact].value : SLICE_NULL;
}

static int64_t big_endian(struct slice s)
{
	uint64_t v = s.p[0] & 0x80 ? UINT64_MAX : 0;

	for (size_t i = 0; i < s.n; i++)
		v = v << 8 | s.p[i];
	return (int64_t)v;
}

/*
 * A number from 0 to max. Digits are text in a header that should be binary, too: people write
 * headers by hand, and as binary ones four digits would be above 800 million. A single byte is not.
 */
static bool number(const struct said *s, enum fact fact, int64_t max, int64_t *ret)
{
	struct slice value = text(s, fact);
	unsigned sizes = value.n ? s->v[fact].sizes : 0;
	bool as_text = value.n && (!sizes || value.n > 1);
	int64_t n = -1;

	if (!(as_text && sequence_parse(value, &n)) && value.n <= 8 && sizes >> value.n & 1)
		n = big_endian(value);
	if (n < 0 || n > max)
		return false;
	*ret = n;
	return true;
}

static int64_t time_us(const struct said *s, enum fact fact)
{
	int64_t ms;

	return number(s, fact, MS_MAX, &ms) ? ms * 1000 : DIALECT_NO_TIME;
}

/* Wolverine names its endpoints: kafka://topic/NAME, with another scheme for a named broker. */
static struct slice topic_name(struct slice topic)
{
	static const struct slice endpoint = SLICE_INIT("://topic/");
	const uint8_t *at = memmem(topic.p, topic.n, endpoint.p, endpoint.n);
	size_t skip = at ? (size_t)(at - topic.p) + endpoint.n : 0;

	return slice_of(topic.p + skip, topic.n - skip);
}

/* All of it or nothing: of a topic alone nobody can fetch anything. */
static bool origin(const struct said *s, struct origin *ret)
{
	struct slice topic = text(s, FACT_TOPIC);
	int64_t partition, offset;

	if (slice_is_null(topic))
		return false;
	topic = topic_name(topic);
	if (!topic_name_valid(topic) || !number(s, FACT_PARTITION, INT32_MAX, &partition) ||
		!number(s, FACT_OFFSET, INT64_MAX, &offset))
		return false;
	*ret = (struct origin){topic, (int32_t)partition, offset};
	return true;
}

/* "a.b.C: text", as an exception prints itself, is both. */
static void split_class(struct record_error *e)
{
	const uint8_t *p = e->class.n ? memchr(e->class.p, ' ', e->class.n) : NULL;
	size_t n = p ? (size_t)(p - e->class.p) : 0;

	if (n < 2 || p[-1] != ':')
		return;
	if (slice_is_null(e->message) && n + 1 < e->class.n)
		e->message = slice_of(p + 1, e->class.n - n - 1);
	e->class.n = n - 1;
}

/* --- what follows from it --- */

static bool has_error(const struct said *s)
{
	if (!(s->facts & ERROR_FACTS))
		return false;
	return text(s, FACT_CLASS).n || text(s, FACT_CAUSE).n || text(s, FACT_CODE).n ||
	       text(s, FACT_MESSAGE).n;
}

static void set_error(const struct said *s, struct dialect_facts *f)
{
	struct slice cause = text(s, FACT_CAUSE), message = text(s, FACT_CAUSE_MESSAGE);

	f->error = (struct record_error){
		text(s, FACT_CLASS), text(s, FACT_CODE), text(s, FACT_MESSAGE)};
	split_class(&f->error);
	if (cause.n) {
		f->wrapper = f->error.class;
		f->error.class = cause;
		if (message.n)
			f->error.message = message;
	}
	/* A null class means that there is no error. */
	if (slice_is_null(f->error.class))
		f->error.class = SLICE_LIT("unknown");
	f->stage = text(s, FACT_STAGE);
}

static void set_origin(const struct said *s, struct dialect_facts *f)
{
	if (f->written_us == DIALECT_NO_TIME)
		f->written_us = time_us(s, FACT_WRITTEN);
	if (origin_is_null(f->origin) && origin(s, &f->origin))
		f->pointer = s->by == DIALECT_SHARE_GROUP;
}

static void set_others(const struct said *s, struct dialect_facts *f)
{
	int64_t failed_us;

	if (s->facts & ORIGIN_FACTS)
		set_origin(s, f);
	if (s->facts & BIT(FACT_REASON)) {
		f->reason = s->reason;
		f->reason_given = true;
	}
	if (s->facts & BIT(FACT_STAGE))
		f->stage = text(s, FACT_STAGE);
	if (s->facts & BIT(FACT_ATTEMPTS))
		number(s, FACT_ATTEMPTS, INT32_MAX, &f->upstream_attempts);
	if (s->facts & BIT(FACT_FAILED) && (failed_us = time_us(s, FACT_FAILED)) != DIALECT_NO_TIME)
		f->failed_us = failed_us;
}

void dialect_read(struct slice headers, struct dialect_facts *ret)
{
	const struct said *newest = NULL;
	struct reading r;

	*ret = (struct dialect_facts){
		.dialect = "unknown",
		.reason = REASON_RETRIES_EXHAUSTED,
		.upstream_attempts = -1,
		.written_us = DIALECT_NO_TIME,
		.failed_us = DIALECT_NO_TIME,
	};
	r.n = 0;
	gather(headers, &r);
	for (size_t i = 0; i < r.n; i++) {
		const struct said *s = &r.said[i];

		set_others(s, ret);
		if (has_error(s) && (!newest || s->error_at > newest->error_at))
			newest = s;
		if (s->anything)
			ret->dialect = dialects[s->by].name;
	}
	if (newest) {
		set_error(newest, ret);
		ret->dialect = dialects[newest->by].name;
	}
}

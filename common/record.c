#include "record.h"

#include "key.h"
#include "mem.h"

#define TOPIC_NAME_BYTES 249

static const char *const reasons[REASON_COUNT] = {
	[REASON_RETRIES_EXHAUSTED] = "retries_exhausted",
	[REASON_PERMANENT_4XX] = "permanent_4xx",
	[REASON_POISON] = "poison",
};

static const struct {
	const char *name;
	bool reopens;
} causes[CAUSE_COUNT] = {
	[CAUSE_POISON_CAP] = {"poison_cap", .reopens = true},
	[CAUSE_PERMANENT] = {"permanent"},
	[CAUSE_MALFORMED] = {"malformed"},
	[CAUSE_CONFLICT] = {"conflict"},
	[CAUSE_EXPIRED] = {"expired", .reopens = true},
	[CAUSE_ORIGINAL_GONE] = {"original_gone"},
	[CAUSE_OVERSIZE] = {"oversize"},
	[CAUSE_OPERATOR] = {"operator"},
};

static const char *const events[] = {
	[EVENT_PARKED] = "parked",
	[EVENT_REDRIVEN] = "redriven",
	[EVENT_RESOLVED] = "resolved",
};

const char *reason_name(enum reason r)
{
	return (size_t)r < ARRAY_LEN(reasons) ? reasons[r] : "invalid";
}

bool reason_parse(struct slice name, enum reason *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (slice_eq(name, slice_str(reasons[i]))) {
			*ret = (enum reason)i;
			return true;
		}
	}
	return false;
}

const char *cause_name(enum cause c)
{
	return (size_t)c < ARRAY_LEN(causes) ? causes[c].name : "invalid";
}

bool cause_reopens(enum cause c)
{
	return (size_t)c < ARRAY_LEN(causes) && causes[c].reopens;
}

const char *parked_event_name(enum parked_event e)
{
	return (size_t)e < ARRAY_LEN(events) ? events[e] : "invalid";
}

bool topic_name_valid(struct slice name)
{
	bool dots = slice_eq(name, SLICE_LIT(".")) || slice_eq(name, SLICE_LIT(".."));

	for (size_t i = 0; i < name.n; i++) {
		uint8_t c = name.p[i], letter = c | 0x20;

		if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') && c != '.' &&
			c != '_' && c != '-')
			return false;
	}
	return name.n && name.n <= TOPIC_NAME_BYTES && !dots;
}

/* The text before the last colon, and the number behind it. */
static bool split_number(struct slice *text, int64_t max, int64_t *ret)
{
	const uint8_t *colon = text->n ? memrchr(text->p, ':', text->n) : NULL;
	size_t n = colon ? (size_t)(colon - text->p) : 0;

	if (!colon || !sequence_parse(slice_of(colon + 1, text->n - n - 1), ret) || *ret > max)
		return false;
	text->n = n;
	return true;
}

bool origin_parse(struct slice text, struct origin *ret)
{
	int64_t partition, offset;

	if (!split_number(&text, INT64_MAX, &offset) ||
		!split_number(&text, INT32_MAX, &partition) || !topic_name_valid(text))
		return false;
	*ret = (struct origin){text, (int32_t)partition, offset};
	return true;
}

/*
 * dead_letter.h: a dead letter as it arrived, and what we understand of it.
 * decode = key rule + dialect (headers of the program that wrote it) + payload. Pure; any thread.
 */
#ifndef COMMON_DEAD_LETTER_H
#define COMMON_DEAD_LETTER_H

#include "classify.h"
#include "codec.h"
#include "meter_read.h"
#include "record.h"
#include "schema_ref.h"

/* Raw. Everything borrowed from the Kafka message or the inbox record. */
struct dead_letter {
	struct origin at;     /* its place in the dead-letter topic */
	int64_t seen_us;      /* when it failed, see dead_letter_seen_us() */
	struct slice key;     /* may be null */
	struct slice payload; /* may be null */
	struct slice headers; /* encoded, see codec.h */
	uint32_t headers_cut;
	bool fetched;		  /* a pointer's original, see struct decoded */
	struct oversize oversize; /* handed over as such, without its payload */
};

/*
 * When a dead letter failed: its Kafka timestamp (ms since 1970, -1 for none) where that is sane
 * (from 2000 to now), else now. So a rewind reproduces it.
 */
int64_t dead_letter_seen_us(int64_t timestamp_ms, int64_t now_us);

/* key.from */
enum key_from { KEY_FROM_AUTO, KEY_FROM_KEY, KEY_FROM_HEADER, KEY_FROM_PAYLOAD };
struct key_rule {
	enum key_from from;
	char header[256]; /* KEY_FROM_HEADER */
};
/* KEY_FROM_AUTO: the header that is looked at where the record key is none. */
#define KEY_HEADER "idempotency-key"
/* "auto", "key", "header:NAME", "payload". False: not one of them. */
bool key_rule_parse(const char *text, struct key_rule *ret);

struct decode_rules {
	struct key_rule key;
	struct read_names names; /* payload.fields */
	struct classify_rules classify;
	struct schema_source schemas; /* find may be NULL: every schema is unknown */
	size_t max_bytes; /* what still fits our topics as one record; more is oversize */
};

/* Understood. Slices borrow from the dead letter or the arena. */
struct decoded {
	struct record record;	/* as a new entry: attempts 1, first = last = seen, due = now */
	struct meter_read read; /* valid unless unfit */
	bool unfit;		/* no read in it: parked at once, under its synthetic key */
	bool wait;	  /* its schema is away: all else is void, and it is to be decoded again */
	enum cause cause; /* unfit: CAUSE_MALFORMED, CAUSE_OVERSIZE or CAUSE_ORIGINAL_GONE */
	/*
	 * It is only a pointer to the read at record.origin (see struct dialect_facts). Whoever can
	 * fetch that decodes dead_letter_fetched() instead; where the original is gone,
	 * dead_letter_gone() says so.
	 */
	bool pointer;
	struct oversize oversize; /* CAUSE_OVERSIZE; else null */
};

/*
 * Always succeeds: what cannot be understood is unfit, with record.error saying why, key synthetic,
 * content = hash of the raw payload, bytes kept verbatim (oversize: payload null, and size and
 * SHA-256 in the error's message, key and headers only where they fit). What was handed over as
 * oversize stays that, whatever rules->max_bytes says.
 */
void dead_letter_decode(struct arena *a, const struct decode_rules *rules,
	const struct dead_letter *d, int64_t now_us, struct decoded *ret);

/* The dead letter that a pointer is together with its original, which lives as long. */
struct dead_letter dead_letter_fetched(struct arena *a, const struct dead_letter *pointer,
	struct slice key, struct slice payload, const struct header *headers, size_t n_headers);
/* ret, decoded from a pointer, is unfit for good: why is in words. */
void dead_letter_gone(struct arena *a, const char *why, struct decoded *ret);

/*
 * For the owner of its key: what d, decoded as decoded, is in the inbox, and what that is at the
 * owner, who decodes it to the same record. Everything is borrowed.
 */
struct inbox dead_letter_to_inbox(const struct dead_letter *d, const struct decoded *decoded);
struct dead_letter dead_letter_from_inbox(const struct inbox *i);

/*
 * Decodes the read inside an entry again, for its replay. NULL or the reason why it is malformed;
 * where that sets *ret_wait, its schema is away, and the entry waits without having been tried.
 */
const char *record_decode_read(struct arena *a, const struct decode_rules *rules,
	const struct record *r, struct meter_read *ret, bool *ret_wait);

#endif

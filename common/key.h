/*
 * key.h: idempotency keys, and the keys of our topics that are made from them.
 * Pure; any thread.
 */
#ifndef COMMON_KEY_H
#define COMMON_KEY_H

#include "mem.h"

/* The parts of a key of the form meter|instant|sequence. */
struct key_parts {
	struct slice meter_id; /* borrowed from the key */
	int64_t read_at_us;
	int64_t sequence;
};

/*
 * Whether key has the form meter|instant|sequence: a non-empty meter (which may contain bars), an
 * RFC 3339 instant with offset, a decimal sequence from 0 to 2^63-1.
 */
bool key_parse(struct slice key, struct key_parts *ret);

/* Whether text is a decimal sequence from 0 to 2^63-1: digits only, leading zeros allowed. */
bool sequence_parse(struct slice text, int64_t *ret);

/* Whether key may be an idempotency key at all: not empty, valid UTF-8, no NUL. */
bool key_usable(struct slice key);
/* The longest that is taken: an entry says it twice beside the dead letter's own bytes. */
#define KEY_BYTES_MAX 32768

/* "topic-partition-offset": the key of what is malformed or oversize. In the arena. */
struct slice key_synthetic(struct arena *a, const char *topic, int32_t partition, int64_t offset);

/*
 * The DLQ key of an entry: the idempotency key, or for a second content under a live key the
 * idempotency key, a NUL and the content hash in hex.
 */
struct slice key_of_entry(
	struct arena *a, struct slice idempotency_key, bool suffixed, uint64_t content);
/* Takes a DLQ key apart again. False where it is neither form (then nothing is set). */
bool key_split_entry(struct slice dlq_key, struct slice *ret_idempotency_key, bool *ret_suffixed);

/* The reserved key of a DLQ partition's checkpoint: a NUL and "checkpoint". */
#define KEY_CHECKPOINT SLICE_LIT("\0checkpoint")
static inline bool key_is_checkpoint(struct slice dlq_key)
{
	return slice_eq(dlq_key, KEY_CHECKPOINT);
}

#endif

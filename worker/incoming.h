/*
 * incoming.h: what a message of a source is. For the loop and the audit, which must read it alike.
 * The loop's thread only.
 */
#ifndef WORKER_INCOMING_H
#define WORKER_INCOMING_H

#include "dead_letter.h"
#include "log.h"

/* topics: names by number. Borrows from the message; headers encoded in the arena. */
struct dead_letter incoming_dead_letter(
	struct arena *a, char *const *topics, const struct log_message *m, int64_t now_us);

/*
 * dead_letter_decode, of a pointer with the read that it points to, which is copied into the arena.
 * False: that is not there yet, and log->ops->fetch_originals is what brings it.
 */
bool incoming_decode(struct arena *a, const struct decode_rules *rules, struct log *log,
	const struct dead_letter *d, int64_t now_us, struct decoded *ret);

#endif

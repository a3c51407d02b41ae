/* read_set.h: a set of reads, each a key and a content: 16 bytes, at most 2/3 full. */
#ifndef WORKER_READ_SET_H
#define WORKER_READ_SET_H

#include "hash.h"

struct read_set {
	struct key128 *v; /* open addressing; all zero: empty */
	size_t n, mask;
};

/* True where it was not in it yet. */
bool read_set_add(
	struct read_set *s, const struct hash_seed *seed, struct key128 key, uint64_t content);
bool read_set_has(const struct read_set *s, const struct hash_seed *seed, struct key128 key,
	uint64_t content);
void read_set_free(struct read_set *s);

#endif

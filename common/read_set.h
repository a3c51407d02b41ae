/*
 * read_set.h: a set of reads, each a key and a content, with a small number beside each. 16 bytes a
 * slot, a third to two thirds of them full: 24 to 48 bytes a read, and 72 for the moment in which
 * it grows. Two reads are taken for one if 96 bits of a seeded hash are the same. One thread.
 */
#ifndef COMMON_READ_SET_H
#define COMMON_READ_SET_H

#include "hash.h"

struct read_slot {
	uint64_t high;
	uint32_t low;
	uint32_t mark; /* 0: empty */
};

struct read_set {
	struct read_slot *v; /* open addressing */
	size_t n, mask;
};

/* Puts the read in, or changes its mark, which is not 0. Returns the mark before, 0 if it was not
 * in it yet. */
uint32_t read_set_mark(struct read_set *s, const struct hash_seed *seed, struct key128 key,
	uint64_t content, uint32_t mark);
/* The mark; 0: not in it. */
uint32_t read_set_get(const struct read_set *s, const struct hash_seed *seed, struct key128 key,
	uint64_t content);
void read_set_free(struct read_set *s);

#endif

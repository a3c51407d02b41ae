/*
 * dictionary.h: texts by number: 0, 1, 2 ... in the order in which they came. Grows with what is
 * added, which the caller bounds. One thread.
 */
#ifndef COMMON_DICTIONARY_H
#define COMMON_DICTIONARY_H

#include "hash.h"
#include "mem.h"

/* Zero-initialise, but for the seed (hash.h); dictionary_free releases. */
struct dictionary {
	struct hash_seed seed;
	struct slice *texts; /* by number, in the arena */
	size_t n, cap;
	uint32_t *index; /* open addressing; number + 1, 0 is empty */
	size_t slots;
	struct arena arena;
};

/* Its number; where it was not there yet it is copied, and *ret_new is set. */
size_t dictionary_add(struct dictionary *d, struct slice text, bool *ret_new);
/* Its number, or -1. */
ptrdiff_t dictionary_find(const struct dictionary *d, struct slice text);
void dictionary_free(struct dictionary *d);

#endif

/* headers_cut.h: which headers are kept where not all of them fit. Pure; any thread. */
#ifndef COMMON_HEADERS_CUT_H
#define COMMON_HEADERS_CUT_H

#include "codec.h"
#include "mem.h"

/* The bytes that a header takes when encoded. */
size_t header_size(const struct header *h);

/*
 * Of n headers what fits in room bytes, in their order; *ret_n of them, in the arena. What is kept
 * comes first in this list, and within a line is the first that fits:
 *
 * - headers that we or our readers need (dialect_table.h), the oldest and the newest of each name:
 *   the true origin and the last error;
 * - others, likewise;
 * - what is between the oldest and the newest of a name, the newest first: dead-lettered
 *   repeatedly, a record repeats its headers;
 * - stack traces, the newest first. The one that does not fit whole is cut, at a character.
 */
struct header *headers_cut(
	struct arena *a, const struct header *v, size_t n, size_t room, size_t *ret_n);

#endif

/*
 * tally.h: how many reads there are, of how many meters, since when, and how much energy they are,
 * by group. Memory grows with groups, meters and reading types, not with reads. Pure; one thread.
 */
#ifndef COMMON_TALLY_H
#define COMMON_TALLY_H

#include "advice.h"
#include "decimal.h"
#include "dictionary.h"

/* A read, and the group it belongs to. Slices are copied. */
struct tally_read {
	bool parked;
	struct slice group; /* null is a group too: the one without a name */
	struct advice_subject subject;
	struct slice meter;	   /* null: unknown */
	struct slice reading_type; /* null: it has none */
	struct slice kwh;	   /* null: unreadable */
	int64_t first_seen_us;
};

/* The energy of one reading type; they are never added up. */
struct tally_sum {
	struct slice reading_type; /* null: reads without one */
	struct decimal_sum kwh;
	size_t next; /* of the same row: number + 1; 0: none */
};

struct tally_row {
	bool parked;
	struct slice group;
	struct advice_subject subject; /* of its first read */
	uint64_t reads;
	uint64_t meters;	 /* known ones */
	uint64_t unknown_meters; /* reads whose meter is unknown */
	uint64_t unreadable;	 /* reads without an amount that counts */
	int64_t oldest_us;	 /* the earliest first_seen */
	size_t sums;		 /* its first sum: number + 1; 0: none */
};

/* Zero-initialise but for the seed (hash.h) of its dictionaries; tally_free releases. */
struct tally {
	struct dictionary groups, meters, types;
	struct tally_row *rows; /* by number in groups */
	struct tally_sum *sums; /* by number in types */
	size_t cap_rows, cap_sums;
	struct arena arena;
};

void tally_add(struct tally *t, const struct tally_read *read);
/* A row that is there without a read too. */
void tally_expect(struct tally *t, bool parked);
/* The rows: live before parked, more reads before fewer, then by name. In the arena. */
const struct tally_row **tally_rows(const struct tally *t, struct arena *arena, size_t *ret_n);
/* The sums of a row by reading type, the null one first. In the arena. */
const struct tally_sum **tally_sums(
	const struct tally *t, const struct tally_row *row, struct arena *arena, size_t *ret_n);
void tally_free(struct tally *t);

#endif

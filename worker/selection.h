/*
 * selection.h: the live entries and parked reads that the flags choose, out of the topics. Reads
 * every partition once for the tickets, and once for each walk. One thread.
 */
#ifndef WORKER_SELECTION_H
#define WORKER_SELECTION_H

#include "filter.h"
#include "inspection.h"

/* Borrowed; valid during the call. */
struct chosen {
	bool parked;
	struct parked event; /* of a live entry only .entry is set */
	struct read_view view;
	int32_t partition;
	int64_t offset;
	size_t bytes; /* of the record's value */
};
typedef int chosen_fn(void *arg, const struct chosen *c, struct err *err);

struct selection {
	struct inspection in;
	struct arena filter_arena, record_arena;
	struct filter filter;
	int64_t now_us;
	struct partition *partitions; /* by number */
	struct log_range *dlq, *parked;
};

/* ERR_CONFIG where a flag is wrong, before anything is connected to. To be closed regardless. */
MUST_CHECK int selection_open(struct selection *s, const struct config *config, struct err *err);
void selection_close(struct selection *s);

/* Calls fn for each live entry, or each parked read, that is chosen: in no order but that of the
 * offsets of a partition. Ends with the first value of fn that is not 0. */
MUST_CHECK int selection_walk(
	struct selection *s, bool parked, chosen_fn *fn, void *arg, struct err *err);

/* Decodes a record of the DLQ or the parked topic for people. False where it is none of ours. */
bool selection_decode(
	struct selection *s, struct arena *a, bool parked, struct slice value, struct chosen *ret);

#endif

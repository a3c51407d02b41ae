/* read_view.h: what can be known of the read inside of an entry, for people. Pure; any thread. */
#ifndef COMMON_READ_VIEW_H
#define COMMON_READ_VIEW_H

#include "dead_letter.h"

struct read_view {
	struct meter_read read; /* valid unless unreadable */
	const char *unreadable; /* why; NULL: it can be read */
	/* From the read, else from a key of the form meter|instant|sequence. */
	struct slice meter; /* null: nobody knows */
	int64_t read_at_us;
	bool has_time;
};

/* Borrows from record and arena. */
void read_view_of(struct arena *a, const struct decode_rules *rules, const struct record *r,
	struct read_view *ret);

#endif

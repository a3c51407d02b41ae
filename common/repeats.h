/*
 * repeats.h: which log events are written and which only counted, because their kind was written
 * often enough in the present window. Pure; the caller locks.
 */
#ifndef COMMON_REPEATS_H
#define COMMON_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#define REPEATS_WINDOW_US (10LL * 1000 * 1000)
/* Lines of a kind in a window: about records, and others. */
#define REPEATS_RECORDS 20
#define REPEATS_OTHERS 1
#define REPEATS_TEXT_BYTES 1024
#define REPEATS_SLOTS 64

/* A kind of event: its name and its text without numbers. */
struct repeats_slot {
	char level;
	char name[32], kind[REPEATS_TEXT_BYTES];
	char text[REPEATS_TEXT_BYTES]; /* of the last one left out */
	int64_t since_us;	       /* when its window began */
	unsigned written;	       /* in this window */
	unsigned left_out;	       /* and not said yet */
};

struct repeats {
	struct repeats_slot slots[REPEATS_SLOTS];
};

/*
 * Whether the event is written; then *ret_left of its kind were left out before it. *ret_evicted is
 * a kind that made room, to be said where it left any out.
 */
bool repeats_admit(struct repeats *r, char level, const char *name, const char *text,
	bool of_record, int64_t now_us, unsigned *ret_left, struct repeats_slot *ret_evicted);
/* Takes out a kind that left some out and whose window is over, or any where all is set. */
bool repeats_flush(struct repeats *r, int64_t now_us, bool all, struct repeats_slot *ret);

#endif

/*
 * report.h: log lines on stderr, one event a line: JSON or text. Any thread.
 *
 * Events of one kind within ten seconds are written once, those about records a few times; how many
 * were left out stands in the next line of that kind, or in one of its own. A kind is an event and
 * its text, whatever record it is about and whatever numbers a warning gives.
 */
#ifndef WORKER_REPORT_H
#define WORKER_REPORT_H

#include "clock.h"
#include "loop.h"

enum report_form {
	REPORT_JSON,
	REPORT_TEXT,	/* the worker's, on a terminal */
	REPORT_COMMAND, /* another command's: text without the time, warnings and errors only */
};

/* clock is borrowed. The caller frees with report_free. */
struct report *report_new(struct clock *clock, enum report_form form);
/* Writes what was left out and not said yet. */
void report_free(struct report *r);
void report_freep(struct report **r);
/* Says what was left out where ten seconds are over; cheap, so call it every turn. */
void report_flush(struct report *r);

__attribute__((format(printf, 4, 5))) void report_event(
	struct report *r, char level, const char *event, const char *fmt, ...);

#endif

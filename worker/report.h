/*
 * report.h: log lines on stderr, one event a line: JSON or text. An event that
 * repeats word for word within ten seconds is counted, not written. Any thread.
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
void report_free(struct report *r);
void report_freep(struct report **r);

__attribute__((format(printf, 4, 5))) void report_event(
	struct report *r, char level, const char *event, const char *fmt, ...);

#endif

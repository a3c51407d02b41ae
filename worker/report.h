/*
 * report.h: log lines on stderr, one event a line: JSON, or text for a terminal. An event that
 * repeats word for word within ten seconds is counted, not written. Any thread.
 */
#ifndef WORKER_REPORT_H
#define WORKER_REPORT_H

#include "clock.h"
#include "loop.h"

/* text: else JSON. clock is borrowed. The caller frees with report_free. */
struct report *report_new(struct clock *clock, bool text);
void report_free(struct report *r);
void report_freep(struct report **r);

__attribute__((format(printf, 4, 5))) void report_event(
	struct report *r, char level, const char *event, const char *fmt, ...);

#endif

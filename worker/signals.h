/*
 * signals.h: SIGTERM and SIGINT, taken by a thread of their own, so that no system call of the
 * other threads is ever interrupted. The first one asks for an orderly end. A second one, or nine
 * seconds, end the process wherever it is: that loses nothing, all state is in Kafka and Postgres.
 */
#ifndef WORKER_SIGNALS_H
#define WORKER_SIGNALS_H

struct report;
struct signals;

/* Before any other thread is made: threads inherit what is blocked. report is borrowed. */
struct signals *signals_new(struct report *report);
/* What the first signal calls, on the signals' thread. NULL: nothing is open, the process ends. */
void signals_on_stop(struct signals *s, void (*stop)(void *arg), void *arg);
void signals_freep(struct signals **s);

#endif

/*
 * coroutine.h: one stack per simulated process, so that the worker's loop runs as it is written,
 * and every call of a seam can hand over to the scheduler. One OS thread.
 */
#ifndef SIM_COROUTINE_H
#define SIM_COROUTINE_H

#include <stdbool.h>

struct coroutine;

/* Its stack is kept for all its runs. */
struct coroutine *coroutine_new(void);
void coroutine_free(struct coroutine *c);

/* Runs fn(arg) from the next resume on. It must not be running. */
void coroutine_start(struct coroutine *c, void (*fn)(void *), void *arg);
/* From outside: runs it until it yields or fn returns. */
void coroutine_resume(struct coroutine *c);
/* From inside. */
void coroutine_yield(struct coroutine *c);
/* Started, and fn has not returned. */
bool coroutine_running(const struct coroutine *c);

#endif

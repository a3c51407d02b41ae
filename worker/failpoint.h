/*
 * failpoint.h: named places at which a test build dies as if by kill -9, when METER_DLQ_CRASH_AT in
 * the environment names them. Other builds contain nothing of it.
 */
#ifndef WORKER_FAILPOINT_H
#define WORKER_FAILPOINT_H

#ifdef METER_DLQ_FAILPOINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void failpoint(const char *name)
{
	const char *at = getenv("METER_DLQ_CRASH_AT");

	if (at && strcmp(at, name) == 0)
		kill(getpid(), SIGKILL);
}
#define FAILPOINT(name) failpoint(name)

#else
#define FAILPOINT(name) ((void)0)
#endif

#endif

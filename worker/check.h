/* check.h: the lines of `check`: cmd_check.c prints them, check_*.c find them out. */
#ifndef WORKER_CHECK_H
#define WORKER_CHECK_H

#include "config.h"

struct checking {
	const struct config *config;
	struct arena arena;
	unsigned wrong;
	bool unreachable; /* Kafka, Postgres or whatever else is asked did not answer */
};

/* A line: what holds. */
__attribute__((format(printf, 2, 3))) void check_ok(struct checking *c, const char *fmt, ...);
/* A line: what does not, and what to do about it. */
void check_wrong(struct checking *c, const char *what, const char *todo);
/* The same of a call that failed with the class r. */
void check_failed(struct checking *c, int r, const struct err *err, const char *todo);

/* Each is one part of the system; a new one goes into the list in cmd_check.c. */
void check_kafka(struct checking *c);
void check_postgres(struct checking *c);
void check_registry(struct checking *c);

#endif

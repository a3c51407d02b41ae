/*
 * dialect.h: what the headers of a dead letter say, by the program that wrote them.
 * Table-driven; today the native dialect (dlq-reason, dlq-error-class, -code, -message).
 * Unknown headers travel unchanged. Pure; any thread.
 */
#ifndef COMMON_DIALECT_H
#define COMMON_DIALECT_H

#include "record.h"

struct dialect_facts {
	const char *dialect;	   /* "native", "unknown" */
	enum reason reason;	   /* retries_exhausted where nothing says more */
	struct record_error error; /* all null where nothing says */
	struct origin origin;	   /* null where nothing says */
	int64_t upstream_attempts; /* -1 where nothing says */
};

/* headers: encoded, see codec.h. Slices borrow from it. */
void dialect_read(struct slice headers, struct dialect_facts *ret);

#endif

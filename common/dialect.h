/*
 * dialect.h: what the headers of a dead letter say, by the programs that wrote them. Table-driven
 * (dialect_table.h) and told from the headers of each record. A record that was dead-lettered
 * repeatedly repeats its headers: its origin is what the first ones say, its error what the newest
 * do. Pure; any thread.
 */
#ifndef COMMON_DIALECT_H
#define COMMON_DIALECT_H

#include "record.h"

struct dialect_facts {
	const char *dialect; /* "spring", "connect", ...: of the newest error; "unknown" */
	enum reason reason;  /* retries_exhausted unless reason_given */
	bool reason_given;
	/* All null where nothing says. The class is that of the exception's cause where known, as
	 * what is around it is a wrapper of the framework's. */
	struct record_error error;
	struct slice wrapper; /* the class of the exception around error.class; null: none */
	struct slice stage;   /* Kafka Connect's; null: none */
	struct origin origin; /* null where nothing says */
	/* Written by a share group, which by default copies neither key nor value (KIP-1191): where
	 * both are null, the record is only a pointer to the read at its origin. The topic is then
	 * a name, or where the broker knew none an id. */
	bool pointer;
	int64_t upstream_attempts; /* -1 where nothing says */
	/* When the original was written, and when it failed, as the upstream says: for people, our
	 * own times do not come from them. DIALECT_NO_TIME where nothing says. */
	int64_t written_us, failed_us;
};
#define DIALECT_NO_TIME INT64_MIN

/* headers: encoded, see codec.h. Slices borrow from it. No value is trusted to be what its name
 * says: what it cannot be says nothing. */
void dialect_read(struct slice headers, struct dialect_facts *ret);

#endif

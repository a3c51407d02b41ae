/*
 * dialect_table.h: the headers that programs write on dead letters, as data, for dialect.c and for
 * whoever must leave some out. Pure; any thread.
 */
#ifndef COMMON_DIALECT_TABLE_H
#define COMMON_DIALECT_TABLE_H

#include "slice.h"

enum dialect_id {
	DIALECT_NATIVE,
	DIALECT_SPRING, /* Spring Kafka and Spring Cloud Stream: an application may mix them */
	DIALECT_CONNECT,
	DIALECT_STREAMS,
	DIALECT_SHARE_GROUP,
	DIALECT_SMALLRYE,
	DIALECT_KARAFKA,
	DIALECT_WOLVERINE,
};
#define DIALECT_COUNT 8

struct dialect {
	const char *name;
	/* It puts its headers before those of the record, so that the newest come first. */
	bool prepends;
	/* It writes the exception's class first, and leaves older headers of the error as they are
	 * where the new exception has no cause or text. */
	bool class_begins;
};
extern const struct dialect dialects[DIALECT_COUNT];

/* What a header says. */
enum fact {
	/* Of the read itself: the oldest counts. */
	FACT_TOPIC,
	FACT_PARTITION,
	FACT_OFFSET,
	FACT_WRITTEN, /* milliseconds */
	/* Of its failure: the newest counts. */
	FACT_REASON,
	FACT_CLASS,
	FACT_CAUSE, /* the class of the exception's cause */
	FACT_CODE,
	FACT_MESSAGE,
	FACT_CAUSE_MESSAGE,
	FACT_STAGE,
	FACT_ATTEMPTS,
	FACT_FAILED, /* milliseconds */
	/* Nothing that dialect.c reads. */
	FACT_KEEP,  /* somebody else needs it: kept before headers that nobody knows */
	FACT_TRACE, /* long, and for people alone: the first to be cut */
	FACT_BLOB,  /* likewise, but of no use in parts */
};
#define FACT_OLDEST_COUNTS FACT_REASON /* for those before it */
#define FACT_COUNT FACT_KEEP

/* How a number stands in a header: the sizes in bytes that it may have as a binary one, big-endian
 * two's complement; a bit each. None: a text. */
#define AS_TEXT 0u
#define AS_INT8 (1u << 1)
#define AS_INT32 (1u << 4)
#define AS_INT64 (1u << 8)
#define AS_MINIMAL 0x1feu /* one byte to eight */

struct dialect_row {
	struct slice suffix; /* of the name, behind the prefix that its rows have in common */
	enum fact fact;
	unsigned sizes;
};

/* NULL: nobody's. */
const struct dialect_row *dialect_row_find(struct slice name, enum dialect_id *ret_by);

#endif

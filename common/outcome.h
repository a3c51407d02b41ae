/*
 * outcome.h: what became of one read that was sent to the sink. A value, never an error.
 * Zero is invalid, so that a forgotten outcome cannot pass for a committed read.
 */
#ifndef COMMON_OUTCOME_H
#define COMMON_OUTCOME_H

#include "slice.h"

enum outcome_kind {
	OUTCOME_INVALID = 0,
	OUTCOME_COMMITTED, /* inserted, and the commit is durable */
	OUTCOME_DUPLICATE, /* the same content was there */
	OUTCOME_CONFLICT,  /* other content is there; it stays */
	OUTCOME_FAILED,	   /* this read failed: an attempt */
	OUTCOME_OUTAGE,	   /* not the read's fault, or not tried: no attempt */
};

struct outcome {
	enum outcome_kind kind;
	char code[6];		/* FAILED: SQLSTATE, NUL-terminated */
	struct slice message;	/* FAILED: UTF-8, in the batch's arena */
	struct slice committed; /* CONFLICT: the row's content as JSON, in the batch's arena */
};

#endif

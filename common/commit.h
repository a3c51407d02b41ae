/*
 * commit.h: drives one batch of reads into Postgres: which call comes next, and what its result
 * means for each read. The calls themselves are the sink's (worker/sink.h). A pure state machine:
 *
 *     commit_init -> { commit_next -> the sink makes the call -> commit_result }* -> outcomes
 *
 * One bad read costs its neighbours nothing (promise 9), an outage burns no attempt (promise 8).
 */
#ifndef COMMON_COMMIT_H
#define COMMON_COMMIT_H

#include "mem.h"
#include "outcome.h"
#include "sqlstate.h"

enum sink_call_kind {
	SINK_COMMIT,  /* commit_meter_reads, one read */
	SINK_ISOLATE, /* commit_meter_reads_isolated: commits what it can, says which failed */
	SINK_PROBE,   /* an empty call: is Postgres there, and its contract? */
};

/* A call to make: reads [from, from + n) of the batch. */
struct sink_call {
	enum sink_call_kind kind;
	size_t from, n;
	bool later; /* after COMMIT_PAUSE_MS */
};
#define COMMIT_PAUSE_MS 250

/* The result of one call as a whole. */
struct sink_result {
	enum sql_class class; /* SQL_OK: outcomes are set; INVALID: left for a later call */
	char code[6];	      /* else: SQLSTATE, "" for a lost connection or a time-out of ours */
	bool backend_lost;    /* a connection died under the call; some reads may be done */
	char message[256];
};

enum commit_verdict {
	COMMIT_DONE = 0, /* every read has its outcome */
	COMMIT_OUTAGE,	 /* the rest is OUTCOME_OUTAGE; open the breaker */
	COMMIT_CONTRACT, /* likewise, and the contract is missing */
};

/* A range of reads still to be called for. The driver's own. */
struct commit_work {
	struct sink_call call;
	uint8_t retries; /* calls that failed with SQL_RETRY or left all reads for later */
	uint8_t outages; /* calls that failed with SQL_OUTAGE while a probe succeeded */
	bool crashed;	 /* the server went down under its last call */
};

/* Reads in a row that failed alone with an outage class: one more, and it is an outage. */
#define COMMIT_ROW_MAX 20

struct commit {
	size_t n;		  /* reads */
	struct outcome *outcomes; /* n of them, borrowed */
	struct arena *arena;	  /* borrowed; holds texts */
	struct sink_result last;  /* the last that was not SQL_OK, for the log */
	enum commit_verdict verdict;

	/* The driver's own. */
	struct commit_work *stack; /* the last one is next, and stays until its result is there */
	size_t depth, cap;
	bool probing;		    /* the last call failed: is it the server? */
	bool lost;		    /* a backend died under a call of this batch */
	unsigned waits;		    /* probes in a row that found it coming back */
	size_t row[COMMIT_ROW_MAX]; /* see there; empties when a read commits */
	size_t row_n;
};

void commit_init(struct commit *c, struct arena *arena, struct outcome *outcomes, size_t n);
/* False: finished, see c->verdict. */
bool commit_next(struct commit *c, struct sink_call *ret);
/*
 * r is the result of the call that commit_next gave; where its class is SQL_OK, the outcomes of
 * that range are set already (a FAILED one by the isolated function carries its SQLSTATE).
 */
void commit_result(struct commit *c, const struct sink_result *r);
void commit_free(struct commit *c);

#endif

/*
 * pg_transaction.h: one call of the SQL contract as one transaction, pipelined: BEGIN, settings,
 * the function for every so many reads, COMMIT go out in one write. The loop's thread only.
 */
#ifndef WORKER_PG_TRANSACTION_H
#define WORKER_PG_TRANSACTION_H

#include "pg_arrays.h"
#include "pg_connection.h"

/* What to send. */
struct pg_sql {
	char *settings, *commit, *isolate;
	size_t statement_records; /* reads per call of the function */
};

/* Zero-initialise. */
struct pg_transaction {
	enum sink_call_kind kind;
	const struct meter_read *const *reads;
	size_t n;
	size_t per_statement, statements;
	size_t step;	    /* statements whose results have all come, BEGIN being the first */
	PGresult **results; /* of each call of the function */
	struct sink_result error; /* the first; SQL_OK: none */
	bool began;		  /* the backend has answered BEGIN */
	bool committed;		  /* COMMIT was confirmed */
	bool lost;		  /* the connection is gone, or the backend goes */
	bool synced;		  /* all answers are there */
	bool rolling_back;	  /* the ROLLBACK of the one before is still to be answered */
	struct pg_arrays arrays;
};

/* Queues it. A probe calls both functions with no reads. reads are borrowed until it is over. */
void pg_transaction_send(struct pg_transaction *t, struct pg_connection *c,
	const struct pg_sql *sql, enum sink_call_kind kind, const struct meter_read *const *reads,
	size_t n);
/*
 * Takes what has come (after pg_connection_pump). True: it is over. t->error is what it ended with;
 * a connection that is good for more has then been told to roll back.
 */
bool pg_transaction_receive(struct pg_transaction *t, struct pg_connection *c);
/*
 * The outcomes of all n reads of a transaction without error, OUTCOME_INVALID for those that it
 * left to a later one; texts into arena. False: the function broke the contract, t->error says how.
 */
bool pg_transaction_outcomes(
	struct pg_transaction *t, struct arena *arena, struct outcome *outcomes);
/* Forgets it; a connection that is closed takes its answers along. */
void pg_transaction_clear(struct pg_transaction *t, bool connection_closed);
void pg_transaction_free(struct pg_transaction *t);

#endif

/* postgres.h: the simulated Postgres: calls under way, and when it is away. Rows are in truth.h. */
#ifndef SIM_POSTGRES_H
#define SIM_POSTGRES_H

#include "sink.h"
#include "truth.h"

struct world;
struct process;

/* A call as it was sent; it is executed whether or not its sender still lives. */
struct sql_call {
	bool open; /* sent, and its result was not taken */
	bool executed;
	enum sink_call_kind kind;
	struct read **reads;
	size_t n, cap;
	int64_t execute_us, answer_us;
	struct sink_result result;
	enum evidence *outcomes; /* n of them, where result is SQL_OK */
	const char **codes;	 /* FAILED: its SQLSTATE */
};

struct postgres {
	int64_t away_until_us;
	int64_t no_contract_until_us;
};

/* Executes what has come due. */
void postgres_run(struct world *w);
/* One more row by the live pipeline. */
void postgres_live_commit(struct world *w, struct read *r);
extern const struct sink_ops fake_sink_ops;

#endif

/*
 * pg_lane.h: one connection to Postgres and the call under way on it: connects where need be,
 * checks the contract of a new connection, sends one transaction, takes its answers. Never waits by
 * itself. The loop's thread only.
 */
#ifndef WORKER_PG_LANE_H
#define WORKER_PG_LANE_H

#include "pg_transaction.h"

/* What all lanes of a sink share; borrowed. */
struct pg_lane_config {
	char *conninfo, *application_name;
	struct pg_sql sql;
	int statement_timeout_ms;
};

enum pg_phase {
	PG_IDLE = 0,
	PG_LANE_CONNECTING,
	PG_CHECKING, /* a new connection: is the contract there? */
	PG_CALLING,
	PG_DONE, /* result is what it came to */
};

/* Zero-initialise but for config. Its address must not change. */
struct pg_lane {
	const struct pg_lane_config *config;
	struct pg_connection connection;
	struct pg_transaction transaction;

	/* The call. */
	enum pg_phase phase;
	enum sink_call_kind kind;
	const struct meter_read *const *reads;
	size_t n;
	int64_t deadline_ms;
	struct sink_result result;
};

/* As sink_ops.send. A call that its caller has given up is forgotten. */
void pg_lane_send(struct pg_lane *l, enum sink_call_kind kind,
	const struct meter_read *const *reads, size_t n);
/* Goes on as far as it can without waiting. True: the call is over. */
bool pg_lane_advance(struct pg_lane *l);
/* What it waits for, until pg_lane_deadline_ms (see pg_now_ms) at the latest. */
struct pollfd pg_lane_poll(struct pg_lane *l);
int64_t pg_lane_deadline_ms(const struct pg_lane *l);
/* Of a call that is over: its result, and its outcomes where that is SQL_OK; texts into arena. */
struct sink_result pg_lane_take(struct pg_lane *l, struct arena *arena, struct outcome *outcomes);
void pg_lane_free(struct pg_lane *l);

#endif

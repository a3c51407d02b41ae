#include "pg_lane.h"

#include <stdio.h>

#include "failpoint.h"

/* Beyond the time-outs of its statements, after which a call is given up. */
#define SPARE_MS 10000

static void close_connection(struct pg_lane *l)
{
	pg_connection_close(&l->connection);
	pg_transaction_clear(&l->transaction, true);
}

static void finish(struct pg_lane *l, const struct sink_result *result)
{
	l->result = *result;
	l->phase = PG_DONE;
}

static void begin_transaction(struct pg_lane *l, enum pg_phase phase, enum sink_call_kind kind)
{
	size_t statements;

	l->phase = phase;
	pg_transaction_clear(&l->transaction, false);
	pg_transaction_send(&l->transaction, &l->connection, &l->config->sql, kind, l->reads, l->n);
	statements = l->transaction.statements + 2;
	l->deadline_ms =
		pg_now_ms() + SPARE_MS + (int64_t)statements * l->config->statement_timeout_ms;
}

static void connect_done(struct pg_lane *l)
{
	if (l->kind == SINK_PROBE)
		begin_transaction(l, PG_CALLING, SINK_PROBE);
	else
		begin_transaction(l, PG_CHECKING, SINK_PROBE);
}

/* Says what to run where it is the contract that is missing, and not a right to log in. */
static void add_advice(struct sink_result *r)
{
	static const char ADVICE[] = " (`meter-dlq init` installs what it needs)";
	size_t n = strlen(r->message), most = sizeof(r->message) - sizeof(ADVICE);

	if (r->class == SQL_CONTRACT && strncmp(r->code, "28", 2) != 0 &&
		strcmp(r->code, "3D000") != 0)
		memcpy(r->message + (n < most ? n : most), ADVICE, sizeof(ADVICE));
}

/* The check of a new connection holds no read: whatever fails there, no read is to blame. */
static void blame_server(struct sink_result *error)
{
	if (error->class != SQL_OK && error->class != SQL_CONTRACT)
		error->class = SQL_OUTAGE;
	error->backend_lost = false;
}

static void transaction_done(struct pg_lane *l)
{
	struct sink_result error = l->transaction.error;

	if (l->phase == PG_CHECKING)
		blame_server(&error);
	add_advice(&error);
	/*
	 * Outage classes are of this server or this connection: 25006 after a failover, 57P01. What
	 * the contract lacks a session may not see when it comes: its search_path is resolved once.
	 */
	if (error.class == SQL_OUTAGE || error.class == SQL_CONTRACT)
		close_connection(l);
	if (error.class == SQL_OK && l->phase == PG_CALLING && l->kind != SINK_PROBE)
		FAILPOINT("after-sink-commit");
	if (error.class != SQL_OK || l->phase == PG_CALLING) {
		finish(l, &error);
		return;
	}
	begin_transaction(l, PG_CALLING, l->kind);
}

static void time_out(struct pg_lane *l)
{
	struct sink_result r = {.class = SQL_OUTAGE};

	snprintf(r.message, sizeof(r.message),
		"no answer from Postgres in time: connection dropped");
	close_connection(l);
	finish(l, &r);
}

/* One step on. False: nothing to do but wait. */
static bool step(struct pg_lane *l)
{
	struct sink_result failure;
	enum pg_state state;

	switch (l->phase) {
	case PG_LANE_CONNECTING:
		state = pg_connection_poll(&l->connection, &failure);
		if (state == PG_OPEN)
			connect_done(l);
		else if (state == PG_CLOSED)
			finish(l, &failure);
		return state != PG_CONNECTING;
	case PG_CHECKING:
	case PG_CALLING:
		if (pg_transaction_receive(&l->transaction, &l->connection))
			transaction_done(l);
		else if (pg_now_ms() >= l->deadline_ms)
			time_out(l);
		else
			return false;
		return true;
	case PG_IDLE:
	case PG_DONE:
		break;
	}
	return false;
}

void pg_lane_send(struct pg_lane *l, enum sink_call_kind kind,
	const struct meter_read *const *reads, size_t n)
{
	/* The answer to a call that its caller has given up would be taken for this one's. */
	if (l->phase != PG_IDLE || !pg_connection_alive(&l->connection))
		close_connection(l);
	l->kind = kind;
	l->reads = reads;
	l->n = n;
	if (l->connection.state == PG_OPEN) {
		begin_transaction(l, PG_CALLING, kind);
		return;
	}
	l->phase = PG_LANE_CONNECTING;
	pg_connection_start(&l->connection, l->config->conninfo, l->config->application_name,
		l->config->statement_timeout_ms + SPARE_MS);
}

int64_t pg_lane_deadline_ms(const struct pg_lane *l)
{
	return l->phase == PG_LANE_CONNECTING ? l->connection.deadline_ms : l->deadline_ms;
}

bool pg_lane_advance(struct pg_lane *l)
{
	while (step(l))
		;
	return l->phase == PG_DONE;
}

struct pollfd pg_lane_poll(struct pg_lane *l)
{
	return pg_connection_pollfd(&l->connection);
}

struct sink_result pg_lane_take(struct pg_lane *l, struct arena *arena, struct outcome *outcomes)
{
	struct sink_result result = l->result;

	if (result.class == SQL_OK && l->kind != SINK_PROBE &&
		!pg_transaction_outcomes(&l->transaction, arena, outcomes)) {
		result = l->transaction.error;
		add_advice(&result);
	}
	pg_transaction_clear(&l->transaction, l->connection.state == PG_CLOSED);
	l->phase = PG_IDLE;
	return result;
}

void pg_lane_free(struct pg_lane *l)
{
	close_connection(l);
	pg_transaction_free(&l->transaction);
}

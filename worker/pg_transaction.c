#include "pg_transaction.h"

#include <stdio.h>
#include <stdlib.h>

/* Steps: BEGIN, settings, the calls of the function, COMMIT. Then comes the answer to the sync. */
#define STEP_BEGIN 0
#define STEP_CALLS 2

static size_t step_commit(const struct pg_transaction *t)
{
	return STEP_CALLS + t->statements;
}

static void set_error(struct pg_transaction *t, const char *code, const char *text)
{
	if (t->error.class != SQL_OK)
		return;
	t->error.class = code[0] ? sqlstate_class(code) : SQL_OUTAGE;
	snprintf(t->error.code, sizeof(t->error.code), "%s", code);
	pg_copy_text(t->error.message, sizeof(t->error.message), text);
}

static bool queue(PGconn *conn, const char *sql)
{
	return PQsendQueryParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0);
}

/*
 * The early answer to BEGIN tells a backend that died under this call from a connection that was
 * dead already. READ COMMITTED whatever the default: DO NOTHING must not raise 40001 where another
 * session has just committed the row, and the functions must see it.
 */
static bool queue_begin(PGconn *conn, const struct pg_sql *sql)
{
	return queue(conn, "BEGIN ISOLATION LEVEL READ COMMITTED") && PQsendFlushRequest(conn) &&
	       queue(conn, sql->settings);
}

static bool queue_calls(struct pg_transaction *t, PGconn *conn, const struct pg_sql *sql)
{
	const char *call = t->kind == SINK_ISOLATE ? sql->isolate : sql->commit;

	if (t->kind == SINK_PROBE)
		return pg_arrays_send(&t->arrays, conn, sql->commit, NULL, 0) &&
		       pg_arrays_send(&t->arrays, conn, sql->isolate, NULL, 0);
	for (size_t from = 0; from < t->n; from += t->per_statement) {
		size_t n = t->n - from < t->per_statement ? t->n - from : t->per_statement;

		if (!pg_arrays_send(&t->arrays, conn, call, t->reads + from, n))
			return false;
	}
	return true;
}

void pg_transaction_send(struct pg_transaction *t, struct pg_connection *c,
	const struct pg_sql *sql, enum sink_call_kind kind, const struct meter_read *const *reads,
	size_t n)
{
	PGconn *conn = c->conn;

	t->kind = kind;
	t->reads = reads;
	t->n = n;
	t->per_statement = sql->statement_records;
	t->statements = kind == SINK_PROBE ? 2 : (n + t->per_statement - 1) / t->per_statement;
	t->results = mem_zalloc(t->statements * sizeof(*t->results));
	if (!queue_begin(conn, sql) || !queue_calls(t, conn, sql) || !queue(conn, "COMMIT") ||
		!PQpipelineSync(conn)) {
		set_error(t, "", PQerrorMessage(conn));
		t->lost = true;
	}
}

static const char *field(const PGresult *r, int code)
{
	const char *text = PQresultErrorField(r, code);

	return text ? text : "";
}

static void take_error(struct pg_transaction *t, const PGresult *r)
{
	const char *severity = field(r, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *text = field(r, PG_DIAG_MESSAGE_PRIMARY);

	set_error(t, field(r, PG_DIAG_SQLSTATE), text[0] ? text : PQresultErrorMessage(r));
	if (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0)
		t->lost = true;
}

static void take_command(struct pg_transaction *t, struct pg_connection *c, PGresult *r)
{
	if (t->step == STEP_BEGIN)
		t->began = true;
	if (t->step != step_commit(t))
		return;
	/* "canceling wait for synchronous replication": committed here, perhaps nowhere else. */
	if (c->warned)
		set_error(t, "", c->warning);
	/* PostgreSQL manual, COMMIT: it says ROLLBACK where the transaction had failed. */
	t->committed = strcmp(PQcmdStatus(r), "COMMIT") == 0;
}

static void take_sync(struct pg_transaction *t)
{
	t->synced = !t->rolling_back;
	t->rolling_back = false;
	t->step = 0;
	if (t->synced && !t->committed)
		set_error(t, "", "COMMIT was not confirmed");
}

/* Takes r over. */
static void take_result(struct pg_transaction *t, struct pg_connection *c, PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);
	bool of_function = t->step >= STEP_CALLS && t->step < step_commit(t);

	if (status == PGRES_TUPLES_OK && of_function && !t->rolling_back) {
		t->results[t->step - STEP_CALLS] = r;
		return;
	}
	if (status == PGRES_PIPELINE_SYNC)
		take_sync(t);
	else if (status == PGRES_COMMAND_OK && !t->rolling_back)
		take_command(t, c, r);
	else if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE)
		take_error(t, r);
	PQclear(r);
}

static void end_statement(struct pg_transaction *t, struct pg_connection *c)
{
	t->step++;
	if (t->step == step_commit(t))
		c->warned = false;
	/* Without a connection there is nothing but NULL. */
	if (PQstatus(c->conn) == CONNECTION_BAD || t->step > step_commit(t) + 1)
		t->lost = true;
}

/* Not waited for: its answer comes before those of the next call. */
static void roll_back(struct pg_transaction *t, struct pg_connection *c)
{
	if (PQtransactionStatus(c->conn) == PQTRANS_IDLE)
		return;
	t->rolling_back = queue(c->conn, "ROLLBACK") && PQpipelineSync(c->conn);
}

bool pg_transaction_receive(struct pg_transaction *t, struct pg_connection *c)
{
	bool alive = pg_connection_pump(c);

	while (!t->synced && !t->lost && !PQisBusy(c->conn)) {
		PGresult *r = PQgetResult(c->conn);

		if (r)
			take_result(t, c, r);
		else
			end_statement(t, c);
	}
	if (t->synced) {
		if (t->error.class != SQL_OK)
			roll_back(t, c);
		return true;
	}
	if (!alive || t->lost) {
		set_error(t, "", PQerrorMessage(c->conn));
		t->lost = true;
		t->error.backend_lost = t->began;
	}
	return t->lost;
}

static bool breach(struct pg_transaction *t, const char *what)
{
	t->error.class = SQL_CONTRACT;
	snprintf(t->error.message, sizeof(t->error.message), "the function answered with %s", what);
	return false;
}

static struct slice text_of(struct arena *arena, const PGresult *r, int row, int column)
{
	if (PQgetisnull(r, row, column))
		return SLICE_NULL;
	return arena_dup(
		arena, slice_of(PQgetvalue(r, row, column), (size_t)PQgetlength(r, row, column)));
}

enum column { ORDINAL, OUTCOME, COMMITTED, SQLSTATE, MESSAGE };

static bool read_outcome(struct pg_transaction *t, struct arena *arena, const PGresult *r, int row,
	struct outcome *ret)
{
	const char *outcome = PQgetvalue(r, row, OUTCOME);

	if (strcmp(outcome, "duplicate") == 0) {
		ret->kind = OUTCOME_DUPLICATE;
	} else if (strcmp(outcome, "conflict") == 0) {
		ret->kind = OUTCOME_CONFLICT;
		ret->committed = text_of(arena, r, row, COMMITTED);
	} else if (strcmp(outcome, "failed") == 0 && t->kind == SINK_ISOLATE) {
		if (PQgetlength(r, row, SQLSTATE) != sizeof(ret->code) - 1)
			return breach(t, "a failed read without SQLSTATE");
		ret->kind = OUTCOME_FAILED;
		memcpy(ret->code, PQgetvalue(r, row, SQLSTATE), sizeof(ret->code));
		ret->message = text_of(arena, r, row, MESSAGE);
	} else {
		return breach(t, "an unknown outcome");
	}
	return true;
}

/* That read and all after it are for a later call. */
static void leave_untried(struct outcome *outcomes, size_t from, size_t n)
{
	for (size_t i = from; i < n; i++)
		outcomes[i].kind = OUTCOME_INVALID;
}

/* The rows of one call of the function; outcomes of its n reads. */
static bool read_rows(struct pg_transaction *t, struct arena *arena, const PGresult *r,
	struct outcome *outcomes, size_t n)
{
	for (int row = 0; row < PQntuples(r); row++) {
		size_t ordinal = strtoul(PQgetvalue(r, row, ORDINAL), NULL, 10);

		if (ordinal < 1 || ordinal > n)
			return breach(t, "an ordinal that is not in the call");
		if (outcomes[ordinal - 1].kind != OUTCOME_COMMITTED)
			return breach(t, "two rows for one read");
		if (t->kind == SINK_ISOLATE && strcmp(PQgetvalue(r, row, OUTCOME), "untried") == 0)
			leave_untried(outcomes, ordinal - 1, n);
		else if (!read_outcome(t, arena, r, row, &outcomes[ordinal - 1]))
			return false;
	}
	return true;
}

bool pg_transaction_outcomes(
	struct pg_transaction *t, struct arena *arena, struct outcome *outcomes)
{
	for (size_t i = 0; i < t->n; i++)
		outcomes[i] = (struct outcome){.kind = OUTCOME_COMMITTED};
	for (size_t i = 0, from = 0; from < t->n; i++, from += t->per_statement) {
		size_t n = t->n - from < t->per_statement ? t->n - from : t->per_statement;

		if (!read_rows(t, arena, t->results[i], outcomes + from, n)) {
			memset(outcomes, 0, t->n * sizeof(*outcomes));
			return false;
		}
	}
	return true;
}

void pg_transaction_clear(struct pg_transaction *t, bool connection_closed)
{
	for (size_t i = 0; i < t->statements; i++)
		PQclear(t->results[i]);
	free(t->results);
	*t = (struct pg_transaction){
		.arrays = t->arrays, .rolling_back = t->rolling_back && !connection_closed};
}

void pg_transaction_free(struct pg_transaction *t)
{
	pg_transaction_clear(t, true);
	pg_arrays_free(&t->arrays);
}

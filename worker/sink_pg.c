#include "sink_pg.h"

#include <stdio.h>
#include <stdlib.h>

#include "failpoint.h"
#include "pg_transaction.h"

/* Beyond the time-outs of its statements, after which a call is given up. */
#define SPARE_MS 10000
#define NAME_MAX_BYTES 256

enum phase {
	PHASE_IDLE = 0,
	PHASE_CONNECTING,
	PHASE_CHECKING, /* a new connection: is the contract there? */
	PHASE_CALLING,
	PHASE_DONE, /* result is what it came to */
};

struct sink_pg {
	struct sink sink;
	char *conninfo, *application_name;
	struct pg_sql sql;
	int statement_timeout_ms;

	struct pg_connection connection;
	struct pg_transaction transaction;

	/* The call. */
	enum phase phase;
	enum sink_call_kind kind;
	const struct meter_read *const *reads;
	size_t n;
	int64_t deadline_ms;
	struct sink_result result;
};

static struct sink_pg *self(struct sink *sink)
{
	return (struct sink_pg *)sink; /* its first member */
}

static void close_connection(struct sink_pg *s)
{
	pg_connection_close(&s->connection);
	pg_transaction_clear(&s->transaction, true);
}

static void finish(struct sink_pg *s, const struct sink_result *result)
{
	s->result = *result;
	s->phase = PHASE_DONE;
}

static void begin_transaction(struct sink_pg *s, enum phase phase, enum sink_call_kind kind)
{
	size_t statements;

	s->phase = phase;
	pg_transaction_clear(&s->transaction, false);
	pg_transaction_send(&s->transaction, &s->connection, &s->sql, kind, s->reads, s->n);
	statements = s->transaction.statements + 2;
	s->deadline_ms = pg_now_ms() + SPARE_MS + (int64_t)statements * s->statement_timeout_ms;
}

static void connect_done(struct sink_pg *s)
{
	if (s->kind == SINK_PROBE)
		begin_transaction(s, PHASE_CALLING, SINK_PROBE);
	else
		begin_transaction(s, PHASE_CHECKING, SINK_PROBE);
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

/* All is committed: what became of each read? */
static void take_outcomes(struct sink_pg *s, struct arena *arena, struct outcome *outcomes)
{
	if (s->result.class != SQL_OK || s->kind == SINK_PROBE)
		return;
	if (!pg_transaction_outcomes(&s->transaction, arena, outcomes)) {
		s->result = s->transaction.error;
		add_advice(&s->result);
	}
}

static void transaction_done(struct sink_pg *s)
{
	struct sink_result error = s->transaction.error;

	if (s->phase == PHASE_CHECKING)
		blame_server(&error);
	add_advice(&error);
	/*
	 * Outage classes are of this server or this connection: 25006 after a failover, 57P01. What
	 * the contract lacks a session may not see when it comes: its search_path is resolved once.
	 */
	if (error.class == SQL_OUTAGE || error.class == SQL_CONTRACT)
		close_connection(s);
	if (error.class == SQL_OK && s->phase == PHASE_CALLING && s->kind != SINK_PROBE)
		FAILPOINT("after-sink-commit");
	if (error.class != SQL_OK || s->phase == PHASE_CALLING) {
		finish(s, &error);
		return;
	}
	begin_transaction(s, PHASE_CALLING, s->kind);
}

static void time_out(struct sink_pg *s)
{
	struct sink_result r = {.class = SQL_OUTAGE};

	snprintf(r.message, sizeof(r.message),
		"no answer from Postgres in time: connection dropped");
	close_connection(s);
	finish(s, &r);
}

/* One step on. False: nothing to do but wait. */
static bool advance(struct sink_pg *s)
{
	struct sink_result failure;
	enum pg_state state;

	switch (s->phase) {
	case PHASE_CONNECTING:
		state = pg_connection_poll(&s->connection, &failure);
		if (state == PG_OPEN)
			connect_done(s);
		else if (state == PG_CLOSED)
			finish(s, &failure);
		return state != PG_CONNECTING;
	case PHASE_CHECKING:
	case PHASE_CALLING:
		if (pg_transaction_receive(&s->transaction, &s->connection))
			transaction_done(s);
		else if (pg_now_ms() >= s->deadline_ms)
			time_out(s);
		else
			return false;
		return true;
	case PHASE_IDLE:
	case PHASE_DONE:
		break;
	}
	return false;
}

static void send_call(struct sink *sink, enum sink_call_kind kind,
	const struct meter_read *const *reads, size_t n)
{
	struct sink_pg *s = self(sink);

	/* The answer to a call that its caller has given up would be taken for this one's. */
	if (s->phase != PHASE_IDLE || !pg_connection_alive(&s->connection))
		close_connection(s);
	s->kind = kind;
	s->reads = reads;
	s->n = n;
	if (s->connection.state == PG_OPEN) {
		begin_transaction(s, PHASE_CALLING, kind);
		return;
	}
	s->phase = PHASE_CONNECTING;
	pg_connection_start(&s->connection, s->conninfo, s->application_name,
		s->statement_timeout_ms + SPARE_MS);
}

static int64_t deadline_ms(const struct sink_pg *s)
{
	return s->phase == PHASE_CONNECTING ? s->connection.deadline_ms : s->deadline_ms;
}

/* False: not done within timeout_ms. */
static bool wait_for_result(struct sink_pg *s, int timeout_ms)
{
	int64_t until = pg_now_ms() + timeout_ms;

	for (;;) {
		int64_t now, end;

		while (advance(s))
			;
		if (s->phase == PHASE_DONE)
			return true;
		now = pg_now_ms();
		if (now >= until)
			return false;
		end = until < deadline_ms(s) ? until : deadline_ms(s);
		pg_connection_wait(&s->connection, now < end ? (int)(end - now) : 0);
	}
}

static int get_result(struct sink *sink, int timeout_ms, struct arena *arena,
	struct outcome *outcomes, bool *ret_done, struct sink_result *ret, struct err *err)
{
	struct sink_pg *s = self(sink);

	if (s->phase == PHASE_IDLE)
		return err_set(err, ERR_INTERNAL, "result of a call to Postgres that was not made");
	*ret_done = wait_for_result(s, timeout_ms);
	if (!*ret_done)
		return 0;
	take_outcomes(s, arena, outcomes);
	*ret = s->result;
	pg_transaction_clear(&s->transaction, s->connection.state == PG_CLOSED);
	s->phase = PHASE_IDLE;
	return 0;
}

/* "schema.name" as "schema"."name" with suffix on the name. */
static void quote_name(struct buf *b, const char *name, const char *suffix)
{
	buf_add_byte(b, '"');
	for (const char *p = name; *p; p++) {
		if (*p == '.')
			buf_add_str(b, "\".\"");
		else if (*p == '"')
			buf_add_str(b, "\"\"");
		else
			buf_add_byte(b, (uint8_t)*p);
	}
	buf_printf(b, "%s\"", suffix);
}

/* Columns as text, whatever types the function of another table has chosen. */
static char *call_text(const char *function, const char *suffix, const char *more_columns)
{
	struct buf b = {0};

	buf_printf(
		&b, "SELECT ordinal::int4, outcome::text, committed::text%s FROM ", more_columns);
	quote_name(&b, function, suffix);
	buf_add_str(&b, "($1, $2, $3, $4, $5::numeric[], $6, $7, $8)");
	buf_add_byte(&b, '\0');
	return (char *)b.p;
}

/* SET LOCAL as one statement. Start-up options would not pass PgBouncer. */
static char *settings_text(const struct sink_pg_config *config)
{
	struct buf b = {0};

	buf_printf(&b,
		"SELECT set_config('statement_timeout', '%d', true),"
		" set_config('lock_timeout', '%d', true),"
		" set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
		" WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)",
		config->statement_timeout_ms, config->lock_timeout_ms);
	buf_add_byte(&b, '\0');
	return (char *)b.p;
}

static void free_options(PQconninfoOption **options)
{
	PQconninfoFree(*options);
}

int sink_pg_check(const struct sink_pg_config *config, struct err *err)
{
	CLEANUP(free_options) PQconninfoOption *options = NULL;
	AUTO_FREE char *why = NULL;
	size_t n = strlen(config->function);

	if (!n || n > NAME_MAX_BYTES || config->function[0] == '.' ||
		config->function[n - 1] == '.')
		return err_set(err, ERR_CONFIG, "sink.function: \"%s\" is no NAME or SCHEMA.NAME",
			config->function);
	if (!strchr(config->conninfo, '=') && !strstr(config->conninfo, "://"))
		return 0; /* a database name */
	options = PQconninfoParse(config->conninfo, &why);
	if (!options)
		return err_set(err, ERR_CONFIG, "sink.conninfo: %s", why ? why : "out of memory");
	return 0;
}

struct sink *sink_pg_new(const struct sink_pg_config *config)
{
	static const struct sink_ops OPS = {.send = send_call, .result = get_result};
	struct sink_pg *s = mem_zalloc(sizeof(*s));

	s->sink.ops = &OPS;
	s->conninfo = mem_strdup(config->conninfo);
	s->application_name = mem_strdup(config->application_name);
	s->statement_timeout_ms = config->statement_timeout_ms;
	s->sql = (struct pg_sql){
		.settings = settings_text(config),
		.commit = call_text(config->function, "", ""),
		.isolate =
			call_text(config->function, "_isolated", ", sqlstate::text, message::text"),
		.statement_records = config->statement_records,
	};
	return &s->sink;
}

void sink_pg_free(struct sink *sink)
{
	struct sink_pg *s = self(sink);

	if (!s)
		return;
	close_connection(s);
	pg_transaction_free(&s->transaction);
	free(s->sql.settings);
	free(s->sql.commit);
	free(s->sql.isolate);
	free(s->conninfo);
	free(s->application_name);
	free(s);
}

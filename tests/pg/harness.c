#include "harness.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 20000
#define TURN_MS 20

static void free_options(PQconninfoOption **options)
{
	PQconninfoFree(*options);
}

static void clear_result(PGresult **r)
{
	PQclear(*r);
}

/* The server's conninfo, with another database. */
static char *conninfo_of(const char *database)
{
	const char *server = getenv("PG_TEST_CONNINFO");
	struct buf b = {0};

	cr_assert_not_null(server, "PG_TEST_CONNINFO: the conninfo of a super user is needed");
	CLEANUP(free_options) PQconninfoOption *options = PQconninfoParse(server, NULL);
	cr_assert_not_null(options, "PG_TEST_CONNINFO is no conninfo: %s", server);
	for (PQconninfoOption *o = options; o->keyword; o++) {
		if (o->val && strcmp(o->keyword, "dbname") != 0)
			buf_printf(&b, "%s='%s' ", o->keyword, o->val);
	}
	buf_printf(&b, "dbname='%s'", database);
	buf_add_byte(&b, '\0');
	return (char *)b.p;
}

PGconn *connect_as(const char *conninfo)
{
	int64_t until_ms = now_ms() + 10000;
	PGconn *conn = PQconnectdb(conninfo);

	/* A test before may have crashed the server. */
	while (PQstatus(conn) != CONNECTION_OK && PQping(conninfo) != PQPING_OK &&
		now_ms() < until_ms)
		usleep(20000);
	if (PQstatus(conn) != CONNECTION_OK)
		PQreset(conn);
	cr_assert_eq(PQstatus(conn), CONNECTION_OK, "%s", PQerrorMessage(conn));
	run_sql(conn, "SET client_min_messages = error");
	return conn;
}

void install_file(PGconn *conn, const char *number)
{
	AUTO_FREE char *command = NULL;
	AUTO_FREE char *sql = mem_zalloc(100000);
	FILE *f;

	cr_assert_gt(asprintf(&command, "cat '%s'/sql/%s_*.sql", SCHEMAS_DIR, number), 0);
	f = popen(command, "r");
	cr_assert_not_null(f);
	cr_assert_gt(fread(sql, 1, 99999, f), 0, "no file %s in schemas/sql", number);
	pclose(f);
	run_sql(conn, "%s", sql);
}

void install_sql(PGconn *conn)
{
	install_file(conn, "001");
	install_file(conn, "002");
	install_file(conn, "003");
}

struct database *database_new(void)
{
	struct database *d = mem_zalloc(sizeof(*d));
	AUTO_FREE char *server = conninfo_of("postgres");
	PGconn *conn = connect_as(server);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(d->name, sizeof(d->name), "test_%d_%ld", (int)getpid(), now.tv_nsec);
	run_sql(conn, "CREATE DATABASE %s TEMPLATE template0", d->name);
	PQfinish(conn);
	d->conninfo = conninfo_of(d->name);
	d->admin = connect_as(d->conninfo);
	install_sql(d->admin);
	return d;
}

void database_free(struct database *d)
{
	AUTO_FREE char *server = conninfo_of("postgres");
	PGconn *conn = connect_as(server);

	PQfinish(d->admin);
	run_sql(conn, "DROP DATABASE %s WITH (FORCE)", d->name);
	PQfinish(conn);
	free(d->conninfo);
	free(d);
}

static char *format(const char *fmt, va_list ap)
{
	char *text = NULL;

	cr_assert_geq(vasprintf(&text, fmt, ap), 0);
	return text;
}

void run_sql(PGconn *conn, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	AUTO_FREE char *sql = format(fmt, ap);
	va_end(ap);
	CLEANUP(clear_result) PGresult *r = PQexec(conn, sql);
	cr_assert(PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK,
		"%s: %s", sql, PQerrorMessage(conn));
}

const char *sqlstate_of(PGconn *conn, const char *sql)
{
	static char code[6];
	CLEANUP(clear_result) PGresult *r = PQexec(conn, sql);
	const char *field = PQresultErrorField(r, PG_DIAG_SQLSTATE);

	snprintf(code, sizeof(code), "%s", field ? field : "");
	return code;
}

static char *ask_text(PGconn *conn, const char *sql)
{
	CLEANUP(clear_result) PGresult *r = PQexec(conn, sql);

	cr_assert_eq(PQresultStatus(r), PGRES_TUPLES_OK, "%s: %s", sql, PQerrorMessage(conn));
	cr_assert_gt(PQntuples(r), 0, "%s: no row", sql);
	return mem_strdup(PQgetvalue(r, 0, 0));
}

char *ask(PGconn *conn, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	AUTO_FREE char *sql = format(fmt, ap);
	va_end(ap);
	return ask_text(conn, sql);
}

long ask_number(PGconn *conn, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	AUTO_FREE char *sql = format(fmt, ap);
	va_end(ap);
	AUTO_FREE char *text = ask_text(conn, sql);
	return atol(text);
}

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int free_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&address, n), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &n), 0);
	close(fd);
	return ntohs(address.sin_port);
}

void await_true(PGconn *conn, const char *fmt, ...)
{
	int64_t end = now_ms() + WAIT_MS;
	va_list ap;

	va_start(ap, fmt);
	AUTO_FREE char *sql = format(fmt, ap);
	va_end(ap);
	for (;;) {
		AUTO_FREE char *text = ask_text(conn, sql);

		if (strcmp(text, "t") == 0)
			return;
		cr_assert_lt(now_ms(), end, "waited in vain for: %s", sql);
	}
}

void set_trap(PGconn *conn, const char *statements)
{
	run_sql(conn,
		"CREATE OR REPLACE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $t$"
		" BEGIN IF NEW.meter_id = 'BAD' THEN %s END IF; RETURN NEW; END $t$;"
		"CREATE OR REPLACE TRIGGER trap BEFORE INSERT ON meter_read"
		" FOR EACH ROW EXECUTE FUNCTION trap()",
		statements);
}

/* --- batches --- */

struct batch *batch_new(size_t n)
{
	struct batch *b = mem_zalloc(sizeof(*b));

	cr_assert_leq(n, READS_MAX);
	b->n = n;
	for (size_t i = 0; i < n; i++) {
		b->reads[i] = (struct meter_read){
			.idempotency_key = slice_str(arena_printf(&b->texts, "r%05zu", i)),
			.meter_id = slice_str(arena_printf(&b->texts, "MTR-%08zu", i)),
			.read_at_us = INT64_C(1784246400000000), /* 2026-07-17T00:00:00Z */
			.sequence = 1,
			.kwh = SLICE_LIT("1.50"),
			.reading_type = SLICE_LIT("1-0:1.8.0*255"),
			.quality = SLICE_LIT("MEASURED"),
		};
		b->pointers[i] = &b->reads[i];
	}
	return b;
}

void batch_free(struct batch *b)
{
	arena_free(&b->texts);
	arena_free(&b->answers);
	free(b);
}

struct sink_pg_config sink_config(const char *conninfo)
{
	return (struct sink_pg_config){
		.conninfo = conninfo,
		.function = "commit_meter_reads",
		.application_name = "meter-dlq-test",
		.connections = 1,
		.statement_records = 1000,
		.statement_timeout_ms = 5000,
		.lock_timeout_ms = 300,
	};
}

struct sink *sink_of(const struct database *d)
{
	struct sink_pg_config config = sink_config(d->conninfo);
	struct err err;

	cr_assert_eq(sink_pg_check(&config, &err), 0);
	return sink_pg_new(&config);
}

static struct sink_result await_result(struct sink *s, struct arena *arena,
	struct outcome *outcomes, void (*idle)(void *), void *arg)
{
	int64_t end = now_ms() + WAIT_MS;
	struct sink_result r = {0};
	bool done = false;
	struct err err;

	while (!done) {
		cr_assert_eq(s->ops->result(
				     s, idle ? TURN_MS : WAIT_MS, arena, outcomes, &done, &r, &err),
			0);
		cr_assert(done || now_ms() < end, "no result within its deadline");
		if (!done && idle)
			idle(arg);
	}
	return r;
}

enum commit_verdict commit_batch_meanwhile(
	struct sink *s, struct batch *b, void (*idle)(void *), void *arg)
{
	struct sink_call c;

	arena_reset(&b->answers);
	b->calls = 0;
	commit_init(&b->commit, &b->answers, b->outcomes, b->n);
	while (commit_next(&b->commit, &c)) {
		struct sink_result r;

		b->calls++;
		if (c.later)
			usleep(COMMIT_PAUSE_MS * 1000);
		s->ops->send(s, c.kind, b->pointers + c.from, c.n);
		r = await_result(s, &b->answers, b->outcomes + c.from, idle, arg);
		commit_result(&b->commit, &r);
	}
	commit_free(&b->commit);
	return b->commit.verdict;
}

enum commit_verdict commit_batch(struct sink *s, struct batch *b)
{
	return commit_batch_meanwhile(s, b, NULL, NULL);
}

struct sink_result probe(struct sink *s)
{
	struct arena unused = {0};

	s->ops->send(s, SINK_PROBE, NULL, 0);
	return await_result(s, &unused, NULL, NULL, NULL);
}

static void expect_outcome(const struct batch *b, size_t i, enum outcome_kind kind)
{
	cr_assert_eq(b->outcomes[i].kind, kind, "read %zu: outcome %d %s %.*s, last: %s %s", i,
		(int)b->outcomes[i].kind, b->outcomes[i].code, SLICE_FMT(b->outcomes[i].message),
		b->commit.last.code, b->commit.last.message);
}

void expect_all(const struct batch *b, enum outcome_kind kind)
{
	for (size_t i = 0; i < b->n; i++)
		expect_outcome(b, i, kind);
}

void expect_one_failed(const struct batch *b, size_t odd, const char *code)
{
	for (size_t i = 0; i < b->n; i++)
		expect_outcome(b, i, i == odd ? OUTCOME_FAILED : OUTCOME_COMMITTED);
	cr_assert_str_eq(b->outcomes[odd].code, code);
	cr_assert_gt(b->outcomes[odd].message.n, 0);
}

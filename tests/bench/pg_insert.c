/*
 * pg_insert: writes reads into meter_read as fast as Postgres takes them, in the worker's
 * transactions: BEGIN, five statements of 1000 reads in the order of their keys and COMMIT in one
 * write. The reads come as lines of `meter-dlq put` on stdin; their arrays are made before the
 * clock starts. Prints one line of JSON. usage: pg_insert CONNINFO bare|function CONNECTIONS
 */
#include "mem.h"
#include "meter_read.h"

#include <endian.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define STATEMENT_READS 1000
#define TRANSACTION_STATEMENTS 5
#define TRANSACTION_READS (STATEMENT_READS * TRANSACTION_STATEMENTS)
#define CONNECTIONS_MAX 64

static const char *const BARE =
	"INSERT INTO meter_read (idempotency_key, meter_id, read_at, sequence, kwh, reading_type,"
	" quality, attributes)"
	" SELECT * FROM unnest($1, $2, $3, $4, $5::numeric[], $6, $7, $8)"
	" ON CONFLICT (idempotency_key) DO NOTHING";
static const char *const FUNCTION =
	"SELECT ordinal::int4, outcome::text, committed::text"
	" FROM commit_meter_reads($1, $2, $3, $4, $5::numeric[], $6, $7, $8)";

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
	fprintf(stderr, "pg_insert: %s: %s\n", what, why);
	exit(2);
}

/* --- arrays as worker/pg_arrays.c sends them --- */

enum column { KEY, METER_ID, READ_AT, SEQUENCE, KWH, READING_TYPE, QUALITY, ATTRIBUTES, COLUMNS };

/* pg_type.dat: of the array and of its elements. */
static const Oid ARRAYS[COLUMNS] = {1009, 1009, 1185, 1016, 1009, 1009, 1009, 3807};
static const Oid ELEMENTS[COLUMNS] = {25, 25, 1184, 20, 25, 25, 25, 3802};

#define POSTGRES_EPOCH_US INT64_C(946684800000000)

struct statement {
	size_t n;
	struct buf columns[COLUMNS];
};

struct transaction {
	size_t n_statements;
	struct statement statements[TRANSACTION_STATEMENTS];
};

static void add_int32(struct buf *b, int32_t v)
{
	uint32_t wire = htobe32((uint32_t)v);

	buf_add(b, &wire, sizeof(wire));
}

static void add_int64(struct buf *b, int64_t v)
{
	uint64_t wire = htobe64((uint64_t)v);

	add_int32(b, sizeof(wire));
	buf_add(b, &wire, sizeof(wire));
}

static void add_text(struct buf *b, struct slice s)
{
	add_int32(b, slice_is_null(s) ? -1 : (int32_t)s.n);
	if (s.n)
		buf_add(b, s.p, s.n);
}

static void add_jsonb(struct buf *b, struct slice s)
{
	if (slice_is_null(s)) {
		add_int32(b, -1);
		return;
	}
	add_int32(b, (int32_t)s.n + 1);
	buf_add_byte(b, 1);
	buf_add(b, s.p, s.n);
}

static void add_read(struct buf *columns, const struct meter_read *r)
{
	add_text(&columns[KEY], r->idempotency_key);
	add_text(&columns[METER_ID], r->meter_id);
	add_int64(&columns[READ_AT], r->read_at_us - POSTGRES_EPOCH_US);
	add_int64(&columns[SEQUENCE], r->sequence);
	add_text(&columns[KWH], r->kwh);
	add_text(&columns[READING_TYPE], r->reading_type);
	add_text(&columns[QUALITY], r->quality);
	add_jsonb(&columns[ATTRIBUTES], r->attributes);
}

static void make_statement(struct statement *s, const struct meter_read *reads, size_t n)
{
	s->n = n;
	for (size_t c = 0; c < COLUMNS; c++) {
		struct buf *b = &s->columns[c];

		add_int32(b, 1); /* dimensions */
		add_int32(b, 1); /* may contain nulls */
		add_int32(b, (int32_t)ELEMENTS[c]);
		add_int32(b, (int32_t)n);
		add_int32(b, 1); /* the first subscript */
	}
	for (size_t i = 0; i < n; i++)
		add_read(s->columns, &reads[i]);
}

/* --- reads --- */

struct input {
	struct transaction *v;
	size_t n, cap, reads;
};

static int by_key(const void *a, const void *b)
{
	const struct meter_read *x = a, *y = b;

	return slice_cmp(x->idempotency_key, y->idempotency_key);
}

static void add_transaction(struct input *in, struct meter_read *reads, size_t n)
{
	struct transaction *t;

	if (n == 0)
		return;
	if (in->n == in->cap) {
		in->cap = in->cap ? in->cap * 2 : 64;
		in->v = mem_realloc(in->v, in->cap * sizeof(*in->v));
	}
	t = memset(&in->v[in->n++], 0, sizeof(*t));
	qsort(reads, n, sizeof(*reads), by_key);
	for (size_t from = 0; from < n; from += STATEMENT_READS)
		make_statement(&t->statements[t->n_statements++], reads + from,
			n - from < STATEMENT_READS ? n - from : STATEMENT_READS);
	in->reads += n;
}

static struct meter_read parse_line(struct arena *arena, const char *text, size_t n)
{
	struct slice line = arena_dup(arena, slice_of(text, n));
	const uint8_t *tab = memchr(line.p, '\t', line.n);
	struct meter_read read = {0};
	const char *malformed = "no TAB";
	struct slice key;

	if (tab) {
		key = slice_of(line.p, (size_t)(tab - line.p));
		malformed = meter_read_from_json(arena, &(struct read_names){0}, key,
			slice_of(tab + 1, line.n - key.n - 1), &read);
		read.idempotency_key = key;
	}
	if (malformed)
		die(text, malformed);
	return read;
}

static struct input read_input(void)
{
	CLEANUP(arena_free) struct arena arena = {0};
	AUTO_FREE struct meter_read *reads = mem_zalloc(TRANSACTION_READS * sizeof(*reads));
	AUTO_FREE char *line = NULL;
	struct input in = {0};
	size_t cap = 0, n = 0;
	ssize_t length;

	while ((length = getline(&line, &cap, stdin)) > 0) {
		size_t end = (size_t)length - (line[length - 1] == '\n');

		reads[n++] = parse_line(&arena, line, end);
		if (n == TRANSACTION_READS) {
			add_transaction(&in, reads, n);
			arena_reset(&arena);
			n = 0;
		}
	}
	add_transaction(&in, reads, n);
	return in;
}

/* --- writing --- */

struct writer {
	pthread_t thread;
	PGconn *conn;
	const char *sql;
	bool function;
	/* Its transactions: every step-th one from the first. */
	const struct input *input;
	size_t first, step;
	size_t inserted;
};

static void send_statement(struct writer *w, const struct statement *s)
{
	const char *values[COLUMNS];
	int lengths[COLUMNS], binary[COLUMNS];

	for (size_t c = 0; c < COLUMNS; c++) {
		values[c] = (const char *)s->columns[c].p;
		lengths[c] = (int)s->columns[c].n;
		binary[c] = 1;
	}
	if (!PQsendQueryParams(w->conn, w->sql, COLUMNS, ARRAYS, values, lengths, binary, 0))
		die("sending", PQerrorMessage(w->conn));
}

static void send_command(struct writer *w, const char *sql)
{
	if (!PQsendQueryParams(w->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
		die(sql, PQerrorMessage(w->conn));
}

/* The result of the next command, whose end is taken too. */
static PGresult *receive(struct writer *w, ExecStatusType expected)
{
	PGresult *r = PQgetResult(w->conn);

	if (!r || PQresultStatus(r) != expected)
		die("Postgres", PQerrorMessage(w->conn));
	if (expected != PGRES_PIPELINE_SYNC)
		PQclear(PQgetResult(w->conn));
	return r;
}

static void receive_statement(struct writer *w, const struct statement *s)
{
	PGresult *r = receive(w, w->function ? PGRES_TUPLES_OK : PGRES_COMMAND_OK);

	w->inserted +=
		w->function ? s->n - (size_t)PQntuples(r) : strtoul(PQcmdTuples(r), NULL, 10);
	PQclear(r);
}

static void write_transaction(struct writer *w, const struct transaction *t)
{
	send_command(w, "BEGIN");
	for (size_t i = 0; i < t->n_statements; i++)
		send_statement(w, &t->statements[i]);
	send_command(w, "COMMIT");
	if (!PQpipelineSync(w->conn))
		die("sending", PQerrorMessage(w->conn));

	PQclear(receive(w, PGRES_COMMAND_OK));
	for (size_t i = 0; i < t->n_statements; i++)
		receive_statement(w, &t->statements[i]);
	PQclear(receive(w, PGRES_COMMAND_OK));
	PQclear(receive(w, PGRES_PIPELINE_SYNC));
}

static void *write_all(void *arg)
{
	struct writer *w = arg;

	for (size_t i = w->first; i < w->input->n; i += w->step)
		write_transaction(w, &w->input->v[i]);
	return NULL;
}

static PGconn *connect_to(const char *conninfo)
{
	PGconn *conn = PQconnectdb(conninfo);

	if (PQstatus(conn) != CONNECTION_OK || !PQenterPipelineMode(conn))
		die("connecting", PQerrorMessage(conn));
	return conn;
}

/* --- figures --- */

struct moment {
	double wall, user, sys;
};

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static struct moment now(void)
{
	struct timespec wall;
	struct rusage usage;

	clock_gettime(CLOCK_MONOTONIC, &wall);
	getrusage(RUSAGE_SELF, &usage);
	return (struct moment){(double)wall.tv_sec + (double)wall.tv_nsec / 1e9,
		seconds_of(usage.ru_utime), seconds_of(usage.ru_stime)};
}

static void print_figures(struct moment from, struct moment to, size_t reads, size_t connections)
{
	printf("{\"reads\": %zu, \"connections\": %zu, \"seconds\": %.4f, \"user\": %.4f,"
	       " \"sys\": %.4f}\n",
		reads, connections, to.wall - from.wall, to.user - from.user, to.sys - from.sys);
}

static void run(const struct input *in, const char *conninfo, bool function, size_t connections)
{
	struct writer writers[CONNECTIONS_MAX];
	struct moment started;
	size_t inserted = 0;

	for (size_t i = 0; i < connections; i++)
		writers[i] = (struct writer){.conn = connect_to(conninfo),
			.sql = function ? FUNCTION : BARE,
			.function = function,
			.input = in,
			.first = i,
			.step = connections};
	started = now();
	for (size_t i = 0; i < connections; i++)
		if (pthread_create(&writers[i].thread, NULL, write_all, &writers[i]))
			die("starting", "no thread");
	for (size_t i = 0; i < connections; i++)
		pthread_join(writers[i].thread, NULL);
	print_figures(started, now(), in->reads, connections);
	for (size_t i = 0; i < connections; i++) {
		inserted += writers[i].inserted;
		PQfinish(writers[i].conn);
	}
	if (inserted != in->reads)
		die("writing", "some of the reads were in the table already");
}

static void free_input(struct input *in)
{
	for (size_t t = 0; t < in->n; t++)
		for (size_t s = 0; s < in->v[t].n_statements; s++)
			for (size_t c = 0; c < COLUMNS; c++)
				buf_free(&in->v[t].statements[s].columns[c]);
	free(in->v);
}

int main(int argc, char **argv)
{
	size_t connections = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	bool function = argc == 4 && strcmp(argv[2], "function") == 0;
	CLEANUP(free_input) struct input in = {0};

	if (connections < 1 || connections > CONNECTIONS_MAX ||
		(!function && strcmp(argv[2], "bare") != 0)) {
		fprintf(stderr, "usage: pg_insert CONNINFO bare|function CONNECTIONS <LINES\n");
		return 2;
	}
	in = read_input();
	run(&in, argv[1], function, connections);
	return 0;
}

/* harness.h: what the tests over a real Postgres share. Everything fails the test where it fails.
 */
#ifndef TESTS_PG_HARNESS_H
#define TESTS_PG_HARNESS_H

#include <libpq-fe.h>

#include "sink_pg.h"

#define READS_MAX 5000

/* A database of its own with the SQL of schemas/sql in it, and a super user's connection to it. */
struct database {
	char name[64];
	char *conninfo; /* of the super user, with this database */
	PGconn *admin;
};
struct database *database_new(void);
void database_free(struct database *d);
/* The files of schemas/sql in order, or the one that begins with that number. */
void install_sql(PGconn *conn);
void install_file(PGconn *conn, const char *number);

PGconn *connect_as(const char *conninfo);
/* Runs statements. */
__attribute__((format(printf, 2, 3))) void run_sql(PGconn *conn, const char *fmt, ...);
/* The SQLSTATE with which a statement failed, "" where it did not. */
const char *sqlstate_of(PGconn *conn, const char *sql);
/* The first column of the first row as text; the caller frees. */
__attribute__((format(printf, 2, 3))) char *ask(PGconn *conn, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) long ask_number(PGconn *conn, const char *fmt, ...);
int64_t now_ms(void);
/* A port of the loopback that nobody listens at. */
int free_port(void);
/* Asks until the answer is "t". */
__attribute__((format(printf, 2, 3))) void await_true(PGconn *conn, const char *fmt, ...);

/* Reads of the meter BAD do this when they are inserted: plpgsql statements. */
void set_trap(PGconn *conn, const char *statements);
#define BAD SLICE_LIT("BAD")

/* Reads r00000, r00001, ... of a meter each: sequence 1, 1.50 kWh. */
struct batch {
	size_t n;
	struct meter_read reads[READS_MAX];
	const struct meter_read *pointers[READS_MAX];
	struct outcome outcomes[READS_MAX];
	struct arena texts;   /* of the reads */
	struct arena answers; /* of the outcomes */
	struct commit commit; /* after commit_batch */
	unsigned calls;
};
struct batch *batch_new(size_t n);
void batch_free(struct batch *b);

/* A sink as the worker makes it, with short time-outs. */
struct sink_pg_config sink_config(const char *conninfo);
struct sink *sink_of(const struct database *d);
/* Drives the batch as the loop does. idle, where not NULL, runs whenever there is nothing to do. */
enum commit_verdict commit_batch(struct sink *s, struct batch *b);
enum commit_verdict commit_batch_meanwhile(
	struct sink *s, struct batch *b, void (*idle)(void *), void *arg);
struct sink_result probe(struct sink *s);

/* That every read of the batch has this outcome. */
void expect_all(const struct batch *b, enum outcome_kind kind);
/* Likewise, but for the read number odd, which has failed with code. */
void expect_one_failed(const struct batch *b, size_t odd, const char *code);

#endif

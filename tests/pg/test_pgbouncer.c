/* Through PgBouncer in transaction mode, where each transaction may meet another server connection.
 */
#include <criterion/criterion.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define POOLED "application_name = 'meter-dlq-test'"

struct pooler {
	struct database *d;
	char folder[64];
	char *conninfo; /* of the database, through it */
	pid_t pid;
};

static void write_file(const char *path, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void write_file(const char *path, const char *fmt, ...)
{
	FILE *f = fopen(path, "w");
	va_list ap;

	cr_assert_not_null(f, "%s", path);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
	chmod(path, 0644);
}

/* It refuses to run as root, and ends with the test. */
static void exec_pooler(const char *config)
{
	const struct passwd *user = getuid() == 0 ? getpwnam("postgres") : NULL;

	if (user && (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
		execlp("pgbouncer", "pgbouncer", "-q", config, NULL);
	_exit(127);
}

static void pooler_start(struct pooler *p)
{
	AUTO_FREE char *config = NULL;
	int64_t end = now_ms() + 10000;
	bool up = false;

	cr_assert_gt(asprintf(&config, "%s/pgbouncer.ini", p->folder), 0);
	p->pid = fork();
	cr_assert_geq(p->pid, 0);
	if (p->pid == 0)
		exec_pooler(config);
	while (!up && now_ms() < end) {
		PGconn *conn = PQconnectdb(p->conninfo);

		up = PQstatus(conn) == CONNECTION_OK;
		PQfinish(conn);
	}
	cr_assert(up, "pgbouncer does not answer");
}

static struct pooler pooler_new(void)
{
	struct pooler p = {.d = database_new(), .folder = "/tmp/meter-dlq-pgbouncer-XXXXXX"};
	AUTO_FREE char *config = NULL;
	AUTO_FREE char *users = NULL;
	int port = free_port();

	cr_assert_not_null(mkdtemp(p.folder));
	chmod(p.folder, 0755);
	cr_assert_gt(asprintf(&config, "%s/pgbouncer.ini", p.folder), 0);
	cr_assert_gt(asprintf(&users, "%s/users", p.folder), 0);
	write_file(users, "\"%s\" \"\"\n", PQuser(p.d->admin));
	write_file(config,
		"[databases]\n%s = host=127.0.0.1 port=%s\n"
		"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"
		"pool_mode = transaction\ndefault_pool_size = 1\nauth_type = trust\nauth_file = "
		"%s\n",
		p.d->name, PQport(p.d->admin), port, users);
	cr_assert_gt(asprintf(&p.conninfo, "%s host=127.0.0.1 port=%d", p.d->conninfo, port), 0);
	pooler_start(&p);
	return p;
}

static void pooler_kill(struct pooler *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
}

static void pooler_free(struct pooler *p)
{
	AUTO_FREE char *remove = NULL;

	pooler_kill(p);
	cr_assert_gt(asprintf(&remove, "rm -rf '%s'", p->folder), 0);
	cr_assert_eq(system(remove), 0);
	free(p->conninfo);
	database_free(p->d);
}

static struct sink *pooled_sink(const struct pooler *p)
{
	struct sink_pg_config config = sink_config(p->conninfo);

	return sink_pg_new(&config);
}

Test(pgbouncer, every_outcome_is_as_without_it_batch_after_batch)
{
	struct pooler p = pooler_new();
	struct sink *s = pooled_sink(&p);
	struct batch *b = batch_new(3000);

	run_sql(p.d->admin, "ALTER TABLE meter_read ADD CHECK (meter_id <> 'BAD')");
	b->reads[1234].meter_id = BAD;
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
	expect_one_failed(b, 1234, "23514");
	b->reads[7].kwh = SLICE_LIT("2");
	b->reads[1234].meter_id = SLICE_LIT("MTR-00001234");
	for (int again = 0; again < 3; again++) {
		cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
		cr_expect_eq(b->outcomes[7].kind, OUTCOME_CONFLICT);
		cr_expect_eq(b->outcomes[8].kind, OUTCOME_DUPLICATE);
		cr_expect_eq(b->outcomes[1234].kind, again ? OUTCOME_DUPLICATE : OUTCOME_COMMITTED);
		cr_expect_eq(b->calls, 1);
	}
	cr_expect_eq(ask_number(p.d->admin, "SELECT count(*) FROM meter_read"), 3000);
	sink_pg_free(s);
	batch_free(b);
	pooler_free(&p);
}

Test(pgbouncer, the_settings_of_a_transaction_hold_in_it_and_stay_with_no_server_connection)
{
	struct pooler p = pooler_new();
	struct sink *s = pooled_sink(&p);
	struct batch *b = batch_new(2);
	PGconn *other;

	run_sql(p.d->admin, "CREATE TABLE seen AS SELECT ''::text AS settings LIMIT 0");
	set_trap(p.d->admin,
		"INSERT INTO seen SELECT concat_ws(' ', current_setting('statement_timeout'),"
		"current_setting('lock_timeout'), current_setting('application_name'));");
	b->reads[1].meter_id = BAD;
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
	AUTO_FREE char *seen = ask(p.d->admin, "SELECT settings FROM seen");
	cr_expect_str_eq(seen, "5s 300ms meter-dlq-test");
	other = connect_as(p.conninfo); /* the pool has one */
	AUTO_FREE char *left =
		ask(other, "SELECT concat_ws(' ', current_setting('statement_timeout'),"
			   "current_setting('lock_timeout'))");
	cr_expect_str_eq(left, "0 0");
	PQfinish(other);
	sink_pg_free(s);
	batch_free(b);
	pooler_free(&p);
}

/* Once the batch waits for the row that the admin holds. */
static void kill_pooled_backend(void *arg)
{
	PGconn *conn = arg;

	if (ask_number(conn, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
			     " WHERE wait_event_type = 'Lock' AND " POOLED))
		run_sql(conn, "ROLLBACK");
}

Test(pgbouncer, a_server_connection_killed_under_a_batch_costs_no_read_an_attempt)
{
	struct pooler p = pooler_new();
	struct sink_pg_config config = sink_config(p.conninfo);
	struct batch *b = batch_new(2000);
	struct sink *s;

	config.lock_timeout_ms = 4000;
	s = sink_pg_new(&config);
	cr_assert_eq(probe(s).class, SQL_OK);
	run_sql(p.d->admin,
		"BEGIN; INSERT INTO meter_read VALUES ('r01500', 'other', now(), 1, 1)");
	cr_assert_eq(commit_batch_meanwhile(s, b, kill_pooled_backend, p.d->admin), COMMIT_DONE,
		"%s", b->commit.last.message);
	expect_all(b, OUTCOME_COMMITTED);
	cr_expect_eq(b->calls, 3, "the call, a probe, the call: %u", b->calls);
	cr_expect_eq(ask_number(p.d->admin, "SELECT count(*) FROM meter_read"), 2000);
	sink_pg_free(s);
	batch_free(b);
	pooler_free(&p);
}

Test(pgbouncer, one_that_is_killed_itself_is_an_outage_until_it_is_back)
{
	struct pooler p = pooler_new();
	struct sink *s = pooled_sink(&p);
	struct batch *b = batch_new(10);

	cr_assert_eq(probe(s).class, SQL_OK);
	pooler_kill(&p);
	cr_assert_eq(commit_batch(s, b), COMMIT_OUTAGE);
	expect_all(b, OUTCOME_OUTAGE);
	pooler_start(&p);
	cr_assert_eq(commit_batch(s, b), COMMIT_DONE, "%s", b->commit.last.message);
	expect_all(b, OUTCOME_COMMITTED);
	sink_pg_free(s);
	batch_free(b);
	pooler_free(&p);
}

/* init: the topics and the SQL. What is there already is checked and left as it is. */
#include "command.h"
#include "pg_blocking.h"
#include "report.h"
#include "sql_files.h"
#include "topics.h"

#include <stdio.h>

struct init {
	const struct config *config;
	struct arena arena;
	struct report *report;
	struct kafka_log_config kafka;
	struct kafka_admin *admin;
	struct topics topics;
};

static void init_close(struct init *i)
{
	kafka_admin_free(i->admin);
	report_free(i->report);
	arena_free(&i->arena);
}

/* A source gets the broker's default; ours get what the DLQ has, if it is there already. */
static int32_t partitions_for(const struct init *i, int topic)
{
	int32_t n = i->topics.partitions[TOPIC_DLQ];

	if (topic >= TOPIC_SOURCE)
		return -1;
	return n ? n : (int32_t)i->config->partitions;
}

static int create(struct init *i, int topic, struct err *err)
{
	size_t n;
	const struct kafka_pair *v = topics_settings(&i->topics, topic, &i->arena, &n);
	int r = kafka_admin_create(
		i->admin, i->kafka.topics[topic], partitions_for(i, topic), v, n, err);

	if (!r)
		say("created topic %s", i->kafka.topics[topic]);
	return r;
}

static int describe(struct init *i, struct err *err)
{
	return topics_describe(i->admin, &i->kafka, &i->arena, &i->topics, err);
}

/* The sources first: ours are made to take what they take. */
static int create_missing(struct init *i, struct err *err)
{
	int n = (int)i->kafka.n_topics, r = 0;

	for (int t = TOPIC_SOURCE; t < n && !r; t++)
		if (!i->topics.partitions[t])
			r = create(i, t, err);
	if (!r)
		r = describe(i, err);
	for (int t = 0; t < TOPIC_SOURCE && !r; t++)
		if (!i->topics.partitions[t])
			r = create(i, t, err);
	return r ? r : describe(i, err);
}

static void tell(void *arg, bool breaks, const char *text)
{
	(void)arg;
	say("%s: %s", breaks ? "wrong" : "advice", text);
}

static int check(struct init *i, struct err *err)
{
	unsigned breaks = topics_check(&i->topics, tell, NULL);

	if (breaks)
		return err_set(err, ERR_CONFIG,
			"%u faults of the topics that would lose reads, see above; `run` refuses "
			"to "
			"start on them",
			breaks);
	if (i->topics.partitions[TOPIC_DLQ] != i->config->partitions)
		say("note: %s has %d partitions, not %lld; that is for life",
			i->kafka.topics[TOPIC_DLQ], i->topics.partitions[TOPIC_DLQ],
			(long long)i->config->partitions);
	return 0;
}

/* All files in one transaction, and one init at a time: two that replace the same function fail
 * with "tuple concurrently updated". */
static int install_sql(struct init *i, struct err *err)
{
	CLEANUP(pg_finishp) PGconn *conn = NULL;
	int r = pg_connect(i->config->sink_conninfo, &conn, err);

	if (!r)
		r = pg_run(conn, "BEGIN; SELECT pg_advisory_xact_lock(hashtext('meter-dlq init'));",
			"beginning a transaction", err);
	for (size_t n = 0; n < sql_files_n && !r; n++)
		r = pg_run(conn, sql_files[n].text, sql_files[n].name, err);
	if (!r)
		r = pg_run(conn, "COMMIT", "committing", err);
	if (!r)
		say("the SQL is installed in database %s", PQdb(conn));
	return r;
}

static void print_topic(struct init *i, int topic)
{
	size_t n;
	const struct kafka_pair *v = topics_settings(&i->topics, topic, &i->arena, &n);
	int32_t is = i->topics.partitions[topic], will = partitions_for(i, topic);

	printf("-- topic %s: ", i->kafka.topics[topic]);
	if (is) {
		printf("is there, %d partitions\n", is);
		return;
	}
	if (will > 0)
		printf("would be created, %d partitions", will);
	else
		printf("would be created, the broker's number of partitions");
	for (size_t k = 0; k < n; k++)
		printf(", %s=%s", v[k].name, v[k].value);
	putchar('\n');
}

/* What is printed is SQL, so that it can be given to psql. */
static int dry_run(struct init *i)
{
	for (size_t t = i->kafka.n_topics; t-- > 0;)
		print_topic(i, (int)t);
	for (size_t n = 0; n < sql_files_n; n++)
		printf("\n-- %s\n%s", sql_files[n].name, sql_files[n].text);
	return STATUS_OK;
}

int cmd_init(const struct config *config, struct err *err)
{
	CLEANUP(init_close)
	struct init i = {.config = config, .report = report_new(clock_system(), REPORT_COMMAND)};
	int r;

	kafka_setup(&i.arena, config, &i.kafka);
	if ((r = kafka_admin_new(&i.kafka, i.report, &i.admin, err)) || (r = describe(&i, err)))
		return r;
	if (config->dry_run)
		return dry_run(&i);
	if ((r = create_missing(&i, err)) || (r = install_sql(&i, err)))
		return r;
	return check(&i, err);
}

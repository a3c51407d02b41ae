#include "sink_pg.h"

#include <stdio.h>
#include <stdlib.h>

#include "pg_lane.h"

#define NAME_MAX_BYTES 256

struct sink_pg {
	struct sink sink;
	struct pg_lane_config config;
	struct pg_lane *lanes;
	size_t n_lanes;

	/* The call: the first `used` lanes have a part of it each. */
	size_t used;
	struct pollfd *polls;
};

static struct sink_pg *self(struct sink *sink)
{
	return (struct sink_pg *)sink; /* its first member */
}

/* Less than a statement's reads are not worth a transaction of their own. */
static size_t count_parts(const struct sink_pg *s, size_t n)
{
	size_t parts = n / s->config.sql.statement_records;

	if (parts > s->n_lanes)
		parts = s->n_lanes;
	return parts ? parts : 1;
}

/* The first read of a part; of the one after the last: n. */
static size_t part_begin(size_t n, size_t parts, size_t i)
{
	return n * i / parts;
}

static void send_call(struct sink *sink, enum sink_call_kind kind,
	const struct meter_read *const *reads, size_t n)
{
	struct sink_pg *s = self(sink);

	s->used = count_parts(s, n);
	for (size_t i = 0; i < s->used; i++) {
		size_t from = part_begin(n, s->used, i), to = part_begin(n, s->used, i + 1);

		pg_lane_send(&s->lanes[i], kind, reads ? reads + from : NULL, to - from);
	}
}

/* Waits for what any lane may go on with; all that are over need no wait. */
static void wait_for_lanes(struct sink_pg *s, int64_t until_ms)
{
	int64_t now_ms = pg_now_ms();
	nfds_t n = 0;

	for (size_t i = 0; i < s->used; i++) {
		struct pg_lane *l = &s->lanes[i];

		if (l->phase == PG_DONE)
			continue;
		s->polls[n++] = pg_lane_poll(l);
		if (pg_lane_deadline_ms(l) < until_ms)
			until_ms = pg_lane_deadline_ms(l);
	}
	poll(s->polls, n, now_ms < until_ms ? (int)(until_ms - now_ms) : 0);
}

static bool advance(struct sink_pg *s)
{
	bool done = true;

	for (size_t i = 0; i < s->used; i++)
		done &= pg_lane_advance(&s->lanes[i]);
	return done;
}

/*
 * What all parts come to. Where some have committed, the reads of those that failed are left for a
 * later call, which tells what it is that they fail of.
 */
static struct sink_result take_parts(
	struct sink_pg *s, struct arena *arena, struct outcome *outcomes)
{
	struct sink_result all = {.class = SQL_OK};
	bool backend_lost = false;
	size_t n = 0, failed = 0;

	for (size_t i = 0; i < s->used; i++) {
		struct pg_lane *l = &s->lanes[i];
		struct sink_result part = pg_lane_take(l, arena, outcomes + n);

		if (part.class != SQL_OK && !failed++)
			all = part;
		backend_lost |= part.backend_lost;
		if (part.class != SQL_OK && s->used > 1)
			memset(outcomes + n, 0, l->n * sizeof(*outcomes));
		n += l->n;
	}
	if (failed < s->used)
		all.class = SQL_OK;
	all.backend_lost = backend_lost;
	s->used = 0;
	return all;
}
_Static_assert(OUTCOME_INVALID == 0, "what is zeroed is left for a later call");

static int get_result(struct sink *sink, int timeout_ms, struct arena *arena,
	struct outcome *outcomes, bool *ret_done, struct sink_result *ret, struct err *err)
{
	struct sink_pg *s = self(sink);
	int64_t until_ms = pg_now_ms() + timeout_ms;

	if (!s->used)
		return err_set(err, ERR_INTERNAL, "result of a call to Postgres that was not made");
	while (!(*ret_done = advance(s)) && pg_now_ms() < until_ms)
		wait_for_lanes(s, until_ms);
	if (*ret_done)
		*ret = take_parts(s, arena, outcomes);
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
	s->config = (struct pg_lane_config){
		.conninfo = mem_strdup(config->conninfo),
		.application_name = mem_strdup(config->application_name),
		.statement_timeout_ms = config->statement_timeout_ms,
		.sql = {.settings = settings_text(config),
			.commit = call_text(config->function, "", ""),
			.isolate = call_text(
				config->function, "_isolated", ", sqlstate::text, message::text"),
			.statement_records = config->statement_records},
	};
	s->n_lanes = config->connections;
	s->lanes = mem_zalloc(s->n_lanes * sizeof(*s->lanes));
	s->polls = mem_zalloc(s->n_lanes * sizeof(*s->polls));
	for (size_t i = 0; i < s->n_lanes; i++)
		s->lanes[i].config = &s->config;
	return &s->sink;
}

void sink_pg_free(struct sink *sink)
{
	struct sink_pg *s = self(sink);

	if (!s)
		return;
	for (size_t i = 0; i < s->n_lanes; i++)
		pg_lane_free(&s->lanes[i]);
	free(s->lanes);
	free(s->polls);
	free(s->config.sql.settings);
	free(s->config.sql.commit);
	free(s->config.sql.isolate);
	free(s->config.conninfo);
	free(s->config.application_name);
	free(s);
}

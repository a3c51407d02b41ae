#include "pg_connection.h"

#include <ctype.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/*
 * Used where neither conninfo nor environment nor service file (PGSERVICE) says otherwise. Seconds,
 * but for tcp_user_timeout. That one makes libpq go on to the next host after one that does not
 * answer: its asynchronous interface heeds no connect_timeout (libpq manual, PQconnectPoll), which
 * is our deadline for all hosts.
 */
#define DEFAULT_TCP_USER_TIMEOUT "4000"
static const struct {
	const char *keyword, *value;
} DEFAULTS[] = {
	{"target_session_attrs", "read-write"},
	{"connect_timeout", "5"},
	{"keepalives_idle", "10"},
	{"keepalives_interval", "5"},
	{"keepalives_count", "3"},
	{"tcp_user_timeout", DEFAULT_TCP_USER_TIMEOUT},
};
#define PARAMETERS_MAX (ARRAY_LEN(DEFAULTS) + 4)
/* connect_timeout=0 means for ever; nothing here does. */
#define LONGEST_CONNECT_S 60

int64_t pg_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void pg_copy_text(char *ret, size_t size, const char *text)
{
	size_t n = strnlen(text, size);

	if (n == size)
		n--;
	while (n && ((uint8_t)text[n] & 0xC0) == 0x80) /* cut before a continuation byte */
		n--;
	while (n && isspace((uint8_t)text[n - 1]))
		n--;
	for (size_t i = 0; i < n; i++)
		ret[i] = isspace((uint8_t)text[i]) ? ' ' : text[i];
	ret[n] = '\0';
}

static void free_options(PQconninfoOption **options)
{
	PQconninfoFree(*options);
}

static const PQconninfoOption *find_option(const PQconninfoOption *options, const char *keyword)
{
	for (const PQconninfoOption *o = options; o && o->keyword; o++) {
		if (strcmp(o->keyword, keyword) == 0)
			return o;
	}
	return NULL;
}

/* options: PQconndefaults(), what environment and service file say over what is compiled in. */
static bool set_by_user(const PQconninfoOption *options, const char *keyword)
{
	const PQconninfoOption *o = find_option(options, keyword);

	if (!o || !o->val)
		return false;
	return (o->envvar && getenv(o->envvar)) || !o->compiled || strcmp(o->val, o->compiled) != 0;
}

/* Seconds to connect in: connect_timeout for each host. */
static int connect_seconds(PGconn *conn)
{
	CLEANUP(free_options) PQconninfoOption *options = PQconninfo(conn);
	const PQconninfoOption *timeout = find_option(options, "connect_timeout");
	const PQconninfoOption *host = find_option(options, "host");
	const PQconninfoOption *address = find_option(options, "hostaddr");
	const char *list = address && address->val ? address->val : host ? host->val : NULL;
	long seconds = timeout && timeout->val ? strtol(timeout->val, NULL, 10) : 0;
	long hosts = 1;

	for (const char *p = list; p && (p = strchr(p, ',')); p++)
		hosts++;
	if (seconds <= 0 || seconds > LONGEST_CONNECT_S)
		seconds = LONGEST_CONNECT_S;
	return (int)(hosts < LONGEST_CONNECT_S / seconds ? hosts * seconds : LONGEST_CONNECT_S);
}

static void note_warning(void *connection, const PGresult *r)
{
	struct pg_connection *c = connection;
	const char *severity = PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

	if (severity && strcmp(severity, "WARNING") == 0) {
		c->warned = true;
		pg_copy_text(c->warning, sizeof(c->warning), text ? text : "");
	}
}

void pg_connection_start(
	struct pg_connection *c, const char *conninfo, const char *application_name, int silence_ms)
{
	CLEANUP(free_options) PQconninfoOption *options = PQconndefaults();
	const char *keywords[PARAMETERS_MAX], *values[PARAMETERS_MAX];
	size_t n = 0;

	/* libpq: a later one wins, and dbname is expanded in its place. */
	for (size_t i = 0; i < ARRAY_LEN(DEFAULTS); i++) {
		if (set_by_user(options, DEFAULTS[i].keyword))
			continue;
		keywords[n] = DEFAULTS[i].keyword;
		values[n++] = DEFAULTS[i].value;
	}
	keywords[n] = "fallback_application_name";
	values[n++] = application_name;
	keywords[n] = "dbname";
	values[n++] = conninfo;
	keywords[n] = "client_encoding";
	values[n++] = "UTF8";
	keywords[n] = values[n] = NULL;

	c->conn = PQconnectStartParams(keywords, values, /* expand_dbname= */ 1);
	c->state = PG_CONNECTING;
	c->silence_ms = silence_ms;
	c->wants = PGRES_POLLING_WRITING; /* libpq manual: as if PQconnectPoll had said so */
	c->deadline_ms = pg_now_ms() + (int64_t)connect_seconds(c->conn) * 1000;
	/* libpq has no SQLSTATE for a failed connect; the verbose text has. */
	PQsetErrorVerbosity(c->conn, PQERRORS_VERBOSE);
	PQsetNoticeReceiver(c->conn, note_warning, c);
}

/* The next "FATAL:  28P01: " from *text on, which moves behind it. */
static bool next_code(const char **text, char code[static 6])
{
	for (const char *p = *text; (p = strstr(p, ":  ")); p++) {
		const char *q = p + 3;
		size_t n = strspn(q, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");

		if (n == 5 && q[n] == ':') {
			memcpy(code, q, n);
			code[n] = '\0';
			*text = q + n;
			return true;
		}
	}
	return false;
}

/* The contract's fault only where every host that was asked says so. */
static void explain_failure(struct pg_connection *c, struct sink_result *ret)
{
	const char *text = PQerrorMessage(c->conn);
	const char *end = strstr(text, "\nLOCATION:");
	int codes = 0, contracts = 0, hosts = 0;

	for (const char *p = text; (p = strstr(p, "connection to server")); p++)
		hosts++;
	*ret = (struct sink_result){.class = SQL_OUTAGE};
	pg_copy_text(ret->message, sizeof(ret->message), text);
	if (end && (size_t)(end - text) < sizeof(ret->message))
		ret->message[end - text] = '\0';
	while (next_code(&text, ret->code)) {
		codes++;
		contracts += sqlstate_class(ret->code) == SQL_CONTRACT;
	}
	if (codes && contracts == codes && codes >= hosts)
		ret->class = SQL_CONTRACT;
}

static bool ready(struct pg_connection *c)
{
	struct pollfd p = {.fd = PQsocket(c->conn),
		.events = c->wants == PGRES_POLLING_READING ? POLLIN : POLLOUT};

	return p.fd < 0 || poll(&p, 1, 0) > 0;
}

/*
 * Linux ends a connection also where the peer acknowledges but takes nothing for that long
 * (tcp_probe_timer): a backend that is busy with one statement while the next ones wait.
 */
static void raise_tcp_user_timeout(struct pg_connection *c)
{
	CLEANUP(free_options) PQconninfoOption *options = PQconninfo(c->conn);
	const PQconninfoOption *o = find_option(options, "tcp_user_timeout");

	if (o && o->val && strcmp(o->val, DEFAULT_TCP_USER_TIMEOUT) == 0)
		setsockopt(PQsocket(c->conn), IPPROTO_TCP, TCP_USER_TIMEOUT, &c->silence_ms,
			sizeof(c->silence_ms));
}

/*
 * Room for a whole batch, so that Postgres works on it while the loop is elsewhere. TCP grows its
 * buffers by itself, and no more once they are set.
 */
static void raise_send_buffer(struct pg_connection *c)
{
	struct sockaddr_storage address = {0};
	socklen_t n = sizeof(address);
	int bytes = 4 << 20;

	if (getsockname(PQsocket(c->conn), (struct sockaddr *)&address, &n) == 0 &&
		address.ss_family == AF_UNIX)
		setsockopt(PQsocket(c->conn), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static void open_pipeline(struct pg_connection *c)
{
	raise_tcp_user_timeout(c);
	raise_send_buffer(c);
	PQsetErrorVerbosity(c->conn, PQERRORS_DEFAULT);
	PQsetnonblocking(c->conn, 1);
	PQenterPipelineMode(c->conn);
	c->state = PG_OPEN;
}

enum pg_state pg_connection_poll(struct pg_connection *c, struct sink_result *ret)
{
	while (PQstatus(c->conn) != CONNECTION_BAD && ready(c)) {
		c->wants = PQconnectPoll(c->conn);
		if (c->wants == PGRES_POLLING_OK) {
			open_pipeline(c);
			return PG_OPEN;
		}
		if (c->wants == PGRES_POLLING_FAILED)
			break;
	}
	if (PQstatus(c->conn) == CONNECTION_BAD || c->wants == PGRES_POLLING_FAILED) {
		explain_failure(c, ret);
		pg_connection_close(c);
	} else if (pg_now_ms() >= c->deadline_ms) {
		*ret = (struct sink_result){.class = SQL_OUTAGE};
		snprintf(
			ret->message, sizeof(ret->message), "connecting to Postgres took too long");
		pg_connection_close(c);
	}
	return c->state;
}

bool pg_connection_pump(struct pg_connection *c)
{
	/* A failed write shows when reading: what the server said last is worth more. */
	PQflush(c->conn);
	return PQconsumeInput(c->conn) && PQstatus(c->conn) == CONNECTION_OK;
}

bool pg_connection_alive(struct pg_connection *c)
{
	struct pollfd p = {.fd = PQsocket(c->conn), .events = POLLIN};

	/* The end of the stream comes behind what the server said before it closed. */
	while (c->state == PG_OPEN && poll(&p, 1, 0) > 0) {
		if (!PQconsumeInput(c->conn) || PQstatus(c->conn) != CONNECTION_OK)
			return false;
	}
	return true;
}

struct pollfd pg_connection_pollfd(struct pg_connection *c)
{
	struct pollfd p = {.fd = PQsocket(c->conn), .events = POLLIN};

	if (c->state == PG_CONNECTING)
		p.events = c->wants == PGRES_POLLING_READING ? POLLIN : POLLOUT;
	else if (PQflush(c->conn) > 0)
		p.events |= POLLOUT;
	return p;
}

void pg_connection_close(struct pg_connection *c)
{
	PQfinish(c->conn);
	*c = (struct pg_connection){.state = PG_CLOSED};
}

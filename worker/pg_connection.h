/*
 * pg_connection.h: one connection to Postgres: never blocks (but for name resolution), in pipeline
 * mode once open, and every wait has an end. The loop's thread only.
 */
#ifndef WORKER_PG_CONNECTION_H
#define WORKER_PG_CONNECTION_H

#include <libpq-fe.h>
#include <poll.h>

#include "commit.h"

enum pg_state { PG_CLOSED = 0, PG_CONNECTING, PG_OPEN };

/* Zero-initialise. Its address must not change while it is not closed. */
struct pg_connection {
	enum pg_state state;
	PGconn *conn;
	PostgresPollingStatusType wants; /* CONNECTING */
	int64_t deadline_ms;		 /* CONNECTING */
	int silence_ms;
	bool warned; /* a WARNING came; whoever cares resets it */
	char warning[128];
};

/* For deadlines. Never goes back. */
int64_t pg_now_ms(void);
/* As much of text as fits, in one line and without a broken UTF-8 character at its end. */
void pg_copy_text(char *ret, size_t size, const char *text);

/*
 * Starts to connect; conninfo as libpq takes it (key words, URI or database; "": PG* variables).
 * What the user has not set elsewhere has defaults that fit a worker, see DEFAULTS.
 * silence_ms: how long a healthy server may read nothing, because it is busy.
 */
void pg_connection_start(struct pg_connection *c, const char *conninfo,
	const char *application_name, int silence_ms);
/* Goes on connecting. Failed: closed, and *ret says why (an outage or the contract). */
enum pg_state pg_connection_poll(struct pg_connection *c, struct sink_result *ret);

/* Between calls: false where the server has closed it meanwhile. */
bool pg_connection_alive(struct pg_connection *c);
/* Writes and reads what can be without waiting. False: the connection is lost. */
bool pg_connection_pump(struct pg_connection *c);
/* What to wait for until there is something to do for one of the above. */
struct pollfd pg_connection_pollfd(struct pg_connection *c);
void pg_connection_close(struct pg_connection *c);

#endif

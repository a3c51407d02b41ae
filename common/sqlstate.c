#include "sqlstate.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "mem.h"

/*
 * PostgreSQL 15 manual, appendix A. A prefix of two characters is a whole class. What is not here
 * (warnings, cursors, foreign tables, what a trigger made up) is SQL_SUSPECT.
 */
static const struct {
	char prefix[6];
	enum sql_class class;
} TABLE[] = {
	{"00", SQL_OK},

	{"40", SQL_RETRY},     /* serialization, deadlock */
	{"40003", SQL_OUTAGE}, /* statement completion unknown: poolers say so */
	{"55P03", SQL_RETRY},  /* lock not available */

	{"08", SQL_OUTAGE},    /* connection; 08P01 is also what PgBouncer says when it gives up */
	{"25006", SQL_OUTAGE}, /* read-only: a standby, or a primary that was demoted */
	{"25P03", SQL_OUTAGE}, /* idle-in-transaction time-out: the backend is gone */
	{"53", SQL_OUTAGE},    /* disk full, out of memory, too many connections */
	{"57P", SQL_OUTAGE},   /* shutdown, crash, starting up, database dropped */
	{"58", SQL_OUTAGE},    /* I/O errors under Postgres */
	{"F0", SQL_OUTAGE},    /* its configuration file */
	{"XX", SQL_OUTAGE},    /* internal error, corrupted data or index */

	{"28", SQL_CONTRACT},	 /* may not log in */
	{"3D000", SQL_CONTRACT}, /* no such database */
	{"3F000", SQL_CONTRACT}, /* no such schema */
	{"42", SQL_CONTRACT},	 /* function, column, type, unique constraint or right is missing */

	{"20", SQL_RECORD},			/* no such CASE in a trigger */
	{"21", SQL_RECORD},			/* more than one row where a trigger expects one */
	{"22", SQL_RECORD},			/* data: out of range, bad UTF-8, NUL */
	{"23", SQL_RECORD},			/* constraints */
	{"27", SQL_RECORD},			/* triggers that change the row under each other */
	{"38", SQL_RECORD},			/* error in a trigger of another language */
	{"39", SQL_RECORD}, {"44", SQL_RECORD}, /* WITH CHECK OPTION of a view */
	{"54", SQL_RECORD}, /* too large or too complex: a key that fits no index page */
	{"P0", SQL_RECORD}, /* RAISE in a trigger */

	{"57014", SQL_SUSPECT}, /* statement time-out: the read's, a neighbour's or the server's */
};

enum sql_class sqlstate_class(const char *code)
{
	enum sql_class class = SQL_SUSPECT;
	size_t longest = 0;

	for (size_t i = 0; i < ARRAY_LEN(TABLE); i++) {
		size_t n = strlen(TABLE[i].prefix);

		if (n > longest && strncmp(code, TABLE[i].prefix, n) == 0) {
			longest = n;
			class = TABLE[i].class;
		}
	}
	return class;
}

const char *sql_class_name(enum sql_class c)
{
	switch (c) {
	case SQL_OK:
		return "ok";
	case SQL_RETRY:
		return "retry";
	case SQL_OUTAGE:
		return "outage";
	case SQL_CONTRACT:
		return "contract";
	case SQL_RECORD:
		return "record";
	case SQL_SUSPECT:
		return "suspect";
	}
	return "?";
}

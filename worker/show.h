/* show.h: cmd_show.c finds what there is of a read, show_text.c and show_json.c print it. */
#ifndef WORKER_SHOW_H
#define WORKER_SHOW_H

#include "advice.h"
#include "history.h"
#include "row.h"

struct showing {
	const struct config *config;
	struct selection selection;
	struct history history;
	PGconn *pg;
	const char *table; /* of committed rows */
	int pg_failed;	   /* error class of the first failure; 0: none */
	struct err pg_err;
	size_t n_shown;
};

/* One content of a key. */
struct shown {
	struct arena arena;
	struct slice key;
	const struct history_read *read; /* NULL: no topic has it any more */
	bool has_record;
	struct chosen chosen; /* has_record: the newest, as a parked event where it is one */
	bool row_unknown;
	struct row row;
	/* Of the read and the row, where there are both. */
	enum read_field differences[READ_FIELD_COUNT];
	size_t n_differences;
};

/* Bytes of a payload that are shown in hex, and of it as text on a terminal. */
#define SHOW_HEX_BYTES 4096
#define SHOW_TEXT_BYTES 4096

/* has_record: why the read is where it is, and what to do. Texts in x's arena. */
struct advice shown_advice(struct shown *x);

void show_text(const struct showing *s, struct shown *x);
void show_json(const struct showing *s, struct shown *x);

#endif

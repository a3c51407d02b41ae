/* csv.h: rows of CSV as RFC 4180 has them. Pure; any thread. */
#ifndef COMMON_CSV_H
#define COMMON_CSV_H

#include "mem.h"

/* Zero-initialise; free out. */
struct csv {
	struct buf out;
	bool begun; /* the row has a field */
};

/* Null is the empty field. Quoted where the text asks for it; no byte is changed. */
void csv_add(struct csv *csv, struct slice text);
void csv_add_text(struct csv *csv, const char *text); /* NULL: the empty field */
void csv_add_number(struct csv *csv, int64_t n);
void csv_end_row(struct csv *csv);

#endif

/* output.h: what the commands for people share of printing to stdout. One thread. */
#ifndef WORKER_OUTPUT_H
#define WORKER_OUTPUT_H

#include "csv.h"

#include <jansson.h>

#define OUTPUT_COLUMNS 80

/* One line; releases o. */
void output_json(json_t *o);
/* What there is so far; forgets it. */
void output_csv(struct csv *csv);
/* The whole of an instant, or null. */
json_t *output_instant(int64_t us);
/* The last column of a row that has so many already: on a line of its own where it is too long.
 * Ends the row. */
void output_last_column(int columns, const char *text);
/* Text behind a prefix, broken between words at OUTPUT_COLUMNS; further lines are indented by
 * indent. A word is never broken. */
void output_wrapped(const char *prefix, const char *text, int indent);

#endif

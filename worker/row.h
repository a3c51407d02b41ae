/* row.h: the committed row of one key, for people. One thread. */
#ifndef WORKER_ROW_H
#define WORKER_ROW_H

#include "err.h"
#include "meter_read.h"

#include <libpq-fe.h>

#define ROW_NO_TIME INT64_MIN

struct row {
	bool found;
	struct meter_read read; /* attributes as jsonb has them */
	int64_t committed_us;	/* ROW_NO_TIME: the table does not tell */
	bool same_attributes;	/* as those that were asked about */
};

/* table: see config_committed_table(). In the arena. attributes: JSON, or null. The errors say what
 * right is needed. */
MUST_CHECK int row_find(PGconn *pg, const char *table, struct arena *a, struct slice key,
	struct slice attributes, struct row *ret, struct err *err);

#endif

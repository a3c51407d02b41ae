/* metrics_table.h: the rows of metrics.def as data, for the files metrics*.c alone. */
#ifndef COMMON_METRICS_TABLE_H
#define COMMON_METRICS_TABLE_H

#include "metrics.h"

enum metric_type { TYPE_COUNTER, TYPE_GAUGE, TYPE_HISTOGRAM, TYPE_INFO };

struct family {
	const char *name;
	enum metric_type type;
	const char *unit, *label;
	const char *values; /* NULL: one series per partition */
	const char *help;
};

extern const struct family metric_families[METRIC_COUNT];
const char *metric_type_name(enum metric_type type);

#endif

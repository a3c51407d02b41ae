/*
 * metrics.h: the worker's numbers, one table (metrics.def). The loop's thread stores, the HTTP
 * thread renders: single values are atomic, a scrape is not a snapshot of all.
 */
#ifndef COMMON_METRICS_H
#define COMMON_METRICS_H

#include "mem.h"

#include <stdatomic.h>

enum metric_id {
#define METRIC(id, name, type, label, values, help) id,
#include "metrics.def"
#undef METRIC
	METRIC_COUNT
};

/* A series with this value is not shown: a partition of another owner. */
#define METRIC_ABSENT UINT64_MAX

struct metrics {
	size_t partitions;
	size_t first[METRIC_COUNT + 1]; /* of each family, in values */
	_Atomic uint64_t *values;
};

void metrics_init(struct metrics *m, size_t partitions);
void metrics_free(struct metrics *m);
/* series: the position in the row's values, the partition number, or 0. Any thread. */
void metrics_set(struct metrics *m, enum metric_id id, size_t series, uint64_t value);
/* Prometheus text exposition format 0.0.4, every name prefixed meter_dlq_. Any thread. */
void metrics_render(const struct metrics *m, const char *version, struct buf *out);

#endif

/*
 * metrics.h: the worker's numbers, one table (metrics.def). The loop's thread stores, the HTTP
 * thread renders: single values are atomic, a scrape is not a snapshot of all.
 */
#ifndef COMMON_METRICS_H
#define COMMON_METRICS_H

#include "histogram.h"
#include "mem.h"

#include <stdatomic.h>

enum metric_id {
#define METRIC(id, ...) id,
#include "metrics.def"
#undef METRIC
	METRIC_COUNT
};

/* A series with this value is not shown: a partition of another owner. */
#define METRIC_ABSENT UINT64_MAX
/* Shown as NaN: a time of something that is not there, which no comparison finds too old. */
#define METRIC_NAN (UINT64_MAX - 1)

struct metrics {
	size_t partitions;
	size_t first[METRIC_COUNT + 1]; /* of each family, in values */
	_Atomic uint64_t *values;
};

/* The exposition formats: Prometheus text 0.0.4 and OpenMetrics 1.0. */
enum metrics_form { METRICS_TEXT = 0, METRICS_OPENMETRICS };

void metrics_init(struct metrics *m, size_t partitions);
void metrics_free(struct metrics *m);
/* series: the position in the row's values, the partition number, or 0. Any thread. */
void metrics_set(struct metrics *m, enum metric_id id, size_t series, uint64_t value);
void metrics_set_histogram(struct metrics *m, enum metric_id id, const struct histogram *h);

/* Appends all families. version: the value of the INFO rows' label. Any thread. */
void metrics_render(
	const struct metrics *m, const char *version, enum metrics_form form, struct buf *out);
/* What an HTTP Accept header (RFC 9110, 12.5.1; NULL: none) would rather have. */
enum metrics_form metrics_form_accepted(const char *accept);
const char *metrics_content_type(enum metrics_form form);
/* Appends README's list. */
void metrics_help_markdown(struct buf *out);

#endif

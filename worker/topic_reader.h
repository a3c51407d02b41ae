/*
 * topic_reader.h: reads whole partitions for the commands that need no running worker. It waits
 * where the log says "try again", as long as something moves now and then.
 */
#ifndef WORKER_TOPIC_READER_H
#define WORKER_TOPIC_READER_H

#include "clock.h"
#include "fold.h"
#include "log.h"
#include "loop.h"

/* All borrowed. */
struct topic_reader {
	struct log *log;
	char **topics; /* names by topic number */
	struct clock *clock;
	struct report *report;
	int64_t patience_us; /* without progress; longer than any transaction may stay open */
};

typedef int topic_reader_fn(void *arg, const struct log_message *m, struct err *err);

/*
 * Calls fn for every record of the ranges, per partition in offset order; ends with the first
 * negative value of fn. A range whose beginning is gone begins where the log does.
 */
MUST_CHECK int topic_reader_read(struct topic_reader *t, const struct log_range *v, size_t n,
	topic_reader_fn *fn, void *arg, struct err *err);

/* The whole of a partition as it is now: low watermark to high watermark, read_uncommitted. */
MUST_CHECK int topic_reader_whole(struct topic_reader *t, int topic, int32_t partition,
	struct log_range *ret, struct err *err);
/* The same of partitions 0 to n-1. */
MUST_CHECK int topic_reader_whole_topic(
	struct topic_reader *t, int topic, int32_t n, struct log_range *ret, struct err *err);
/* The offset of the first record of that time (ms since 1970) or later, else the end. */
MUST_CHECK int topic_reader_offset_at(struct topic_reader *t, int topic, int32_t partition,
	int64_t timestamp_ms, int64_t *ret, struct err *err);
/* The group's committed offsets into v, -1 for none. */
MUST_CHECK int topic_reader_committed(
	struct topic_reader *t, struct log_position *v, size_t n, struct err *err);

/* Says that a record is not ours where r is ERR_DATA, and passes over it; else returns r. */
MUST_CHECK int topic_reader_pass(
	struct topic_reader *t, const struct log_message *m, int r, struct err *err);

#endif

/*
 * audit_counts.h: what an audit counted, and how that is told to people and to Prometheus. Pure;
 * any thread.
 */
#ifndef COMMON_AUDIT_COUNTS_H
#define COMMON_AUDIT_COUNTS_H

#include "mem.h"

/*
 * dead_letters are records; reads are the distinct ones among them, each of which is one of
 * settled to waiting. requeued are those of queued that the audit itself put there.
 */
struct audit_counts {
	uint64_t dead_letters, reads;
	uint64_t settled, queued, parked, written_off, missing, different, waiting;
	uint64_t requeued;
	uint64_t gap;	  /* dead letters that retention took before they were taken in */
	uint64_t doubled; /* reads that are there twice */
};

void audit_counts_add(struct audit_counts *sum, const struct audit_counts *c);

/* Whether every read is where it must be, once. */
bool audit_counts_clean(const struct audit_counts *c);

/* "124 dead letters, 120 reads: 100 settled, ..., 0 different", and behind it what is not zero of
 * waiting, written off, doubled and requeued. */
void audit_counts_text(struct buf *out, const struct audit_counts *c);

/* Each count by its name, for JSON: start with *pos = 0; false at the end. */
bool audit_counts_next(
	const struct audit_counts *c, size_t *pos, const char **ret_name, uint64_t *ret);

/*
 * A text file for the node_exporter's textfile collector (prometheus/node_exporter, README,
 * "Textfile Collector"). counts NULL: the audit could not be made; then only that and the time.
 */
void audit_counts_metrics(struct buf *out, const struct audit_counts *c, int64_t now_us);

#endif

/*
 * publish.h: the numbers of the loop and its log, into the metrics that the HTTP thread shows. The
 * loop's thread, after every turn: so they are right while nothing happens, too.
 */
#ifndef WORKER_PUBLISH_H
#define WORKER_PUBLISH_H

#include "kafka_log.h"
#include "loop.h"
#include "metrics.h"

struct publisher {
	struct metrics *metrics; /* borrowed */
	struct clock *clock;	 /* borrowed */
	/* By partition: the tickets as the times were looked for last. */
	struct times {
		uint64_t changes;
		bool known;
	} * times;
	int64_t looked_us; /* steady: when a partition's tickets were read last */
	int64_t pause_us;  /* and how long not to do it again */
};

void publisher_init(struct publisher *p, struct metrics *m, struct clock *clock);
void publisher_free(struct publisher *p);
void publish(struct publisher *p, const struct loop *l, const struct log *log);

#endif

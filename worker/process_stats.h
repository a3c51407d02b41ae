/* process_stats.h: what the kernel counts of this process (getrusage(2), proc(5)). Any thread. */
#ifndef WORKER_PROCESS_STATS_H
#define WORKER_PROCESS_STATS_H

#include "metrics.h"

/* Stores the process_* metrics but the start time; what cannot be read stays as it was. */
void process_stats_publish(struct metrics *m);

#endif

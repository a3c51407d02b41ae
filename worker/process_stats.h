/* process_stats.h: what the kernel counts of this process (proc(5)). Any thread. */
#ifndef WORKER_PROCESS_STATS_H
#define WORKER_PROCESS_STATS_H

#include "metrics.h"

/* Stores the process_* metrics; what cannot be read stays as it was. */
void process_stats_publish(struct metrics *m);

#endif

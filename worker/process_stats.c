#include "process_stats.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void closep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static uint64_t timeval_us(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void publish_cpu(struct metrics *m)
{
	struct rusage used;

	if (!getrusage(RUSAGE_SELF, &used))
		metrics_set(m, METRIC_PROCESS_CPU, 0,
			timeval_us(used.ru_utime) + timeval_us(used.ru_stime));
}

/* Its first two numbers are the pages in all and those that are resident. */
static void publish_memory(struct metrics *m)
{
	CLEANUP(closep) FILE *f = fopen("/proc/self/statm", "re");
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), all;
	char line[128], *next;

	if (!f || !fgets(line, sizeof(line), f))
		return;
	all = strtoull(line, &next, 10);
	metrics_set(m, METRIC_PROCESS_VM, 0, all * page);
	metrics_set(m, METRIC_PROCESS_RSS, 0, strtoull(next, NULL, 10) * page);
}

static void publish_fds(struct metrics *m)
{
	CLEANUP(closedirp) DIR *d = opendir("/proc/self/fd");
	struct rlimit limit;
	const struct dirent *entry;
	uint64_t n = 0;

	while (d && (entry = readdir(d)))
		n += entry->d_name[0] != '.';
	if (n)
		metrics_set(m, METRIC_PROCESS_FDS, 0, n - 1); /* one is this look itself */
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		metrics_set(m, METRIC_PROCESS_MAX_FDS, 0, limit.rlim_cur);
}

void process_stats_publish(struct metrics *m)
{
	publish_cpu(m);
	publish_memory(m);
	publish_fds(m);
}

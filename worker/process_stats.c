#include "process_stats.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define SECOND_US UINT64_C(1000000)

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

/* When the machine was started, in microseconds since 1970; 0: not known. */
static uint64_t boot_us(void)
{
	CLEANUP(closep) FILE *f = fopen("/proc/stat", "re");
	uint64_t seconds = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "btime %" SCNu64, &seconds) == 1)
			break;
	return seconds * SECOND_US;
}

struct stat_fields {
	uint64_t utime, stime, starttime; /* clock ticks */
	uint64_t vsize;			  /* bytes */
	uint64_t rss;			  /* pages */
};

static bool read_stat(struct stat_fields *ret)
{
	CLEANUP(closep) FILE *f = fopen("/proc/self/stat", "re");
	char text[1024];
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	const char *after;

	text[n] = '\0';
	after = strrchr(text, ')'); /* the name before it may hold blanks */
	/* Fields 14, 15, 22, 23 and 24; the name is the second. */
	return after &&
	       sscanf(after + 1,
		       " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64
		       " %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64 " %" SCNu64,
		       &ret->utime, &ret->stime, &ret->starttime, &ret->vsize, &ret->rss) == 5;
}

static uint64_t ticks_us(uint64_t ticks)
{
	return ticks * SECOND_US / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void publish_stat(struct metrics *m)
{
	struct stat_fields s;

	if (!read_stat(&s))
		return;
	metrics_set(m, METRIC_PROCESS_START, 0, boot_us() + ticks_us(s.starttime));
	metrics_set(m, METRIC_PROCESS_CPU, 0, ticks_us(s.utime + s.stime));
	metrics_set(m, METRIC_PROCESS_VM, 0, s.vsize);
	metrics_set(m, METRIC_PROCESS_RSS, 0, s.rss * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void publish_fds(struct metrics *m)
{
	CLEANUP(closedirp) DIR *d = opendir("/proc/self/fd");
	const struct dirent *entry;
	struct rlimit limit;
	uint64_t n = 0;

	while (d && (entry = readdir(d)))
		n += entry->d_name[0] != '.';
	if (n)
		metrics_set(m, METRIC_PROCESS_FDS, 0, n - 1); /* one is the look itself */
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		metrics_set(m, METRIC_PROCESS_MAX_FDS, 0, limit.rlim_cur);
}

void process_stats_publish(struct metrics *m)
{
	publish_stat(m);
	publish_fds(m);
}

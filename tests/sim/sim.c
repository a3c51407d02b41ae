/*
 * sim.c: deterministic simulation of workers, Kafka and Postgres: many seeds, or one with its
 * trace.
 */
#include "shrink.h"
#include "summary.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 64u

struct arguments {
	uint64_t seeds, first, seed, shrink_seed;
	bool one, shrink, rare_is_fine, first_failure;
	unsigned jobs;
	struct options options;
};

static const char usage[] =
	"usage: sim [--seeds N] [--first S] [--steps N] [--jobs N] [--rare-ok] [--first-failure]\n"
	"       sim --seed S [-v] [--steps N] [--letters N] [--without FAULT,...]\n"
	"       sim --shrink S [--steps N]\n"
	"Runs N seeds from S on and says what they saw; or one seed, -v with its trace; or looks "
	"for\n"
	"a shorter run that breaks the same promise. Exit 1: a promise was broken, or something "
	"was\n"
	"seen by less than 1% of the seeds (--rare-ok: that is fine). --first-failure stops "
	"there.\n";

static bool without(struct options *o, const char *list)
{
	char *copy = mem_strdup(list), *rest = copy;
	bool ok = true;

	for (char *id; (id = strsep(&rest, ",")) != NULL;) {
		int e = 0;

		while (e < SIM_EVENT_COUNT && strcmp(event_table[e].id, id) != 0)
			e++;
		if (e < SIM_EVENT_COUNT)
			o->without[e] = true;
		ok = ok && e < SIM_EVENT_COUNT;
	}
	free(copy);
	return ok;
}

static bool parse(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {{"seeds", required_argument, NULL, 'n'},
		{"first", required_argument, NULL, 'f'}, {"seed", required_argument, NULL, 's'},
		{"steps", required_argument, NULL, 't'}, {"letters", required_argument, NULL, 'l'},
		{"without", required_argument, NULL, 'w'}, {"jobs", required_argument, NULL, 'j'},
		{"shrink", required_argument, NULL, 'x'}, {"rare-ok", no_argument, NULL, 'r'},
		{"first-failure", no_argument, NULL, 'i'}, {"verbose", no_argument, NULL, 'v'},
		{NULL, 0, NULL, 0}};
	bool ok = true;
	int c;

	while ((c = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 10) : 0;

		switch (c) {
		case 'n':
			a->seeds = n;
			break;
		case 'f':
			a->first = n;
			break;
		case 's':
			a->seed = n;
			a->one = true;
			break;
		case 't':
			a->options.steps = (unsigned)n;
			break;
		case 'l':
			a->options.letters_max = (unsigned)n;
			break;
		case 'w':
			ok = ok && without(&a->options, optarg);
			break;
		case 'j':
			a->jobs = (unsigned)n;
			break;
		case 'x':
			a->shrink_seed = n;
			a->shrink = true;
			break;
		case 'r':
			a->rare_is_fine = true;
			break;
		case 'i':
			a->first_failure = true;
			break;
		case 'v':
			a->options.verbose = true;
			break;
		default:
			ok = false;
		}
	}
	return ok && optind == argc && a->jobs && a->jobs <= JOBS_MAX && a->seeds &&
	       a->options.steps;
}

static void run_seeds(const struct arguments *a, uint64_t from, uint64_t every, struct summary *ret)
{
	struct world *w = world_new();

	for (uint64_t s = from; s < a->first + a->seeds && !(a->first_failure && ret->failed);
		s += every) {
		world_run(w, s, &a->options);
		summary_add(ret, w);
	}
	world_free(w);
}

/* A job is a process of its own and hands its summary over in one piece. */
static int start_job(const struct arguments *a, unsigned job)
{
	struct summary s = {0};
	int fds[2];
	pid_t pid;

	if (pipe(fds) != 0 || (pid = fork()) < 0) {
		perror("sim");
		exit(2);
	}
	if (pid) {
		close(fds[1]);
		return fds[0];
	}
	run_seeds(a, a->first + job, a->jobs, &s);
	exit(write(fds[1], &s, sizeof(s)) == (ssize_t)sizeof(s) ? 0 : 2);
}

static bool read_summary(int fd, struct summary *ret)
{
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(*ret) && (got = read(fd, (char *)ret + n, sizeof(*ret) - n)) > 0)
		n += (size_t)got;
	close(fd);
	return n == sizeof(*ret);
}

/* False: a job has died. */
static bool run_jobs(const struct arguments *a, struct summary *ret)
{
	int fds[JOBS_MAX];
	bool ok = true;

	for (unsigned i = 0; i < a->jobs; i++)
		fds[i] = start_job(a, i);
	for (unsigned i = 0; i < a->jobs; i++) {
		struct summary s;

		if (read_summary(fds[i], &s))
			summary_merge(ret, &s);
		else
			ok = false;
	}
	for (int status; wait(&status) > 0;)
		ok = ok && status == 0;
	return ok;
}

static int run_one(const struct arguments *a)
{
	struct world *w = world_new();
	bool failed;

	world_run(w, a->seed, &a->options);
	failed = w->violation[0];
	printf("seed %" PRIu64 ": %" PRIu64 " loop steps, %" PRIu64 " calls: %s\n", a->seed,
		w->steps, w->calls, failed ? w->violation : "every promise kept");
	world_free(w);
	return failed;
}

static int run_shrink(const struct arguments *a)
{
	struct world *w = world_new();
	int r = shrink(w, a->shrink_seed, &a->options);

	world_free(w);
	return r;
}

int main(int argc, char **argv)
{
	struct arguments a = {.seeds = 1000, .first = 1, .jobs = 1, .options = {.steps = 200}};
	struct summary s = {0};
	unsigned rare;
	bool ok;

	if (!parse(argc, argv, &a)) {
		fputs(usage, stderr);
		return 2;
	}
	if (a.one)
		return run_one(&a);
	if (a.shrink)
		return run_shrink(&a);
	ok = run_jobs(&a, &s);
	rare = s.seeds ? summary_print(&s, &a.options) : 0;
	if (!ok)
		fputs("sim: a job has died\n", stderr);
	return !ok || s.failed || (rare && !a.rare_is_fine);
}

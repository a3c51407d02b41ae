#include "signals.h"

#include "mem.h"
#include "report.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 9 /* supervisors give ten */

struct signals {
	pthread_t thread;
	struct report *report;
	pthread_mutex_t lock;
	void (*stop)(void *); /* under lock, with its argument */
	void *arg;
};

static sigset_t ours(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

static void ask(struct signals *s)
{
	pthread_mutex_lock(&s->lock);
	if (!s->stop)
		_exit(0);
	s->stop(s->arg);
	pthread_mutex_unlock(&s->lock);
}

/* timeout(1) and shells signal the process and its group: that is one signal, not two. */
static void let_echo_pass(const sigset_t *set)
{
	const struct timespec second = {.tv_sec = 1};

	while (sigtimedwait(set, NULL, &second) > 0)
		;
}

static void *watch(void *arg)
{
	struct signals *s = arg;
	const struct timespec patience = {.tv_sec = PATIENCE_S - 1};
	const sigset_t set = ours();
	int number;

	sigwait(&set, &number);
	report_event(s->report, 'I', "stopping", "signal %d: finishing the batch", number);
	ask(s);
	let_echo_pass(&set);
	number = sigtimedwait(&set, NULL, &patience);
	report_event(s->report, 'W', "stopped", "%s: ends as it is; nothing is lost",
		number > 0 ? "a second signal" : "it takes too long");
	_exit(0);
}

struct signals *signals_new(struct report *report)
{
	struct signals *s = mem_zalloc(sizeof(*s));
	const sigset_t set = ours();

	s->report = report;
	pthread_mutex_init(&s->lock, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* A reader of our output that goes away must not end the worker. */
	signal(SIGPIPE, SIG_IGN);
	if (pthread_create(&s->thread, NULL, watch, s)) {
		report_event(report, 'E', "signals", "no thread can be made");
		abort();
	}
	return s;
}

void signals_on_stop(struct signals *s, void (*stop)(void *), void *arg)
{
	pthread_mutex_lock(&s->lock);
	s->stop = stop;
	s->arg = arg;
	pthread_mutex_unlock(&s->lock);
}

void signals_freep(struct signals **s)
{
	if (!*s)
		return;
	pthread_cancel((*s)->thread);
	pthread_join((*s)->thread, NULL);
	pthread_mutex_destroy(&(*s)->lock);
	free(*s);
}

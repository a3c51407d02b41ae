/* process.c: simulated worker processes: starting, dying, pausing; and where others may run. */
#include "world.h"

static void fake_event(struct report *report, const struct notice *e)
{
	struct process *p = (struct process *)((char *)report - offsetof(struct process, report));

	trace(p->world, "process %u says %c %s: %s", p->serial, e->level, e->name, e->text);
}

static const struct report_ops fake_report_ops = {.event = fake_event};

/* How the loop may end on its own: the supervisor starts another. */
static void ended(struct process *p, int r, const struct err *err)
{
	struct world *w = p->world;

	if (r == 0 || r == ERR_CRASH)
		return;
	trace(w, "process %u ends: %s", p->serial, err->text);
	if (r != ERR_FENCED && !(r == ERR_UNREACHABLE && w->setup.loop.until_idle))
		violate(w, "P14", "process %u ended with error %d: %s", p->serial, r, err->text);
}

static void process_main(void *arg)
{
	struct process *p = arg;
	struct err err = {0};
	int64_t began_us = 0;
	int r = 0;

	p->loop = loop_new(
		&p->world->setup.loop, &p->log, &p->sink, &p->schemas, &p->clock, &p->report);
	while (!r && !loop_done(p->loop)) {
		p->idle_us = began_us;
		began_us = p->world->now_us;
		r = loop_step(p->loop, &err);
		p->steps++;
		p->world->steps++;
		if (!r && !p->dead)
			check_step(p);
		if (!r)
			r = seam_enter(p, &err);
	}
	if (!r && !p->dead && !p->asked_to_stop)
		check_idle(p);
	ended(p, p->dead ? ERR_CRASH : r, &err);
	p->dead = true;
	loop_free(p->loop);
	p->loop = NULL;
}

static struct process *free_process(struct world *w)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (w->processes[i].state == PROCESS_NONE)
			return &w->processes[i];
	return NULL;
}

void process_start(struct world *w, size_t identity)
{
	struct process *p = free_process(w);
	struct coroutine *coroutine;
	struct sql_call call;

	if (!p)
		return;
	coroutine = p->coroutine ? p->coroutine : coroutine_new();
	call = p->call;
	*p = (struct process){.log.ops = &fake_log_ops,
		.sink.ops = &fake_sink_ops,
		.schemas.ops = &fake_schemas_ops,
		.clock.ops = &fake_clock_ops,
		.report.ops = &fake_report_ops,
		.world = w,
		.index = (size_t)(p - w->processes),
		.identity = identity,
		.serial = ++w->process_serial,
		.state = PROCESS_RUNNING,
		.coroutine = coroutine,
		.call = call};
	for (int32_t i = 0; i < N_MAX; i++)
		p->restore_began[i] = -1;
	trace(w, "process %u starts as identity %zu", p->serial, identity);
	coroutine_start(p->coroutine, process_main, p);
}

void process_stop(struct process *p)
{
	if (!p->loop)
		return;
	trace(p->world, "process %u is asked to stop", p->serial);
	p->asked_to_stop = true;
	loop_stop(p->loop);
}

void process_kill(struct world *w, struct process *p)
{
	trace(w, "process %u dies", p->serial);
	p->dead = true;
	p->paused_until_us = 0;
	p->wake_us = 0;
}

void process_pause(struct world *w, struct process *p, int64_t us)
{
	trace(w, "process %u is paused for %lld ms", p->serial, (long long)us / 1000);
	p->paused_until_us = w->now_us + us;
}

struct process *process_by_serial(struct world *w, uint32_t serial)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (w->processes[i].state != PROCESS_NONE && w->processes[i].serial == serial)
			return &w->processes[i];
	return NULL;
}

struct process *process_of_identity(struct world *w, size_t identity)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *p = &w->processes[i];

		if (p->state == PROCESS_RUNNING && p->identity == identity &&
			p->paused_until_us <= w->now_us)
			return p;
	}
	return NULL;
}

size_t processes_running(const struct world *w)
{
	size_t n = 0;

	for (size_t i = 0; i < PROCESSES_MAX; i++)
		n += w->processes[i].state == PROCESS_RUNNING;
	return n;
}

void process_resume(struct process *p)
{
	coroutine_resume(p->coroutine);
	if (coroutine_running(p->coroutine))
		return;
	p->state = PROCESS_NONE;
	trace(p->world, "process %u is gone", p->serial);
	p->world->restart_us[p->identity] =
		p->world->now_us + rng_between(&p->world->schedule, 10000, 20000000);
}

/* --- where others may run --- */

static int died(struct err *err)
{
	return err_set(err, ERR_CRASH, "the process died");
}

int seam_enter(struct process *p, struct err *err)
{
	struct world *w = p->world;

	if (p->dead)
		return died(err);
	w->calls++;
	world_pass(w, rng_between(&w->schedule, 5, 400));
	nemesis(w);
	if (p->paused_until_us > w->now_us || rng_percent(&w->schedule, 25))
		coroutine_yield(p->coroutine);
	return p->dead ? died(err) : 0;
}

int seam_wait(struct process *p, int64_t us, struct err *err)
{
	if (p->dead)
		return died(err);
	p->wake_us = p->world->now_us + us;
	coroutine_yield(p->coroutine);
	p->wake_us = 0;
	return p->dead ? died(err) : 0;
}

#include "loop_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PASS_US (10ll * 1000 * 1000) /* a pass that does not end is reported piece by piece */
#define PASS_PAUSE_US (1000ll * 1000)
#define PAUSE_MS 200 /* before another try at a server that is away */

static void report(struct loop *l, struct notice *event, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	event->text = text;
	l->report->ops->event(l->report, event);
}

void loop_report(struct loop *l, char level, const char *event, const char *fmt, ...)
{
	struct notice e = {.level = level, .name = event};
	va_list ap;

	va_start(ap, fmt);
	report(l, &e, fmt, ap);
	va_end(ap);
}

void loop_report_at(struct loop *l, char level, const char *event, const struct record_place *at,
	const char *fmt, ...)
{
	struct notice e = {.level = level, .name = event, .at = *at};
	va_list ap;

	va_start(ap, fmt);
	report(l, &e, fmt, ap);
	va_end(ap);
}

struct record_place loop_place(const struct loop *l, const struct log_message *m)
{
	return (struct record_place){.topic = slice_str(l->config->topics[m->topic]),
		.partition = m->partition,
		.offset = m->offset,
		.key = m->key};
}

void loop_tick(struct loop *l)
{
	l->ticked_us = clock_steady_us(l->clock);
}

int64_t loop_ticked_us(const struct loop *l)
{
	return l->ticked_us;
}

struct loop *loop_new(const struct loop_config *config, struct log *log, struct sink *sink,
	struct schemas *schemas, struct clock *clock, struct report *report)
{
	struct loop *l = mem_zalloc(sizeof(*l));

	l->config = config;
	l->log = log;
	l->sink = sink;
	l->schemas = schemas;
	l->decode = config->decode;
	l->decode.schemas = schemas_source(schemas);
	l->clock = clock;
	l->report = report;
	l->fold_rules.partitions = config->partitions;
	for (size_t i = 0; i < sizeof(l->fold_rules.seed.bytes); i += sizeof(uint64_t)) {
		uint64_t random = clock_random(clock);

		memcpy(l->fold_rules.seed.bytes + i, &random, sizeof(random));
	}
	l->owned = mem_zalloc((size_t)config->partitions * sizeof(struct owned *));
	l->intake.v = mem_zalloc(FETCH_CHUNK * sizeof(*l->intake.v));
	l->replay_rate.per_second = config->replay_max_rate;
	l->producer_stale = true;
	l->next = batch_new();
	if (config->replay_auto)
		breaker_unproven(&l->breaker, clock_now_us(clock));
	loop_tick(l);
	return l;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	loop_release_fetched(l);
	replay_drop(l);
	batch_free(l->next, l->log);
	batch_free(l->sent, l->log);
	batch_free(l->prev, l->log);
	batch_free(l->donor, l->log);
	while (l->n_spare)
		batch_free(l->spare[--l->n_spare], l->log);
	for (int32_t p = 0; p < l->config->partitions; p++)
		owned_free(l->owned[p]);
	arena_free(&l->intake.arena);
	arena_free(&l->reader.arena);
	free(l->owned);
	free(l->intake.v);
	free(l->reader.v);
	free(l->reader.wanted);
	free(l->positions.v);
	free(l->waiting.v);
	free(l->idle_ends.v);
	free(l);
}

void loop_recycle(struct loop *l, struct batch *b)
{
	if (!b)
		return;
	loop_recycle(l, TAKE_PTR(b->donor));
	batch_clear(b, l->log);
	if (l->n_spare < BATCHES)
		l->spare[l->n_spare++] = b;
	else
		batch_free(b, l->log);
}

int loop_poll_group(struct loop *l, int timeout_ms, struct err *err)
{
	int r;

	loop_tick(l);
	if (l->pending_event == GROUP_NONE) {
		r = l->log->ops->group_poll(l->log, timeout_ms, &l->pending_event, err);
		if (r)
			return r;
	}
	if (l->pending_event != GROUP_NONE)
		return err_set(err, ERR_INTERRUPTED, "the group has changed");
	return 0;
}

static int drain_call(struct loop *l, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = {0};
	AUTO_FREE struct outcome *ignored = NULL;
	struct sink_result result;
	bool done = !l->sink_busy;
	int r = 0;

	ignored = mem_zalloc(((l->sent ? l->sent->due.n : 0) + 1) * sizeof(*ignored));
	while (!r && !done) {
		r = l->sink->ops->result(l->sink, 100, &arena, ignored, &done, &result, err);
		loop_tick(l);
	}
	l->sink_busy = l->probing = false;
	breaker_cancel_probe(&l->breaker);
	return r;
}

static void forget_in_memory(struct owned *o)
{
	struct ticket *t;
	size_t pos = 0;

	while ((t = tickets_next(&o->partition.tickets, &pos)))
		t->in_memory = t->waits = 0;
}

/* Gives up what is open: waits for the call in flight, forgets batches and fetched messages. */
static int drop(struct loop *l, struct err *err)
{
	int r = drain_call(l, err);

	if (r)
		return r;
	loop_recycle(l, TAKE_PTR(l->sent));
	loop_recycle(l, TAKE_PTR(l->prev));
	loop_recycle(l, TAKE_PTR(l->donor));
	batch_clear(l->next, l->log);
	loop_release_fetched(l);
	replay_drop(l);
	l->waiting.n = 0;
	l->wanted_us = 0;
	l->entries_wait = l->assign_stale = false;
	for (int32_t p = 0; p < l->config->partitions; p++)
		if (l->owned[p])
			forget_in_memory(l->owned[p]);
	l->restored = false;
	l->restoring_us = 0;
	l->restore_left = 0;
	return 0;
}

static int revoked(struct loop *l, struct err *err)
{
	int r = drop(l, err);

	if (r)
		return r;
	for (int32_t p = 0; p < l->config->partitions; p++)
		if (l->owned[p] && l->owned[p]->assigned) {
			l->owned[p]->assigned = false;
			l->owned[p]->left_us = l->certain_us;
		}
	l->joined = false;
	loop_report(l, 'I', "revoked", "gave %zu partitions up", l->positions.n);
	l->positions.n = 0;
	return l->log->ops->release_assignment(l->log, err);
}

static int assigned(struct loop *l, struct err *err)
{
	const struct log_position *v;
	size_t n;
	int r = drop(l, err);

	if (!r)
		r = l->log->ops->assignment(l->log, &v, &n, err);
	if (r)
		return r;
	l->positions.n = 0;
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(&l->positions) = v[i];
	l->joined = true;
	loop_report(l, 'I', "assigned", "%zu partitions; restoring", n);
	return l->log->ops->assign(l->log, NULL, 0, err);
}

/* The group first: nothing of an old generation goes on. */
static int follow_group(struct loop *l, struct err *err)
{
	enum group_event event = l->pending_event;
	int r;

	if (event == GROUP_NONE) {
		r = l->log->ops->group_poll(l->log, l->joined ? 0 : PAUSE_MS, &event, err);
		if (r)
			return r;
	}
	l->pending_event = GROUP_NONE;
	switch (event) {
	case GROUP_REVOKED:
		return revoked(l, err);
	case GROUP_ASSIGNED:
		return assigned(l, err);
	case GROUP_NONE:
	default:
		return 0;
	}
}

static int finish(struct loop *l, struct err *err)
{
	int r = l->restored ? land(l, err) : 0;

	if (!r)
		r = drop(l, err);
	if (!r) {
		l->log->ops->leave(l->log);
		l->done = true;
	}
	return r;
}

/* What was taken in the turn before goes on; an empty batch is taken into again. */
static void advance(struct loop *l)
{
	if (batch_is_empty(l->next)) {
		batch_clear(l->next, l->log);
		return;
	}
	l->sent = l->next;
	l->next = l->n_spare ? l->spare[--l->n_spare] : batch_new();
}

/*
 * The straight line, three batches at once: one is taken while Postgres works on the one before it
 * and Kafka has ended the one before that.
 */
static int turn(struct loop *l, struct err *err)
{
	int r = follow_group(l, err);

	if (r)
		return r;
	if (l->stopping)
		return finish(l, err);
	if (!l->joined)
		return 0;
	if (!l->restored)
		return restore(l, err);
	l->certain_us = clock_steady_us(l->clock);
	advance(l);
	r = deliver_watch(l, err);
	if (!r)
		r = deliver_start(l, err);
	if (!r)
		r = land(l, err);
	if (!r)
		r = resolve(l, err);
	if (!r)
		r = take(l, err);
	if (!r)
		r = deliver_finish(l, err);
	if (!r)
		l->prev = TAKE_PTR(l->sent);
	if (!r)
		r = restore_finish_inbox(l, err);
	return r;
}

static bool idle(struct loop *l)
{
	if (!l->restored || l->draining_inbox || l->prev || l->donor || !batch_is_empty(l->next) ||
		l->entries_wait || replay_pending(l, clock_now_us(l->clock)))
		return false;
	for (size_t i = 0; i < l->positions.n; i++)
		if (l->positions.v[i].offset < l->idle_ends.v[i])
			return false;
	return true;
}

/* Nothing is under way: what was due and what was there has an outcome. */
static bool pass_over(const struct loop *l)
{
	return !l->prev && !l->donor && batch_is_empty(l->next) && !l->reader.owned;
}

static struct loop_stats stats_since(const struct loop_stats *now, const struct loop_stats *then)
{
	return (struct loop_stats){.committed = now->committed - then->committed,
		.duplicate = now->duplicate - then->duplicate,
		.requeued = now->requeued - then->requeued,
		.parked = now->parked - then->parked,
		.merged = now->merged - then->merged,
		.seen = now->seen - then->seen,
		.intake = now->intake - then->intake};
}

/* What came of the pass, once it is over, or so far. */
static void report_pass(struct loop *l, bool last)
{
	static const struct loop_stats nothing;
	int64_t since_us = clock_steady_us(l->clock) - l->reported_us;
	struct loop_stats pass = stats_since(&l->stats, &l->reported);
	struct notice event = {.level = 'I', .name = "pass", .text = "", .stats = &pass};

	if (!last && since_us < (pass_over(l) ? PASS_PAUSE_US : PASS_US))
		return;
	if (memcmp(&pass, &nothing, sizeof(pass)) == 0)
		return;
	l->report->ops->event(l->report, &event);
	l->reported = l->stats;
	l->reported_us = clock_steady_us(l->clock);
}

/* A server is away, or a position is not what we thought: back to what is certain. */
static int start_over(struct loop *l, int why, struct err *err)
{
	struct err away = *err;
	int r;

	loop_report(l, 'W', why == ERR_RANGE ? "out-of-range" : "kafka-trouble", "%s", away.text);
	if (!l->away_since_us)
		l->away_since_us = clock_steady_us(l->clock);
	r = drop(l, err);
	if (r)
		return r;
	if (l->stopping) {
		l->log->ops->leave(l->log);
		l->done = true;
		return 0;
	}
	if (l->pending_event == GROUP_NONE)
		r = l->log->ops->group_poll(l->log, PAUSE_MS, &l->pending_event, err);
	return r == ERR_UNREACHABLE ? 0 : r;
}

/* With until_idle nobody waits for ever. */
static int out_of_patience(const struct loop *l, struct err *err)
{
	int64_t limit_us = l->config->until_idle_patience_us;
	int64_t schemas_away_us = l->schemas->ops->away_since_us(l->schemas);

	if (!l->config->until_idle)
		return 0;
	if (l->away_since_us && clock_steady_us(l->clock) - l->away_since_us > limit_us)
		return err_set(err, ERR_UNREACHABLE, "Kafka has not answered for %lld s",
			(long long)limit_us / 1000000);
	if (l->breaker.state != BREAKER_CLOSED &&
		clock_now_us(l->clock) - l->breaker.opened_us > limit_us)
		return err_set(err, ERR_UNREACHABLE, "Postgres has not answered for %lld s%s",
			(long long)limit_us / 1000000,
			l->contract_missing ? ": its contract is missing, run meter-dlq init" : "");
	if (l->waiting.n && l->wanted_us && !schemas_away_us &&
		clock_steady_us(l->clock) - l->wanted_us > limit_us)
		return err_set(err, ERR_UNREACHABLE,
			"a record that a dead letter points to, or a schema, has not come for %lld "
			"s",
			(long long)limit_us / 1000000);
	if ((l->waiting.n || l->entries_wait) && schemas_away_us &&
		clock_steady_us(l->clock) - schemas_away_us > limit_us)
		return err_set(err, ERR_UNREACHABLE,
			"the schema registry has not answered for %lld s",
			(long long)limit_us / 1000000);
	return 0;
}

int loop_step(struct loop *l, struct err *err)
{
	int r;

	loop_tick(l);
	r = turn(l, err);

	switch (r) {
	case 0:
		l->away_since_us = 0;
		break;
	case ERR_INTERRUPTED:
		return 0;
	case ERR_UNREACHABLE:
	case ERR_RANGE:
		r = start_over(l, r, err);
		break;
	default:
		return r;
	}
	if (r)
		return r;
	report_pass(l, l->done);
	if (l->config->until_idle && !l->done && idle(l))
		l->stopping = true;
	return out_of_patience(l, err);
}

void loop_stop(struct loop *l)
{
	l->stopping = true;
}

bool loop_done(const struct loop *l)
{
	return l->done;
}

const struct loop_stats *loop_stats(const struct loop *l)
{
	return &l->stats;
}

/* Without replay.auto Postgres is never called, and nothing of it is needed. */
static unsigned not_ready(const struct loop *l)
{
	unsigned why = 0;

	why |= l->joined ? 0 : NOT_JOINED;
	why |= l->restored ? 0 : NOT_RESTORED;
	if (l->contract_missing)
		why |= CONTRACT_MISSING;
	else if (l->config->replay_auto && !l->contract_verified)
		why |= NOT_VERIFIED;
	return why;
}

struct loop_view loop_view(const struct loop *l)
{
	return (struct loop_view){.not_ready = not_ready(l),
		.sink_away = l->breaker.state != BREAKER_CLOSED && l->breaker.failures,
		.schemas_away = l->schemas->ops->away_since_us(l->schemas) != 0,
		.waiting = l->waiting.n,
		.restoring = l->joined && !l->restored,
		.restore_read = l->restore_read,
		.restore_left = l->restore_left,
		.restore_us = l->restore_us,
		.sink_call = &l->sink_call,
		.transaction = &l->transaction};
}

const struct partition *loop_partition(const struct loop *l, int32_t number)
{
	const struct owned *o = l->owned[number];

	return o && o->assigned && l->restored ? &o->partition : NULL;
}

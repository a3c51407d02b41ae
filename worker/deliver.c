/* deliver.c: brings the due reads of a batch to Postgres, and keeps the breaker. */
#include "loop_state.h"

bool deliver_possible(const struct loop *l)
{
	return l->config->replay_auto && l->breaker.state == BREAKER_CLOSED && !l->stopping;
}

/* Nothing fences Postgres: a zombie must notice by itself, so poll right before each call. */
static int send_call(struct loop *l, const struct sink_call *call, struct err *err)
{
	int r = loop_poll_group(l, call->later && !l->stopping ? COMMIT_PAUSE_MS : 0, err);

	if (r)
		return r;
	l->call_us = clock_steady_us(l->clock);
	l->sink->ops->send(l->sink, call->kind,
		l->sent->reads.v ? l->sent->reads.v + call->from : NULL, call->n);
	l->sink_busy = true;
	return 0;
}

int deliver_start(struct loop *l, struct err *err)
{
	struct batch *b = l->sent;

	/* An outage may have come up since it was taken: then its reads stay as they are. */
	if (!b || !b->due.n || !deliver_possible(l))
		return 0;
	b->delivered = b->calling = commit_next(&b->commit, &b->call);
	return send_call(l, &b->call, err);
}

static int await_result(struct loop *l, struct sink_result *ret, struct err *err)
{
	struct batch *b = l->sent;
	bool done = false;

	while (!done) {
		int r = l->sink->ops->result(
			l->sink, 100, &b->arena, b->outcomes + b->call.from, &done, ret, err);

		if (r)
			return r;
		loop_tick(l);
	}
	l->sink_busy = false;
	histogram_add(&l->sink_call, clock_steady_us(l->clock) - l->call_us);
	return 0;
}

static void trip(struct loop *l, const struct sink_result *why)
{
	breaker_fail(&l->breaker, clock_now_us(l->clock), clock_random(l->clock));
	l->contract_missing = why->class == SQL_CONTRACT;
	replay_drop(l);
	loop_report(l, 'W', l->contract_missing ? "contract-missing" : "sink-outage",
		"replay pauses, next probe in %lld ms: %s %s",
		(long long)(l->breaker.retry_us - clock_now_us(l->clock)) / 1000, why->code,
		why->message);
}

static void recover(struct loop *l)
{
	if (l->breaker.failures)
		loop_report(l, 'I', "sink-up", "Postgres answers; replay goes on");
	else if (l->breaker.state != BREAKER_CLOSED)
		loop_report(l, 'I', "sink-verified", "Postgres answers and has the functions");
	breaker_ok(&l->breaker);
	l->contract_missing = false;
	l->contract_verified = true;
}

static void settle_due(struct loop *l, struct batch *b)
{
	int64_t now_us = clock_now_us(l->clock);

	for (size_t i = 0; i < b->due.n; i++) {
		struct item *item = b->due.v[i];
		const struct outcome *outcome = &b->outcomes[i];

		item->settle = settle_outcome(
			&b->arena, &l->config->replay, item->record, outcome, now_us);
		item->committed = outcome->committed;
		b->stats.committed += outcome->kind == OUTCOME_COMMITTED;
		b->stats.duplicate += outcome->kind == OUTCOME_DUPLICATE;
	}
}

int deliver_finish(struct loop *l, struct err *err)
{
	struct batch *b = l->sent;
	struct sink_result result = {0};

	if (!b)
		return 0;
	while (b->calling) {
		int r = await_result(l, &result, err);

		if (r)
			return r;
		commit_result(&b->commit, &result);
		b->calling = commit_next(&b->commit, &b->call);
		if (b->calling)
			r = send_call(l, &b->call, err);
		if (r)
			return r;
	}
	if (b->delivered && b->commit.verdict == COMMIT_DONE)
		recover(l);
	else if (b->delivered)
		trip(l, &b->commit.last);
	settle_due(l, b);
	return 0;
}

int deliver_watch(struct loop *l, struct err *err)
{
	struct sink_result result = {0};
	bool done = false;
	int r;

	if (!l->probing) {
		/* The turn has just polled the group, and a probe carries no read. */
		if (!breaker_probe_due(&l->breaker, clock_now_us(l->clock)))
			return 0;
		l->sink->ops->send(l->sink, SINK_PROBE, NULL, 0);
		l->sink_busy = l->probing = true;
	}
	r = l->sink->ops->result(l->sink, 0, &l->next->arena, NULL, &done, &result, err);
	if (r || !done)
		return r;
	l->sink_busy = l->probing = false;
	if (result.class == SQL_OK)
		recover(l);
	else
		trip(l, &result);
	return 0;
}

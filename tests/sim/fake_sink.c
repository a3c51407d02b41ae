/*
 * fake_sink.c: the seam to Postgres, and a Postgres behind it that executes a call at a time of its
 * own, whether or not the caller still lives.
 */
#include "world.h"

#include <stdlib.h>

static struct process *process_of(struct sink *sink)
{
	return (struct process *)((char *)sink - offsetof(struct process, sink));
}

/* --- what a read does to its statement --- */

static const char *failure_of(struct world *w, const struct read *r)
{
	switch (r->nature) {
	case NATURE_POISON:
		return "23514";
	case NATURE_FLAKY:
		return !w->quiet && rng_percent(&w->chaos, 40) ? "22003" : NULL;
	case NATURE_TIMEOUT:
		return "57014";
	case NATURE_HEAVY:
		return "53200";
	case NATURE_GOOD:
	case NATURE_KILLER:
	default:
		return NULL;
	}
}

static struct sink_result result_of(const char *code, const char *message)
{
	struct sink_result r = {.class = sqlstate_class(code)};

	snprintf(r.code, sizeof(r.code), "%s", code);
	snprintf(r.message, sizeof(r.message), "%s", message);
	return r;
}

static struct sink_result outage(bool lost)
{
	struct sink_result r = {.class = SQL_OUTAGE, .backend_lost = lost};

	snprintf(r.message, sizeof(r.message), "%s",
		lost ? "server closed the connection unexpectedly" : "could not connect");
	return r;
}

static enum evidence insert(struct read *r)
{
	if (r->key->row)
		return r->key->row == r ? EVIDENCE_ROW : EVIDENCE_CONFLICT;
	r->key->row = r;
	return EVIDENCE_ROW;
}

/* All or nothing: the first read that fails fails the statement. */
static struct sink_result commit_all(struct world *w, struct sql_call *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const char *code = c->reads[i]->key->row ? NULL : failure_of(w, c->reads[i]);

		if (code)
			return result_of(code, "one read of the statement failed");
	}
	for (size_t i = 0; i < c->n; i++) {
		bool was_there = c->reads[i]->key->row != NULL;

		c->outcomes[i] = insert(c->reads[i]);
		c->codes[i] = was_there ? "dup" : NULL;
	}
	return (struct sink_result){.class = SQL_OK};
}

/* Each read in a subtransaction of its own; a time-out ends the whole statement even so. */
static struct sink_result commit_each(struct world *w, struct sql_call *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->reads[i]->nature == NATURE_TIMEOUT && !c->reads[i]->key->row)
			return result_of("57014", "canceling statement due to statement timeout");
	for (size_t i = 0; i < c->n; i++) {
		bool was_there = c->reads[i]->key->row != NULL;
		const char *code = was_there ? NULL : failure_of(w, c->reads[i]);

		c->outcomes[i] = code ? EVIDENCE_FAILED : insert(c->reads[i]);
		c->codes[i] = was_there && !code ? "dup" : code;
	}
	return (struct sink_result){.class = SQL_OK};
}

static bool kills_backend(const struct sql_call *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->reads[i]->nature == NATURE_KILLER && !c->reads[i]->key->row)
			return true;
	return false;
}

static void execute(struct world *w, struct sql_call *c)
{
	c->executed = true;
	if (w->now_us < w->postgres.away_until_us) {
		c->result = outage(rng_percent(&w->chaos, 50));
	} else if (w->now_us < w->postgres.no_contract_until_us) {
		c->result = result_of("42883", "function commit_meter_reads does not exist");
	} else if (c->kind == SINK_PROBE) {
		c->result = (struct sink_result){.class = SQL_OK};
	} else if (kills_backend(c)) {
		world_saw(w, SIM_BACKEND_KILLED);
		c->result = outage(true);
	} else if (world_fault(w, SIM_SQL_DEADLOCK)) {
		c->result = result_of("40P01", "deadlock detected");
	} else {
		c->result = c->kind == SINK_COMMIT ? commit_all(w, c) : commit_each(w, c);
		if (world_fault(w, SIM_SQL_ANSWER_LOST))
			c->result = outage(true);
	}
}

void postgres_run(struct world *w)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct sql_call *c = &w->processes[i].call;

		if (c->open && !c->executed && c->execute_us <= w->now_us)
			execute(w, c);
	}
}

void postgres_live_commit(struct world *w, struct read *r)
{
	trace(w, "the live pipeline commits %.*s kwh %s", SLICE_FMT(r->key->text), r->kwh_value);
	r->key->row = r;
}

/* --- the seam --- */

static void reserve(struct sql_call *c, size_t n)
{
	if (n <= c->cap)
		return;
	c->cap = n * 2;
	c->reads = mem_realloc(c->reads, c->cap * sizeof(struct read *));
	c->outcomes = mem_realloc(c->outcomes, c->cap * sizeof(*c->outcomes));
	c->codes = mem_realloc(c->codes, c->cap * sizeof(*c->codes));
}

static void fake_send(struct sink *sink, enum sink_call_kind kind,
	const struct meter_read *const *reads, size_t n)
{
	struct process *p = process_of(sink);
	struct world *w = p->world;
	struct sql_call *c = &p->call;
	struct err err;

	if (seam_enter(p, &err) != 0)
		return;
	reserve(c, n);
	check_sent(p, kind, reads, n, c->reads);
	c->n = w->violation[0] ? 0 : n;
	c->open = true;
	c->executed = false;
	c->kind = kind;
	c->execute_us = w->now_us + rng_between(&w->schedule, 100, 5000);
	if (world_fault(w, SIM_SQL_SLOW))
		c->execute_us += rng_between(&w->chaos, 1000, 5000000);
	c->answer_us = c->execute_us + rng_between(&w->schedule, 0, 2000);
}

static struct outcome outcome_of(struct world *w, struct arena *arena, const struct read *r,
	enum evidence e, const char *code)
{
	struct outcome o = {.kind = OUTCOME_COMMITTED};
	enum event seen = SIM_OUT_COMMITTED;

	if (e == EVIDENCE_FAILED) {
		o.kind = OUTCOME_FAILED;
		snprintf(o.code, sizeof(o.code), "%s", code);
		o.message = slice_str(arena_printf(arena, "row of %.*s", SLICE_FMT(r->key->text)));
		seen = SIM_OUT_FAILED;
	} else if (e == EVIDENCE_CONFLICT) {
		o.kind = OUTCOME_CONFLICT;
		o.committed =
			slice_str(arena_printf(arena, "{\"kwh\":%s}", r->key->row->kwh_value));
		seen = SIM_OUT_CONFLICT;
	} else if (code) {
		o.kind = OUTCOME_DUPLICATE;
		seen = SIM_OUT_DUPLICATE;
	}
	world_saw(w, seen);
	return o;
}

/* A read alone that failed has failed only if Postgres turns out to be well. */
static void note_failure(struct process *p)
{
	struct sql_call *c = &p->call;

	const struct sink_result *r = &c->result;

	if (r->class == SQL_OUTAGE)
		world_saw(p->world, SIM_OUT_OUTAGE);
	if (c->kind == SINK_PROBE || c->n != 1 || r->class == SQL_CONTRACT)
		return;
	/* Its backend died with nothing else in flight: it is charged at once. */
	evidence_set(c->reads[0], p->serial,
		r->class == SQL_OUTAGE && !r->backend_lost ? EVIDENCE_SUSPECT : EVIDENCE_FAILED);
}

static void probe_succeeded(struct process *p)
{
	struct truth *t = &p->world->truth;

	for (size_t i = 0; i < t->n_reads; i++)
		if (evidence_of(t->reads[i], p->serial) == EVIDENCE_SUSPECT)
			evidence_set(t->reads[i], p->serial, EVIDENCE_FAILED);
}

static void take_result(
	struct process *p, struct arena *arena, struct outcome *outcomes, struct sink_result *ret)
{
	struct sql_call *c = &p->call;

	c->open = false;
	*ret = c->result;
	check_answer(p, c);
	trace(p->world, "process %u: %s of %zu reads: %s %s", p->serial,
		c->kind == SINK_PROBE	 ? "probe"
		: c->kind == SINK_COMMIT ? "commit"
					 : "isolated commit",
		c->n, sql_class_name(ret->class), ret->code);
	if (ret->class != SQL_OK) {
		note_failure(p);
		return;
	}
	if (c->kind == SINK_PROBE)
		probe_succeeded(p);
	for (size_t i = 0; i < c->n; i++) {
		outcomes[i] = outcome_of(p->world, arena, c->reads[i], c->outcomes[i], c->codes[i]);
		/* Among others it may have failed for their sake. */
		if (c->outcomes[i] != EVIDENCE_FAILED || c->n == 1 ||
			sqlstate_class(c->codes[i]) == SQL_RECORD)
			evidence_set(c->reads[i], p->serial, c->outcomes[i]);
	}
}

static int fake_result(struct sink *sink, int timeout_ms, struct arena *arena,
	struct outcome *outcomes, bool *ret_done, struct sink_result *ret, struct err *err)
{
	struct process *p = process_of(sink);
	struct world *w = p->world;
	int64_t until = w->now_us + timeout_ms * 1000ll;
	int r = seam_enter(p, err);

	*ret_done = false;
	if (r)
		return r;
	if (!p->call.open) {
		violate(w, "API", "result() without a call");
		return err_set(err, ERR_INTERNAL, "no call");
	}
	if (p->call.answer_us > w->now_us && until > w->now_us) {
		int64_t at = until < p->call.answer_us ? until : p->call.answer_us;

		r = seam_wait(p, at - w->now_us, err);
		if (r)
			return r;
	}
	if (p->call.answer_us > w->now_us || !p->call.executed)
		return 0;
	*ret_done = true;
	take_result(p, arena, outcomes, ret);
	return 0;
}

const struct sink_ops fake_sink_ops = {.send = fake_send, .result = fake_result};

#include "commit.h"

#include <stdlib.h>

#define RETRIES_MAX 3	/* of the same call with SQL_RETRY, or that left all its reads for later */
#define AGAIN_MAX 1000	/* reads left for later are sent again so many at a time: a statement's */
#define LONE_OUTAGES 3	/* a read alone, with a good probe after each: the read is to blame */
#define WAITS_MAX 40	/* for a server that comes back from a crash: 10 s */
#define WAITS_UNSURE 2	/* for one that does not say so */
#define BATCH_OUTAGES 2 /* the batch, likewise: take it apart */
/*
 * Parts of a range that failed as a whole. Each costs a call, each level of them a statement
 * time-out or a backend: 16 meets few of both (log16 of 5000 is 3).
 */
#define PARTS ((size_t)16)

/* SQLSTATE connection_failure, for the read that is charged with one. */
#define CONNECTION_FAILURE "08006"

static void push(struct commit *c, size_t from, size_t n, uint8_t retries)
{
	enum sink_call_kind kind = n == 1 ? SINK_COMMIT : SINK_ISOLATE;

	if (c->depth == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 2 * PARTS;
		c->stack = mem_realloc(c->stack, c->cap * sizeof(*c->stack));
	}
	c->stack[c->depth++] = (struct commit_work){.call = {kind, from, n}, .retries = retries};
}

static struct commit_work *top(struct commit *c)
{
	return &c->stack[c->depth - 1];
}

void commit_init(struct commit *c, struct arena *arena, struct outcome *outcomes, size_t n)
{
	*c = (struct commit){.n = n, .outcomes = outcomes, .arena = arena};
	if (!n)
		return;
	memset(outcomes, 0, n * sizeof(*outcomes));
	push(c, 0, n, 0);
}

bool commit_next(struct commit *c, struct sink_call *ret)
{
	if (!c->depth)
		return false;
	*ret = top(c)->call;
	if (c->probing)
		*ret = (struct sink_call){.kind = SINK_PROBE, .later = c->waits > 0};
	return true;
}

void commit_free(struct commit *c)
{
	free(c->stack);
	c->stack = NULL;
	c->depth = c->cap = 0;
}

/* Classes that speak of the server until a good probe says that it was the call. */
static bool blames_server(enum sql_class class)
{
	return class == SQL_OUTAGE || class == SQL_CONTRACT;
}

static enum commit_verdict verdict_of(enum sql_class class)
{
	return class == SQL_CONTRACT ? COMMIT_CONTRACT : COMMIT_OUTAGE;
}

static void finish(struct commit *c, enum commit_verdict verdict)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->outcomes[i].kind == OUTCOME_INVALID)
			c->outcomes[i] = (struct outcome){.kind = OUTCOME_OUTAGE};
	}
	c->depth = 0;
	c->verdict = verdict;
}

/* It was no read's fault after all: takes the attempts of the row back. */
static void finish_row(struct commit *c, size_t one_more)
{
	c->outcomes[one_more].kind = OUTCOME_INVALID;
	for (size_t i = 0; i < c->row_n; i++)
		c->outcomes[c->row[i]].kind = OUTCOME_INVALID;
	finish(c, verdict_of(c->last.class));
}

/* The read was alone and is to blame for c->last. */
static void charge(struct commit *c, size_t read)
{
	struct outcome *o = &c->outcomes[read];

	*o = (struct outcome){.kind = OUTCOME_FAILED};
	memcpy(o->code, c->last.code[0] ? c->last.code : CONNECTION_FAILURE, sizeof(o->code));
	o->message = arena_dup(c->arena, slice_str(c->last.message));
	if (!blames_server(c->last.class))
		return;
	if (c->row_n == COMMIT_ROW_MAX)
		finish_row(c, read);
	else
		c->row[c->row_n++] = read;
}

/* Lowest keys last, so that they come first: rows are locked in the order of keys. */
static void push_parts(struct commit *c, size_t from, size_t n)
{
	size_t size = (n + PARTS - 1) / PARTS;

	for (size_t part = (n + size - 1) / size; part-- > 0;) {
		size_t begin = part * size, end = begin + size < n ? begin + size : n;

		push(c, from + begin, end - begin, 0);
	}
}

static void take_apart(struct commit *c)
{
	struct sink_call call = top(c)->call;

	c->depth--;
	if (call.n == 1)
		charge(c, call.from);
	else
		push_parts(c, call.from, call.n);
}

static void call_failed(struct commit *c, const struct sink_result *r)
{
	struct commit_work *w = top(c);

	switch (r->class) {
	case SQL_RECORD:
		take_apart(c);
		return;
	case SQL_RETRY:
		if (w->retries++ < RETRIES_MAX)
			return;
		break;
	case SQL_CONTRACT:
		/* An answer that is none is the function's own; a trigger's class 42 may not be. */
		if (!r->code[0]) {
			finish(c, COMMIT_CONTRACT);
			return;
		}
		break;
	case SQL_OUTAGE:
	case SQL_SUSPECT:
	case SQL_OK:
		break;
	}
	c->probing = true;
}

/* The server is there, so it was the call. Whether the same call is to be made again. */
static bool once_more(struct commit *c)
{
	struct commit_work *w = top(c);

	if (!blames_server(c->last.class))
		return false;
	if (w->call.n == 1 && c->last.backend_lost && !w->crashed)
		return false;
	if (w->call.n == 1)
		return ++w->outages < LONE_OUTAGES;
	return w->call.n == c->n && ++w->outages < BATCH_OUTAGES;
}

/*
 * A backend that crashes takes all others with it, and until its log is replayed the postmaster
 * answers with 57P03, cannot_connect_now; at first, before it knows, with a closed connection, or
 * even as if nothing had been. Any other trouble may last.
 */
static bool coming_back(struct commit *c, const struct sink_result *probe)
{
	bool recovers = strcmp(probe->code, "57P03") == 0;

	if (!c->lost || probe->class != SQL_OUTAGE)
		return false;
	top(c)->crashed = true;
	return c->waits++ < (recovers ? WAITS_MAX : WAITS_UNSURE);
}

static void probe_done(struct commit *c, const struct sink_result *r)
{
	if (r->class != SQL_OK && coming_back(c, r))
		return;
	c->probing = false;
	c->waits = 0;
	if (r->class != SQL_OK) {
		c->last = *r;
		finish(c, verdict_of(r->class));
	} else if (!once_more(c)) {
		take_apart(c);
	}
}

/* Left untried, or failed for a reason that passes. */
static bool passing(const struct outcome *o)
{
	return o->kind == OUTCOME_INVALID ||
	       (o->kind == OUTCOME_FAILED && sqlstate_class(o->code) == SQL_RETRY);
}

static size_t count_passing(const struct commit *c, struct sink_call call)
{
	size_t n = 0;

	for (size_t i = call.from; i < call.from + call.n; i++)
		n += passing(&c->outcomes[i]);
	return n;
}

/*
 * What is left of the call: passing trouble is met together again, as long as that helps; what
 * failed among neighbours for another reason than its content is tried alone.
 */
static void push_left(struct commit *c, struct sink_call call, uint8_t retries)
{
	size_t most = AGAIN_MAX, run = 0;

	if (retries > RETRIES_MAX) {
		most = 1;
		retries = 0;
	}
	for (size_t i = call.from + call.n; i-- > call.from;) {
		struct outcome *o = &c->outcomes[i];

		if (passing(o)) {
			*o = (struct outcome){.kind = OUTCOME_INVALID};
			if (++run < most && i > call.from)
				continue;
			push(c, i, run, retries);
			run = 0;
			continue;
		}
		if (run)
			push(c, i + 1, run, retries);
		run = 0;
		if (o->kind == OUTCOME_FAILED && sqlstate_class(o->code) != SQL_RECORD) {
			*o = (struct outcome){.kind = OUTCOME_INVALID};
			push(c, i, 1, 0);
		}
	}
}

static void call_done(struct commit *c, const struct sink_result *r)
{
	struct commit_work w = *top(c);
	bool progress = count_passing(c, w.call) < w.call.n;

	c->depth--;
	for (size_t i = w.call.from; i < w.call.from + w.call.n; i++) {
		if (!passing(&c->outcomes[i]) && c->outcomes[i].kind != OUTCOME_FAILED)
			c->row_n = 0;
	}
	push_left(c, w.call, progress ? 0 : (uint8_t)(w.retries + 1));
	/* Of one connection of several: is the server still there for the rest? */
	if (r->backend_lost && c->depth) {
		c->last = *r;
		c->last.class = SQL_OUTAGE;
		c->probing = true;
	}
}

void commit_result(struct commit *c, const struct sink_result *r)
{
	c->lost |= r->backend_lost;
	if (c->probing) {
		probe_done(c, r);
	} else if (r->class == SQL_OK) {
		call_done(c, r);
	} else {
		c->last = *r;
		call_failed(c, r);
	}
}

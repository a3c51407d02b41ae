/* check_read.c: what a decided transaction makes of one read, and whether that is what it should.
 */
#include "check_txn.h"
#include "settle.h"

#include <stdarg.h>

__attribute__((format(printf, 4, 5))) static void wrong(
	struct txn_check *c, const struct read *r, const char *promise, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	violate(c->w, promise,
		"%.*s kwh %s (%s%s, attempts %u; %u fresh, %u read again; written:%s%s%s%s): %s",
		SLICE_FMT(r->key->text), r->kwh_value ? r->kwh_value : "-",
		r->live	    ? "live"
		: r->parked ? "parked "
			    : "none",
		r->parked ? cause_name(r->cause) : "", r->live ? r->entry.attempts : 0, r->fresh,
		r->rereads, r->wrote_put ? " put" : "", r->wrote_tombstone ? " tombstone" : "",
		r->wrote_parked ? " parked" : "", r->wrote_redriven ? " redriven" : "", text);
}

static bool wrote_nothing(const struct read *r)
{
	return !r->wrote_put && !r->wrote_tombstone && !r->wrote_parked && !r->wrote_redriven;
}

/* --- dead letters taken in --- */

static void taken_unfit(struct txn_check *c, const struct read *r)
{
	if (r->parked) {
		if (!wrote_nothing(r))
			wrong(c, r, "P10", "a re-read of what is parked for its content");
		return;
	}
	if (!r->wrote_parked || r->wrote_put || r->wrote_redriven ||
		r->event_cause != r->unfit_cause)
		wrong(c, r, "P14", "must be parked as %s", cause_name(r->unfit_cause));
}

/* A permanent dead letter parks the read, live before or not. */
static void taken_permanent(struct txn_check *c, const struct read *r)
{
	if (!r->wrote_parked || r->wrote_put || r->event_cause != CAUSE_PERMANENT ||
		r->wrote_tombstone != r->live)
		wrong(c, r, "P7", "must be parked as permanent");
}

static void taken_times(struct txn_check *c, const struct read *r, const struct held *before)
{
	int64_t first = r->taken_first_us, last = r->taken_last_us;

	if (before && before->first_us < first)
		first = before->first_us;
	if (before && before->last_us > last)
		last = before->last_us;
	/* Which of several came first is not known. */
	if (!r->fresh || (!before && r->rereads))
		return;
	/* An arrival is no later than now, but not known to the microsecond. */
	if (r->put.first_us > first || r->put.last_us > last ||
		(before && (r->put.last_us < before->last_us)))
		wrong(c, r, "P3", "first_seen %lld, last_seen %lld, from %lld, %lld",
			(long long)r->put.first_us, (long long)r->put.last_us, (long long)first,
			(long long)last);
}

static void taken_live(struct txn_check *c, const struct read *r)
{
	const struct held *e = &r->entry;

	if (r->fresh_permanent || (r->reread_permanent && r->wrote_parked)) {
		taken_permanent(c, r);
		return;
	}
	if (!r->fresh && wrote_nothing(r))
		return;
	if (!r->wrote_put || r->wrote_parked || r->wrote_tombstone || r->wrote_redriven)
		wrong(c, r, "P1", "must be merged into its entry");
	else if (r->put.attempts != e->attempts + r->fresh)
		wrong(c, r, "P10", "must have %u attempts, has %u", e->attempts + r->fresh,
			r->put.attempts);
	else if (r->put.due_us != e->due_us || r->put.replays != e->replays ||
		 r->put_suffixed != r->suffixed)
		wrong(c, r, "P2", "a merge leaves due_utc, replays and the DLQ key alone");
	else
		taken_times(c, r, e);
}

/* Promise 10: only what was parked for failing gets another round. */
static bool reopens(enum cause cause)
{
	return cause == CAUSE_POISON_CAP || cause == CAUSE_EXPIRED;
}

static void taken_parked(struct txn_check *c, const struct read *r)
{
	if (!reopens(r->cause) || !r->rereads) {
		if (!wrote_nothing(r))
			wrong(c, r, "P10", "must only be seen");
		return;
	}
	if (r->fresh_permanent + r->reread_permanent)
		return; /* depends on which came first */
	if (!r->wrote_redriven || !r->wrote_put || r->wrote_parked || r->wrote_tombstone)
		wrong(c, r, "P10", "must be redriven");
	else if (r->put.attempts < 1 || r->put.attempts > 1 + r->fresh || r->put.replays)
		wrong(c, r, "P10", "another round begins with attempts 1, not %u", r->put.attempts);
	else if (r->put.first_us > r->stub.first_us || r->put.due_us > c->w->now_us)
		wrong(c, r, "P10", "another round keeps first_seen and is due at once");
}

static void taken_new(struct txn_check *c, const struct read *r)
{
	unsigned least = r->fresh ? r->fresh : 1, most = r->fresh + (r->rereads > 0);
	unsigned taken = r->fresh + r->rereads;

	/* Another one may have come before a permanent one that is read again: then that is seen.
	 */
	if (r->fresh_permanent ||
		(r->reread_permanent && (r->wrote_parked || r->reread_permanent == taken))) {
		taken_permanent(c, r);
		return;
	}
	if (!r->wrote_put || r->wrote_parked || r->wrote_tombstone || r->wrote_redriven)
		wrong(c, r, "P1", "must become an entry");
	else if (r->put.attempts < least || r->put.attempts > most || r->put.replays)
		wrong(c, r, "P3", "attempts %u, replays %u", r->put.attempts, r->put.replays);
	else if (r->put.due_us > c->w->now_us)
		wrong(c, r, "P3", "a new entry is due at once");
	else
		taken_times(c, r, NULL);
}

/* --- replays --- */

static bool evidence_is(const struct txn_check *c, const struct read *r, enum evidence e)
{
	return evidence_of(r, c->t->by) == e;
}

static void replay_failed(struct txn_check *c, const struct read *r, const struct held *now)
{
	if (!evidence_is(c, r, EVIDENCE_FAILED))
		wrong(c, r, "P8", "an attempt is charged, but the read has not failed");
	if (now->attempts != r->entry.attempts + 1 || now->replays != r->entry.replays + 1 ||
		now->reason != REASON_POISON)
		wrong(c, r, "P3", "a failed replay makes attempts %u, replays %u", now->attempts,
			now->replays);
	if (now->first_us != r->entry.first_us || now->last_us < r->entry.last_us)
		wrong(c, r, "P3", "a failed replay moves first_seen or takes last_seen back");
}

static void replayed_put(struct txn_check *c, const struct read *r)
{
	replay_failed(c, r, &r->put);
	if (r->put.attempts >= c->w->setup.loop.replay.poison_cap)
		wrong(c, r, "P6", "the cap is reached, it must be parked");
	if (r->put.due_us <= r->entry.due_us || r->put_suffixed != r->suffixed)
		wrong(c, r, "P6", "it must wait longer, under its key");
}

static void replayed_park(struct txn_check *c, const struct read *r)
{
	const struct replay_rules *rules = &c->w->setup.loop.replay;

	switch (r->event_cause) {
	case CAUSE_POISON_CAP:
		replay_failed(c, r, &r->event);
		if (r->event.attempts < rules->poison_cap)
			wrong(c, r, "P6", "parked before the cap");
		break;
	case CAUSE_CONFLICT:
		if (!r->key->row || r->key->row == r)
			wrong(c, r, "P11", "parked as a conflict with nothing");
		break;
	case CAUSE_EXPIRED:
		if (r->entry.last_us > c->w->now_us - rules->expire_after_us ||
			r->entry.due_us > c->w->now_us - rules->expire_after_us)
			wrong(c, r, "P1", "expired too soon");
		break;
	case CAUSE_PERMANENT:
	case CAUSE_MALFORMED:
	case CAUSE_ORIGINAL_GONE:
	case CAUSE_OVERSIZE:
	case CAUSE_OPERATOR:
	default:
		wrong(c, r, "P1", "parked as %s by a replay", cause_name(r->event_cause));
	}
}

static void check_replayed(struct txn_check *c, const struct read *r)
{
	if (!r->live || r->wrote_redriven)
		wrong(c, r, "P1", "written without a dead letter or an entry");
	else if (r->wrote_put && (r->wrote_tombstone || r->wrote_parked))
		wrong(c, r, "P1", "queued again and gone at once");
	else if (r->wrote_put)
		replayed_put(c, r);
	else if (r->wrote_parked && !r->wrote_tombstone)
		wrong(c, r, "P1", "both live and parked");
	else if (r->wrote_parked)
		replayed_park(c, r);
	else if (r->wrote_tombstone && r->key->row != r)
		wrong(c, r, "P5", "tombstone without its row");
}

/* --- what it becomes --- */

static void count_parked(struct txn_check *c, const struct read *r)
{
	static const enum event seen[CAUSE_COUNT] = {[CAUSE_POISON_CAP] = SIM_CAUSE_POISON_CAP,
		[CAUSE_PERMANENT] = SIM_CAUSE_PERMANENT,
		[CAUSE_MALFORMED] = SIM_CAUSE_MALFORMED,
		[CAUSE_CONFLICT] = SIM_CAUSE_CONFLICT,
		[CAUSE_EXPIRED] = SIM_CAUSE_EXPIRED,
		[CAUSE_ORIGINAL_GONE] = SIM_CAUSE_ORIGINAL_GONE,
		[CAUSE_OVERSIZE] = SIM_CAUSE_OVERSIZE};

	c->t->counts.parked++;
	c->t->counts.parked_by_cause[r->event_cause]++;
	world_saw(c->w, seen[r->event_cause]);
}

static void count(struct txn_check *c, const struct read *r, bool taken)
{
	if (r->wrote_parked)
		count_parked(c, r);
	else if (r->wrote_tombstone)
		c->t->counts.left++;
	if (r->wrote_redriven)
		c->t->counts.redriven++;
	if (!taken && r->wrote_put)
		c->t->counts.requeued++;
	if (taken && r->wrote_put && !r->live && !r->wrote_redriven)
		c->t->counts.queued++;
	if (taken && r->wrote_parked) {
		c->t->counts.parked_at_intake++;
		c->t->counts.parked_with += r->fresh + r->rereads - 1;
	}
	if (r->wrote_tombstone && !r->wrote_parked)
		world_saw(c->w, SIM_LEFT);
	if (!taken && r->wrote_put)
		world_saw(c->w, SIM_REQUEUED);
	if (!taken)
		return;
	if (r->wrote_redriven)
		world_saw(c->w, SIM_TAKEN_REDRIVEN);
	else if (r->wrote_put)
		world_saw(c->w, r->live ? SIM_TAKEN_MERGED : SIM_TAKEN_NEW);
	else if (wrote_nothing(r))
		world_saw(c->w, SIM_TAKEN_SEEN);
}

static void apply(struct txn_check *c, struct read *r)
{
	if (r->wrote_redriven)
		r->parked = false;
	if (r->wrote_tombstone)
		r->live = false;
	if (r->wrote_put) {
		r->live = true;
		r->entry = r->put;
		r->suffixed = r->put_suffixed;
		if (r->suffixed)
			world_saw(c->w, SIM_SUFFIXED);
	}
	if (r->wrote_parked) {
		r->parked = true;
		r->stub = r->event;
		r->cause = r->event_cause;
	}
	if (r->live && r->parked)
		wrong(c, r, "P1", "both live and parked");
	for (size_t i = 0; i < r->key->n_contents; i++) {
		const struct read *other = r->key->contents[i];

		if (other != r && other->live && r->live && !other->suffixed && !r->suffixed &&
			!other->wrote_tombstone)
			wrong(c, r, "P2", "two contents live under one DLQ key");
	}
}

void check_read(struct txn_check *c, struct read *r)
{
	bool taken = r->fresh + r->rereads > 0;

	if (!taken)
		check_replayed(c, r);
	else if (r->unfit)
		taken_unfit(c, r);
	else if (r->live)
		taken_live(c, r);
	else if (r->parked)
		taken_parked(c, r);
	else
		taken_new(c, r);
	trace(c->w, "  %.*s kwh %s:%s%s%s%s attempts %u", SLICE_FMT(r->key->text),
		r->kwh_value ? r->kwh_value : "-", r->wrote_put ? " put" : "",
		r->wrote_tombstone ? " tombstone" : "", r->wrote_parked ? " parked" : "",
		r->wrote_redriven ? " redriven" : "", r->wrote_put ? r->put.attempts : 0);
	count(c, r, taken);
	apply(c, r);
}

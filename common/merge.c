#include "merge.h"

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct ticket first_stay(const struct decoded *d, struct key128 key)
{
	const struct record *r = &d->record;

	return (struct ticket){.key = key,
		.content = r->content,
		.first_us = r->first_seen_us,
		.last_us = r->last_seen_us,
		.due_us = r->due_us,
		.attempts = r->attempts,
		.state = TICKET_LIVE,
		.reason = (unsigned)r->reason & 3u};
}

/* Permanent wins, then the newer, then (a tie) the graver: the order of arrival decides nothing. */
static bool reason_wins(const struct record *r, const struct ticket *live)
{
	if (r->reason == REASON_PERMANENT_4XX || live->reason == REASON_PERMANENT_4XX)
		return r->reason == REASON_PERMANENT_4XX;
	if (r->last_seen_us != live->last_us)
		return r->last_seen_us > live->last_us;
	return (unsigned)r->reason > live->reason;
}

/* Order of arrival does not matter: commutative in counters, times and reason. */
static struct ticket bump(const struct ticket *live, const struct record *r)
{
	struct ticket t = *live;

	if (t.attempts < UINT32_MAX)
		t.attempts++;
	if (reason_wins(r, live))
		t.reason = (unsigned)r->reason & 3u;
	t.first_us = min64(t.first_us, r->first_seen_us);
	t.last_us = max64(t.last_us, r->last_seen_us);
	return t;
}

static struct ticket next_round(const struct ticket *parked, const struct decoded *d)
{
	struct ticket t = first_stay(d, parked->key);

	t.first_us = min64(t.first_us, parked->first_us);
	t.cause = parked->cause; /* for the event */
	return t;
}

static bool parks_at_once(const struct decoded *d, unsigned reason)
{
	return d->unfit || reason == REASON_PERMANENT_4XX;
}

static struct merge park(struct ticket t, const struct decoded *d, bool was_live)
{
	t.state = TICKET_PARKED;
	t.cause = (uint8_t)(d->unfit ? d->cause : CAUSE_PERMANENT);
	return (struct merge){.action = MERGE_PARK, .ticket = t, .was_live = was_live};
}

static struct merge merge_live(const struct ticket *live, const struct decoded *d, bool reread)
{
	struct ticket t;

	if (reread)
		return (struct merge){.action = MERGE_SEEN, .ticket = *live};
	t = bump(live, &d->record);
	if (parks_at_once(d, t.reason))
		return park(t, d, true);
	return (struct merge){.action = MERGE_BUMP, .ticket = t};
}

static struct merge merge_parked(const struct ticket *parked, const struct decoded *d, bool reread)
{
	if (reread && parked->state == TICKET_PARKED && cause_reopens(parked->cause) &&
		!parks_at_once(d, d->record.reason))
		return (struct merge){.action = MERGE_REDRIVE, .ticket = next_round(parked, d)};
	return (struct merge){.action = MERGE_SEEN, .ticket = *parked};
}

struct merge merge_dead_letter(
	const struct ticket *existing, const struct decoded *d, struct key128 key, bool reread)
{
	struct ticket t;

	if (existing && existing->state == TICKET_LIVE)
		return merge_live(existing, d, reread);
	if (existing)
		return merge_parked(existing, d, reread);
	t = first_stay(d, key);
	if (parks_at_once(d, t.reason))
		return park(t, d, false);
	return (struct merge){.action = MERGE_NEW, .ticket = t};
}

struct merge merge_combine(const struct merge *first, const struct merge *second)
{
	struct merge both = *second;

	if (second->action == MERGE_SEEN)
		return *first;
	if (first->action == MERGE_SEEN)
		return *second;
	if (second->action == MERGE_BUMP)
		both.action = first->action;
	else
		both.was_live = first->action == MERGE_BUMP || first->was_live;
	return both;
}

void ticket_to_record(const struct ticket *t, struct record *r)
{
	r->attempts = t->attempts;
	r->replays = t->replays;
	r->first_seen_us = t->first_us;
	r->last_seen_us = t->last_us;
	r->due_us = t->due_us;
	r->reason = t->reason;
}

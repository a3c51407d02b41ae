/*
 * fake_transact.c: one transaction as the client lives through it, with everything that can go
 * wrong between its steps. What is decided is the coordinator's; what is answered may differ.
 */
#include "world.h"

#define CLEAN_US (2 * 1000000ll)

static struct process *process_of(struct log *log)
{
	return (struct process *)((char *)log - offsetof(struct process, log));
}

/* --- the producer --- */

static struct producer *find_producer(struct world *w, const struct process *p)
{
	/* With a stable transactional.id the identity's; else a random one, new for every process.
	 */
	if (w->setup.stable_transactional_id)
		return w->producers[p->identity];
	if (w->n_producers == w->producers_cap)
		w->producers = world_grow(
			w->producers, w->n_producers, &w->producers_cap, sizeof(*w->producers));
	w->producers[w->n_producers] = arena_alloc(&w->arena, sizeof(struct producer));
	*w->producers[w->n_producers] = (struct producer){0};
	return w->producers[w->n_producers++];
}

static bool fenced_by_another(const struct process *p)
{
	return p->epoch && p->producer->holder != p->serial;
}

int fake_renew_producer(struct log *log, struct err *err)
{
	struct process *p = process_of(log);
	int r = fake_log_reach(p, err);

	if (r)
		return r;
	if (!p->producer)
		p->producer = find_producer(p->world, p);
	if (fenced_by_another(p) && rng_percent(&p->world->schedule, 80))
		return err_set(err, ERR_FENCED, "another process has this transactional.id");
	while (!coordinator_init(p->world, p)) { /* CONCURRENT_TRANSACTIONS */
		r = seam_wait(p, rng_between(&p->world->schedule, 1000, 200000), err);
		if (r)
			return r;
		if (rng_percent(&p->world->schedule, 5))
			return err_set(err, ERR_UNREACHABLE, "init_transactions timed out");
	}
	trace(p->world, "process %u has a new producer, epoch %d", p->serial, p->epoch);
	p->has_producer = true;
	return 0;
}

/* --- the transaction --- */

struct attempt {
	struct process *p;
	struct txn *txn; /* NULL: not begun at the coordinator */
	int64_t begin_us;
	struct log_end *end;
	struct err *err;
};

/* The end of a transaction that failed on the way; it stays as it is at the broker. */
static int failed(struct attempt *a, const char *why)
{
	struct world *w = a->p->world;

	trace(w, "process %u: transaction failed: %s", a->p->serial, why);
	if (a->p->producer && fenced_by_another(a->p) && rng_percent(&w->schedule, 50))
		return err_set(a->err, ERR_FENCED, "%s", why);
	return rng_percent(&w->schedule, 50) ? err_set(a->err, ERR_UNREACHABLE, "%s", why) : 0;
}

static bool still_open(struct attempt *a)
{
	struct world *w = a->p->world;

	if (a->p->producer->epoch != a->p->epoch) {
		world_saw(w, SIM_PRODUCER_FENCED);
		return false;
	}
	return !a->txn || a->txn->state == TXN_OPEN;
}

/* The first request of a transaction waits for the one before (CONCURRENT_TRANSACTIONS). */
static int begin(struct attempt *a, bool *ret_ok)
{
	struct process *p = a->p;

	*ret_ok = false;
	while (p->producer->txn && !p->producer->txn->complete &&
		p->producer->txn->state != TXN_OPEN) {
		int r = seam_wait(p, rng_between(&p->world->schedule, 1000, 50000), a->err);

		if (r)
			return r;
	}
	if (!still_open(a))
		return 0;
	if (p->producer->txn && p->producer->txn->state == TXN_OPEN) {
		violate(p->world, "API", "process %u begins with a transaction open", p->serial);
		return 0;
	}
	a->txn = txn_begin(p->world, p);
	*ret_ok = a->txn != NULL;
	return 0;
}

static int produce(struct attempt *a, struct log_record *v, size_t n, bool *ret_ok)
{
	struct world *w = a->p->world;
	size_t chunk = 1 + (size_t)rng_below(&w->schedule, n ? n : 1);

	*ret_ok = false;
	for (size_t i = 0; i < n; i++) {
		struct entry e = {.key = v[i].key, .value = v[i].value};

		if (i % chunk == 0) {
			int r = seam_enter(a->p, a->err);

			if (r)
				return r;
		}
		if (!still_open(a) || world_fault(w, SIM_PRODUCE_FAILED))
			return 0;
		txn_append(w, a->txn, world_part(w, v[i].topic, v[i].partition), &e);
		v[i].offset = a->txn->records[a->txn->n_records - 1].offset;
	}
	*ret_ok = true;
	return 0;
}

/* TxnOffsetCommit: the coordinator checks member and generation, not who owns what. */
static int send_offsets(struct attempt *a, const struct log_position *v, size_t n, bool *ret_ok)
{
	struct world *w = a->p->world;
	int r = seam_enter(a->p, a->err);
	bool known = false;

	*ret_ok = false;
	if (r)
		return r;
	if (n == 0) { /* a silent no-op in librdkafka: it fences nothing */
		*ret_ok = true;
		return 0;
	}
	for (size_t i = 0; i < w->group.n; i++)
		known = known || (w->group.members[i].process_serial == a->p->serial &&
					 w->group.members[i].id == a->p->meta_member);
	if (!known || w->group.generation != a->p->meta_generation) {
		world_saw(w, SIM_ILLEGAL_GENERATION);
		return 0;
	}
	if (!still_open(a) || world_fault(w, SIM_OFFSETS_FAILED))
		return 0;
	memcpy(a->txn->offsets, v, n * sizeof(*v));
	a->txn->n_offsets = n;
	*ret_ok = true;
	return 0;
}

/* Ends whose outcome the client does not learn. */
static bool end_unknown(struct attempt *a)
{
	struct world *w = a->p->world;

	if (world_fault(w, SIM_END_LOST))
		return true;
	if (world_fault(w, SIM_END_LATE)) {
		coordinator_late_end(w, a->p, rng_between(&w->chaos, 1000, 8000000));
		return true;
	}
	if (world_fault(w, SIM_END_UNANSWERED)) {
		txn_decide(w, a->txn, true);
		return true;
	}
	return false;
}

static int end(struct attempt *a, struct log_record *v, size_t n)
{
	struct world *w = a->p->world;
	bool clean = true;
	int r = seam_enter(a->p, a->err);

	if (r)
		return r;
	if (!still_open(a))
		return failed(a, "fenced before EndTxn");
	if (end_unknown(a))
		return failed(a, "EndTxn got no answer");
	if (world_fault(w, SIM_END_SLOW)) { /* the client retries; both requests are on the way */
		clean = false;
		coordinator_late_end(w, a->p, rng_between(&w->chaos, 1000, 20000000));
		r = seam_wait(a->p, rng_between(&w->chaos, CLEAN_US, CLEAN_US * 2), a->err);
		if (r)
			return r;
	}
	if (a->txn->state == TXN_OPEN && a->p->producer->epoch == a->p->epoch)
		txn_decide(w, a->txn, true);
	if (a->txn->state != TXN_COMMITTED)
		return failed(a, "fenced in EndTxn");
	r = seam_enter(a->p, a->err);
	if (r)
		return r;
	if (n && world_fault(w, SIM_NO_OFFSET)) {
		v[rng_below(&w->chaos, n)].offset = -1;
		return failed(a, "a delivery report had no offset");
	}
	*a->end = (struct log_end){.landed = true,
		.clean = clean && w->now_us - a->begin_us < CLEAN_US &&
			 rng_percent(&w->schedule, 97)};
	return 0;
}

static void count_landed(struct process *p, const struct txn_counts *c)
{
	p->landed.intake += c->intake;
	p->landed.left += c->left;
	p->landed.requeued += c->requeued;
	p->landed.parked += c->parked;
	p->landed.redriven += c->redriven;
	p->landed.handed_over += c->handed_over;
	p->landed.queued += c->queued;
	p->landed.parked_at_intake += c->parked_at_intake;
	p->landed.taken += c->taken;
	p->landed.parked_with += c->parked_with;
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		p->landed.parked_by_cause[i] += c->parked_by_cause[i];
}

static int attempt(struct attempt *a, struct log_record *v, size_t n,
	const struct log_position *offsets, size_t n_offsets)
{
	bool ok;
	int r = begin(a, &ok);

	if (r || !ok)
		return r ? r : failed(a, "fenced at begin");
	if (world_fault(a->p->world, SIM_STALL))
		r = seam_wait(a->p,
			TXN_TIMEOUT_US + rng_between(&a->p->world->chaos, -5000000, 5000000),
			a->err);
	if (!r)
		r = produce(a, v, n, &ok);
	if (r || !ok)
		return r ? r : failed(a, "produce failed");
	r = send_offsets(a, offsets, n_offsets, &ok);
	if (r || !ok)
		return r ? r : failed(a, "offsets refused");
	return end(a, v, n);
}

int fake_transact(struct log *log, struct log_record *v, size_t n,
	const struct log_position *offsets, size_t n_offsets, struct log_end *ret, struct err *err)
{
	struct process *p = process_of(log);
	struct attempt a = {.p = p, .begin_us = p->world->now_us, .end = ret, .err = err};
	int r = seam_enter(p, err);

	*ret = (struct log_end){0};
	for (size_t i = 0; i < n; i++)
		v[i].offset = -1;
	if (r)
		return r;
	check_begins(p);
	p->transactions++;
	/* After an error the client is in a fatal state until it is made anew. */
	r = p->has_producer ? attempt(&a, v, n, offsets, n_offsets) : failed(&a, "no producer");
	if (ret->landed) {
		count_landed(p, &a.txn->counts);
	} else {
		p->has_producer = false;
		check_dropped(p);
	}
	return r;
}

/* fake_read.c: fetching and reading ranges, read_committed. */
#include "fake_read.h"

#include <stdlib.h>

static struct process *process_of(struct log *log)
{
	return (struct process *)((char *)log - offsetof(struct process, log));
}

/* Messages are copies in memory of their own, so that a use after release is seen by ASan. */
static struct log_message make_message(struct arena *arena, const struct part *part, int64_t offset)
{
	const struct entry *e = &part->v[offset];
	uint8_t *owner = mem_zalloc(e->key.n + e->value.n + 1);
	struct log_message m = {.topic = part->topic,
		.partition = part->number,
		.offset = offset,
		.timestamp_ms = e->timestamp_ms,
		.key = e->key,
		.value = e->value,
		.owner = owner};

	if (e->key.n)
		memcpy(owner, e->key.p, e->key.n);
	if (e->value.n)
		memcpy(owner + e->key.n, e->value.p, e->value.n);
	if (e->key.p)
		m.key.p = owner;
	if (e->value.p)
		m.value.p = owner + e->key.n;
	if (e->letter && part->topic >= TOPIC_SOURCE) {
		size_t bytes = e->letter->n_headers * sizeof(struct header);

		m.n_headers = e->letter->n_headers;
		m.headers =
			bytes ? memcpy(arena_alloc(arena, bytes), e->letter->headers, bytes) : NULL;
	}
	return m;
}

void fake_release(struct log *log, struct log_message *v, size_t n)
{
	(void)log;
	for (size_t i = 0; i < n; i++) {
		free(v[i].owner);
		v[i].owner = NULL;
	}
}

/* --- fetching --- */

int fake_assign(struct log *log, const struct log_position *v, size_t n, struct err *err)
{
	struct process *p = process_of(log);
	int r = seam_enter(p, err);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		if (v[i].offset < 0)
			violate(p->world, "API", "topic %d partition %d assigned without an offset",
				v[i].topic, v[i].partition);
	if (n)
		memcpy(p->fetching, v, n * sizeof(*v));
	p->n_fetching = n;
	return 0;
}

static int check_ranges(struct process *p, struct err *err)
{
	for (size_t i = 0; i < p->n_fetching; i++) {
		const struct log_position *pos = &p->fetching[i];
		const struct part *part = world_part(p->world, pos->topic, pos->partition);

		if (pos->offset < part->low || pos->offset > (int64_t)part->n)
			return err_set(err, ERR_RANGE, "topic %d partition %d offset %lld",
				pos->topic, pos->partition, (long long)pos->offset);
	}
	return 0;
}

static void note_fetched(const struct process *p, const struct part *part, struct letter *l)
{
	if (l && part->topic >= TOPIC_SOURCE)
		l->fetched_in[l->fetches++ % ARRAY_LEN(l->fetched_in)] = p->fetch_session;
}

/* Fetches from one partition; a position behind nothing but markers moves on. */
static size_t fetch_part(struct process *p, struct log_position *pos, struct arena *arena,
	struct log_message *v, size_t max)
{
	const struct part *part = world_part(p->world, pos->topic, pos->partition);
	int64_t from = pos->offset, at = from, found;
	size_t n = 0;

	while (n < max && (found = part_next(part, &at, INT64_MAX)) >= 0) {
		note_fetched(p, part, part->v[found].letter);
		v[n++] = make_message(arena, part, found);
		pos->offset = ++at;
	}
	if (n < max && at > pos->offset) {
		pos->offset = at;
		v[n++] = (struct log_message){.topic = pos->topic,
			.partition = pos->partition,
			.offset = at,
			.timestamp_ms = -1,
			.position_only = true};
	}
	return n;
}

/* Partitions come by turns, and in one fetch more than once. */
static size_t fetch_some(struct process *p, struct arena *arena, struct log_message *v, size_t max)
{
	struct world *w = p->world;
	size_t n = 0, start = (size_t)rng_below(&w->schedule, p->n_fetching ? p->n_fetching : 1);

	if (w->now_us < w->kafka_away_until_us)
		return 0;
	for (size_t i = 0; i < 3 * p->n_fetching && n < max; i++) {
		size_t some = 1 + (size_t)rng_below(&w->schedule, 5);

		if (some > max - n)
			some = max - n;
		n += fetch_part(p, &p->fetching[(start + i) % p->n_fetching], arena, v + n, some);
	}
	return n;
}

int fake_fetch(struct log *log, struct arena *arena, struct log_message *v, size_t max,
	int timeout_ms, size_t *ret_n, struct err *err)
{
	struct process *p = process_of(log);
	int r = seam_enter(p, err);

	*ret_n = 0;
	if (!r)
		r = check_ranges(p, err);
	if (r)
		return r;
	*ret_n = fetch_some(p, arena, v, max);
	if (*ret_n || timeout_ms <= 0)
		return 0;
	/* Once all else is quiet, longer: waiting in short steps shows nothing new. */
	r = seam_wait(p, timeout_ms * 1000ll + (p->world->quiet ? 50000 : 0), err);
	if (!r)
		r = check_ranges(p, err);
	if (!r)
		*ret_n = fetch_some(p, arena, v, max);
	return r;
}

/* --- reading ranges --- */

int fake_read_start(struct log *log, const struct log_range *v, size_t n, struct err *err)
{
	struct process *p = process_of(log);
	int r = fake_log_reach(p, err);

	if (r)
		return r;
	p->n_ranges = n;
	for (size_t i = 0; i < n; i++) {
		if (v[i].from < 0 ||
			v[i].to > (int64_t)world_part(p->world, v[i].topic, v[i].partition)->n)
			violate(p->world, "API", "range %lld..%lld of topic %d partition %d",
				(long long)v[i].from, (long long)v[i].to, v[i].topic,
				v[i].partition);
		p->ranges[i] = v[i];
		p->range_pos[i] = v[i].from;
	}
	return 0;
}

static size_t read_some(
	struct process *p, struct arena *arena, struct log_message *v, size_t max, bool *ret_done)
{
	size_t n = 0;

	*ret_done = true;
	for (size_t i = 0; i < p->n_ranges; i++) {
		const struct part *part =
			world_part(p->world, p->ranges[i].topic, p->ranges[i].partition);
		int64_t *at = &p->range_pos[i], found;

		while (n < max && (found = part_next(part, at, p->ranges[i].to)) >= 0) {
			v[n++] = make_message(arena, part, found);
			++*at;
		}
		*ret_done = *ret_done && *at >= p->ranges[i].to;
	}
	return n;
}

int fake_read_next(struct log *log, struct arena *arena, struct log_message *v, size_t max,
	int timeout_ms, size_t *ret_n, bool *ret_done, struct err *err)
{
	struct process *p = process_of(log);
	size_t some = 1 + (size_t)rng_below(&p->world->schedule, 16);
	int r = fake_log_reach(p, err);

	*ret_n = 0;
	*ret_done = false;
	if (r)
		return r;
	*ret_n = read_some(p, arena, v, some < max ? some : max, ret_done);
	if (*ret_n || *ret_done || timeout_ms <= 0)
		return 0;
	world_saw(p->world, SIM_LSO_WAITED);
	return seam_wait(p, timeout_ms * 1000ll, err);
}

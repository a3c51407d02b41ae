/* fake_log.c: the seam to Kafka as one process sees it: its membership, and looking at logs. */
#include "fake_read.h"

static struct process *process_of(struct log *log)
{
	return (struct process *)((char *)log - offsetof(struct process, log));
}

int fake_log_reach(struct process *p, struct err *err)
{
	struct world *w = p->world;
	int r = seam_enter(p, err);

	if (r)
		return r;
	if (w->now_us < w->kafka_away_until_us) {
		/* The client has tried until its own time-out. */
		r = seam_wait(p, rng_between(&w->schedule, 100000, 1000000), err);
		return r ? r : err_set(err, ERR_UNREACHABLE, "Kafka is away");
	}
	if (world_fault(w, SIM_CALL_LOST))
		return err_set(err, ERR_UNREACHABLE, "the request timed out");
	return 0;
}

/* --- the group --- */

/* What the group has to tell; a member that the coordinator forgot has lost its partitions. */
static enum group_event member_event(struct process *p)
{
	struct world *w = p->world;
	struct member *m = group_member(w, p);

	if (!m) {
		if (!p->has_assignment) {
			group_join(w, p);
			return GROUP_NONE;
		}
	} else if (w->group.preparing) {
		if (!p->has_assignment) {
			m->rejoined = true;
			return GROUP_NONE;
		}
	} else if (m->assigned) {
		if (!p->has_assignment) {
			m->assigned = false;
			p->has_assignment = true;
			p->view_generation = w->group.generation;
			return GROUP_ASSIGNED;
		}
	} else if (p->view_generation == w->group.generation || !p->has_assignment) {
		return GROUP_NONE;
	}
	if (p->revoking)
		return GROUP_NONE;
	p->revoking = true;
	return GROUP_REVOKED;
}

/* A second process has this one's group.instance.id: fatal (FENCED_INSTANCE_ID). */
static bool instance_fenced(const struct process *p)
{
	const struct group *g = &p->world->group;

	for (size_t i = 0; p->world->setup.static_members && p->joined && i < g->n; i++)
		if (g->members[i].identity == p->identity && g->members[i].id > p->member_id)
			return true;
	return false;
}

static int fake_group_poll(struct log *log, int timeout_ms, enum group_event *ret, struct err *err)
{
	struct process *p = process_of(log);
	struct world *w = p->world;
	int64_t until = w->now_us + timeout_ms * 1000ll;
	int r = seam_enter(p, err);

	*ret = GROUP_NONE;
	while (!r) {
		if (instance_fenced(p))
			return err_set(err, ERR_FENCED, "another process has this instance id");
		if (w->now_us >= w->kafka_away_until_us)
			*ret = member_event(p);
		if (*ret != GROUP_NONE || w->now_us >= until)
			break;
		r = seam_wait(p, rng_between(&w->schedule, 1000, until - w->now_us + 1000), err);
	}
	if (!r && *ret != GROUP_NONE)
		trace(w, "process %u: %s", p->serial,
			*ret == GROUP_ASSIGNED ? "assigned" : "revoked");
	return r;
}

static void list_assignment(struct process *p)
{
	struct world *w = p->world;

	p->n_assignment = 0;
	for (int t = TOPIC_INBOX; t < TOPICS_MAX; t++)
		for (int32_t k = 0; t != TOPIC_PARKED && k < world_partitions(w, t); k++)
			if (w->group.owner[t][k] == p->serial)
				p->assignment[p->n_assignment++] = (struct log_position){t, k, -1};
}

static int fake_assignment(
	struct log *log, const struct log_position **ret, size_t *ret_n, struct err *err)
{
	struct process *p = process_of(log);
	int r = seam_enter(p, err);

	if (r)
		return r;
	/* The client's view: as of the event that it served last, however old that is. */
	if (p->view_generation == p->world->group.generation && group_member(p->world, p))
		list_assignment(p);
	p->meta_generation = p->view_generation;
	p->meta_member = p->member_id;
	*ret = p->assignment;
	*ret_n = p->n_assignment;
	return 0;
}

static int fake_release_assignment(struct log *log, struct err *err)
{
	struct process *p = process_of(log);
	int r = seam_enter(p, err);
	struct member *m;

	if (r)
		return r;
	p->has_assignment = p->revoking = false;
	p->n_assignment = p->n_fetching = 0;
	m = group_member(p->world, p);
	if (m && p->world->group.preparing)
		m->rejoined = true;
	return 0;
}

static void fake_leave(struct log *log)
{
	struct process *p = process_of(log);
	struct err err;

	p->n_fetching = 0;
	if (seam_enter(p, &err) == 0)
		group_leave(p->world, p);
}

/* --- looking --- */

static int fake_committed(struct log *log, struct log_position *v, size_t n, struct err *err)
{
	struct process *p = process_of(log);
	int r = fake_log_reach(p, err);

	check_dropped(p);
	for (size_t i = 0; !r && i < n; i++) {
		if (v[i].topic == TOPIC_DLQ || v[i].topic == TOPIC_PARKED)
			violate(p->world, "API", "committed() asked for topic %d", v[i].topic);
		if (offsets_pending(p->world, v[i].topic, v[i].partition)) {
			world_saw(p->world, SIM_OFFSETS_PENDING);
			return err_set(err, ERR_UNREACHABLE, "UNSTABLE_OFFSET_COMMIT");
		}
	}
	for (size_t i = 0; !r && i < n; i++)
		v[i].offset = p->world->group.committed[v[i].topic][v[i].partition];
	return r;
}

static int fake_watermarks(struct log *log, int topic, int32_t partition, int64_t *ret_low,
	int64_t *ret_high, struct err *err)
{
	struct process *p = process_of(log);
	int r = fake_log_reach(p, err);
	struct part *part = world_part(p->world, topic, partition);

	if (r)
		return r;
	*ret_low = part->low;
	*ret_high = (int64_t)part->n;
	p->fetch_session = ++p->world->fetch_sessions; /* it restores */
	if (topic == TOPIC_DLQ || topic == TOPIC_PARKED)
		check_restore_begins(p, topic, partition);
	return 0;
}

static void fake_trim(struct log *log, int topic, int32_t partition, int64_t offset)
{
	struct process *p = process_of(log);
	struct part *part = world_part(p->world, topic, partition);
	struct err err;

	if (fake_log_reach(p, &err) != 0)
		return;
	check_trim(p, topic, partition, offset);
	if (offset <= part->low || offset > (int64_t)part->n)
		return;
	part->low = offset;
	world_saw(p->world, SIM_INBOX_TRIMMED);
}

/* --- time --- */

static struct process *process_of_clock(struct clock *clock)
{
	return (struct process *)((char *)clock - offsetof(struct process, clock));
}

static int64_t fake_now(struct clock *clock)
{
	return process_of_clock(clock)->world->now_us;
}

static uint64_t fake_random(struct clock *clock)
{
	return rng_next(&process_of_clock(clock)->world->schedule);
}

const struct clock_ops fake_clock_ops = {
	.now_us = fake_now, .steady_us = fake_now, .random = fake_random};

const struct log_ops fake_log_ops = {
	.group_poll = fake_group_poll,
	.assignment = fake_assignment,
	.release_assignment = fake_release_assignment,
	.assign = fake_assign,
	.fetch = fake_fetch,
	.release = fake_release,
	.leave = fake_leave,
	.committed = fake_committed,
	.watermarks = fake_watermarks,
	.read_start = fake_read_start,
	.read_next = fake_read_next,
	.original = fake_original,
	.fetch_originals = fake_fetch_originals,
	.renew_producer = fake_renew_producer,
	.transact = fake_transact,
	.trim = fake_trim,
};

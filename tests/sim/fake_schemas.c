/*
 * fake_schemas.c: the seam to the schema registry. Schemas 1 to SCHEMA_IDS - 1 are there and JSON,
 * so that nothing but waiting for them is special; SCHEMA_MISSING is not there.
 */
#include "world.h"

static struct process *process_of(struct schemas *schemas)
{
	return (struct process *)((char *)schemas - offsetof(struct process, schemas));
}

static void ask(struct process *p, struct asked_schema *s)
{
	struct world *w = p->world;

	s->state = SCHEMA_ASKED;
	s->answer_us = w->now_us + rng_between(&w->schedule, 100, w->quiet ? 5000 : 200000);
}

/* Caches are bounded, and that there is none is forgotten after a while. */
static bool forgotten(struct process *p)
{
	return !p->world->quiet && rng_percent(&p->world->chaos, 4);
}

static struct schema_answer fake_find(struct schemas *schemas, const struct schema_ref *ref)
{
	struct process *p = process_of(schemas);
	struct asked_schema *s = &p->asked[ref->number % SCHEMA_IDS];

	if (ref->kind != SCHEMA_BY_ID || ref->number >= SCHEMA_IDS)
		violate(p->world, "API", "a schema was asked for that nobody has written");
	if (s->state == SCHEMA_NOT_ASKED || (s->state == SCHEMA_ANSWERED && forgotten(p)))
		ask(p, s);
	if (s->state == SCHEMA_ASKED) {
		world_saw(p->world, SIM_SCHEMA_AWAY);
		return (struct schema_answer){.state = SCHEMA_AWAY};
	}
	return (struct schema_answer){
		.state = ref->number == SCHEMA_MISSING ? SCHEMA_UNKNOWN : SCHEMA_IS_JSON};
}

/* Answers what has come due. */
static bool answer(struct process *p)
{
	struct world *w = p->world;
	bool waits = false, news = false;

	for (size_t i = 0; i < SCHEMA_IDS; i++) {
		struct asked_schema *s = &p->asked[i];

		if (s->state != SCHEMA_ASKED)
			continue;
		if (w->now_us < w->schemas_away_until_us) {
			waits = true;
		} else if (s->answer_us <= w->now_us) {
			s->state = SCHEMA_ANSWERED;
			news = true;
		}
	}
	if (!waits)
		p->schemas_away_us = 0;
	else if (!p->schemas_away_us)
		p->schemas_away_us = w->now_us;
	return news;
}

static int fake_step(struct schemas *schemas, int timeout_ms, bool *ret_news, struct err *err)
{
	struct process *p = process_of(schemas);
	int r = seam_enter(p, err);

	*ret_news = !r && answer(p);
	if (r || *ret_news || !timeout_ms)
		return r;
	r = seam_wait(p, timeout_ms * 1000ll, err);
	*ret_news = !r && answer(p);
	return r;
}

static int64_t fake_away_since_us(struct schemas *schemas)
{
	return process_of(schemas)->schemas_away_us;
}

const struct schemas_ops fake_schemas_ops = {
	.find = fake_find, .step = fake_step, .away_since_us = fake_away_since_us};

/* fake_originals.c: the records that pointers point to: those of the letters that are pointers. */
#include "world.h"

static struct process *process_of(struct log *log)
{
	return (struct process *)((char *)log - offsetof(struct process, log));
}

static struct letter *letter_at(struct process *p, const struct origin *place)
{
	struct truth *t = &p->world->truth;

	if (slice_eq(place->topic, SLICE_LIT(ORIGINALS_TOPIC)) && !place->partition &&
		place->offset < (int64_t)t->n_letters && t->letters[place->offset]->is_pointer)
		return t->letters[place->offset];
	violate(p->world, "API", "a record was asked for to which nothing points");
	return t->letters[0];
}

enum log_original fake_original(
	struct log *log, const struct origin *place, struct log_message *ret, const char **ret_why)
{
	struct process *p = process_of(log);
	struct world *w = p->world;
	const struct letter *l = letter_at(p, place);
	struct asked_schema *s = &p->originals[place->offset % ORIGINALS_MAX];

	if (s->state == SCHEMA_NOT_ASKED ||
		(s->state == SCHEMA_ANSWERED && !w->quiet && rng_percent(&w->chaos, 4))) {
		s->state = SCHEMA_ASKED;
		s->answer_us = w->now_us + rng_between(&w->schedule, 100, w->quiet ? 5000 : 200000);
	}
	if (s->state == SCHEMA_ASKED) {
		world_saw(w, SIM_ORIGINAL_AWAY);
		return ORIGINAL_AWAY;
	}
	*ret = (struct log_message){.key = l->record_key, .value = l->payload};
	*ret_why = "it is gone";
	return l->gone ? ORIGINAL_GONE : ORIGINAL_FOUND;
}

int fake_fetch_originals(struct log *log, int timeout_ms, bool *ret_news, struct err *err)
{
	struct process *p = process_of(log);
	struct world *w = p->world;
	bool asked = false;
	int r = 0;

	*ret_news = false;
	for (size_t i = 0; i < ORIGINALS_MAX; i++)
		asked = asked || p->originals[i].state == SCHEMA_ASKED;
	if (asked)
		r = timeout_ms ? seam_wait(p, timeout_ms * 1000ll, err) : seam_enter(p, err);
	for (size_t i = 0; asked && !r && i < ORIGINALS_MAX; i++)
		if (p->originals[i].state == SCHEMA_ASKED &&
			p->originals[i].answer_us <= w->now_us &&
			w->now_us >= w->kafka_away_until_us) {
			p->originals[i].state = SCHEMA_ANSWERED;
			*ret_news = true;
		}
	return r;
}

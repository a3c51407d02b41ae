/* show: all there is of some reads: record, headers, payload, history, trace, and the row. */
#include "command.h"
#include "history.h"
#include "instant.h"
#include "key.h"
#include "output.h"
#include "pg_blocking.h"
#include "read_diff.h"
#include "record_json.h"
#include "row.h"
#include "show.h"

#include <stdlib.h>

static void showing_close(struct showing *s)
{
	selection_close(&s->selection);
	history_free(&s->history);
	PQfinish(s->pg);
}

/* --- which keys --- */

static int add_key(struct showing *s, struct slice key, struct err *err)
{
	bool new;

	dictionary_add(&s->history.keys, key, &new);
	if (s->history.keys.n > HISTORY_KEYS_MAX)
		return err_set(err, ERR_CONFIG,
			"more than %d reads are chosen: choose fewer, by --meter and --day, or use "
			"`meter-dlq list`",
			HISTORY_KEYS_MAX);
	return 0;
}

static int add_chosen(void *arg, const struct chosen *c, struct err *err)
{
	struct showing *s = arg;
	const struct record *r = &c->event.entry;
	struct slice key = slice_str(s->config->show_key);

	/* What is malformed is found by the key that its dead letter came with, too. */
	if (!slice_is_null(key) && !slice_eq(key, r->idempotency_key) &&
		!slice_eq(key, r->record_key))
		return 0;
	return add_key(s, r->idempotency_key, err);
}

static int find_keys(struct showing *s, struct err *err)
{
	const struct config *c = s->config;
	int r = 0;

	s->history.keys.seed = s->selection.in.rules.seed;
	if (c->show_key && !s->selection.filter.any)
		r = add_key(s, slice_str(c->show_key), err);
	if (!r && !c->parked && !c->chosen_cause)
		r = selection_walk(&s->selection, false, add_chosen, s, err);
	return r ? r : selection_walk(&s->selection, true, add_chosen, s, err);
}

/* --- one of them --- */

/* Postgres away or a right missing: what Kafka has is shown all the same. */
static void find_row(struct showing *s, struct shown *x)
{
	struct err err = {0};
	struct slice attributes = x->has_record && !x->chosen.view.unreadable
					  ? x->chosen.view.read.attributes
					  : SLICE_NULL;
	int r = s->pg_failed;

	if (!r && !s->table)
		r = config_committed_table(&s->selection.in.arena, s->config, &s->table, &err);
	if (!r && !s->pg)
		r = pg_connect(s->config->sink_conninfo, &s->pg, &err);
	if (!r)
		r = row_find(s->pg, s->table, &x->arena, x->key, attributes, &x->row, &err);
	if (r && !s->pg_failed) {
		s->pg_failed = r;
		s->pg_err = err;
	}
	x->row_unknown = r != 0;
	if (!r && x->row.found && x->has_record && !x->chosen.view.unreadable)
		x->n_differences = read_diff(&x->chosen.view.read, &x->row.read, x->differences);
}

struct advice shown_advice(struct shown *x)
{
	const struct parked *event = &x->chosen.event;
	const struct advice_subject subject = {.parked = x->chosen.parked,
		.cause = event->cause,
		.class = event->entry.error.class,
		.code = event->entry.error.code};

	return advice_for(&x->arena, &subject);
}

static void show_one(struct showing *s, struct slice key, const struct history_read *read)
{
	struct shown x = {.key = key, .read = read};

	if (read)
		x.has_record = selection_decode(&s->selection, &x.arena, read->event_is_last,
			slice_of(read->record.p, read->record.n), &x.chosen);
	find_row(s, &x);
	if (read || x.row.found) {
		(s->config->json ? show_json : show_text)(s, &x);
		s->n_shown++;
	}
	arena_free(&x.arena);
}

/* A key that is in none of the topics may still have a row. */
static bool has_read(const struct history *h, size_t key)
{
	for (size_t i = 0; i < h->n_reads; i++)
		if (h->reads[i].key == key)
			return true;
	return false;
}

#define SHOWN_UNASKED 100

static void show_all(struct showing *s)
{
	const struct history *h = &s->history;
	size_t most = s->config->limit ? (size_t)s->config->limit : SHOWN_UNASKED;

	for (size_t i = 0; i < h->n_reads && i < most; i++)
		show_one(s, h->keys.texts[h->reads[i].key], &h->reads[i]);
	if (s->config->show_key && h->keys.n && !has_read(h, 0))
		show_one(s, h->keys.texts[0], NULL);
	if (h->n_reads > most)
		say("%zu of %zu reads; more with --limit", most, h->n_reads);
	if (h->events_cut)
		say("%llu records are left out of the histories: choose fewer reads",
			(unsigned long long)h->events_cut);
}

static int status(struct showing *s, struct err *err)
{
	if (s->pg_failed)
		return err_set(err, s->pg_failed, "%s; so it is not known whether there is a row",
			s->pg_err.text);
	if (s->n_shown)
		return STATUS_OK;
	say("nothing was found; `meter-dlq list` and `list --parked` show which keys there are");
	return STATUS_SOME_FAILED;
}

static int check_flags(const struct config *config, struct err *err)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct filter filter;
	int r = filter_parse(&a, config, clock_now_us(clock_system()), &filter, err);

	if (!r && !config->show_key && !filter.any)
		r = err_set(err, ERR_CONFIG,
			"show what? Give a KEY, or filters such as --meter M --day D");
	return r;
}

int cmd_show(const struct config *config, struct err *err)
{
	CLEANUP(showing_close) struct showing s = {.config = config};
	int r = check_flags(config, err);

	if (!r)
		r = selection_open(&s.selection, config, err);
	if (!r)
		r = find_keys(&s, err);
	if (!r)
		r = history_load(&s.history, &s.selection, err);
	if (r)
		return r;
	show_all(&s);
	return status(&s, err);
}

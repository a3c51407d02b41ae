/* check_end.c: the whole: conservation at any time, and that everything is done at the end. */
#include "world.h"

static bool held_somewhere(const struct letter *l)
{
	const struct read *r = l->read;

	return l->lost || l->waiting || r->live || r->parked || r->key->row == r;
}

void check_conservation(struct world *w)
{
	for (size_t i = 0; i < w->truth.n_letters; i++) {
		const struct letter *l = w->truth.letters[i];

		if (l->offset < w->offsets[l->topic][l->partition] && !held_somewhere(l))
			violate(w, "P1/P12", "%d/%d@%lld (%.*s kwh %s) is passed and nowhere held",
				l->topic, l->partition, (long long)l->offset,
				SLICE_FMT(l->read->key->text), l->kwh ? l->kwh : "-");
	}
}

/* Or gone: retention has passed it, and nobody can take it any more. */
static bool taken_in(const struct world *w, const struct letter *l)
{
	return !l->waiting && (l->offset < w->offsets[l->topic][l->partition] ||
				      l->offset < w->parts[l->topic][l->partition].low);
}

bool check_drained(const struct world *w)
{
	for (size_t i = 0; i < w->truth.n_letters; i++)
		if (!taken_in(w, w->truth.letters[i]))
			return false;
	for (size_t i = 0; i < w->truth.n_reads; i++)
		if (w->truth.reads[i]->live)
			return false;
	return true;
}

int64_t check_next_due(const struct world *w)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < w->truth.n_letters; i++)
		if (!taken_in(w, w->truth.letters[i]))
			return INT64_MAX;
	for (size_t i = 0; i < w->truth.n_reads; i++) {
		const struct read *r = w->truth.reads[i];

		if (r->live && r->entry.due_us < due)
			due = r->entry.due_us;
	}
	return due;
}

/* The faults have stopped long ago: whatever is not done now never will be. */
void check_end(struct world *w)
{
	check_conservation(w);
	for (size_t i = 0; i < w->truth.n_letters; i++) {
		const struct letter *l = w->truth.letters[i];

		if (!taken_in(w, l))
			violate(w, "P14", "%d/%d@%lld was never taken in: the worker stalls",
				l->topic, l->partition, (long long)l->offset);
	}
	for (size_t i = 0; i < w->truth.n_reads; i++) {
		const struct read *r = w->truth.reads[i];

		if (r->live)
			violate(w, "P6",
				"%.*s kwh %s is still live: the worker stalls, or retries "
				"for ever",
				SLICE_FMT(r->key->text), r->kwh_value);
	}
}

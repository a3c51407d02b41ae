/*
 * list: live entries or parked reads, as the topics have them, those first that failed last longest
 * ago. Which ones, is known after one walk; a second one, or several where they do not all fit into
 * memory, fetches and prints them in order.
 */
#include "command.h"
#include "framing.h"
#include "hash.h"
#include "output.h"
#include "record_json.h"
#include "selection.h"
#include "visible.h"
#include "when.h"

#include "instant.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK_BYTES ((size_t)64 * 1024 * 1024)
#define ERROR_COLUMNS 12
#define KEY_BYTES_MAX 65536

struct match {
	int64_t last_us, offset;
	int32_t partition;
	uint32_t bytes;
};

struct listing {
	struct selection selection;
	bool parked;
	const struct config *config;
	struct match *matches;
	size_t n, cap;
	int attempts_width, why_width, error_width; /* of the columns */
	struct match *chunk;			    /* in order of partition and offset */
	struct slice *values;			    /* of the chunk's matches, in that order */
	size_t n_chunk;
	struct arena chunk_arena, row_arena;
	struct csv csv;
};

static void listing_close(struct listing *l)
{
	selection_close(&l->selection);
	free(l->matches);
	free(l->chunk);
	free(l->values);
	arena_free(&l->chunk_arena);
	arena_free(&l->row_arena);
	buf_free(&l->csv.out);
}

/* --- one row --- */

static struct slice code_of(const struct record *r)
{
	return slice_is_null(r->error.code) ? r->error.class : r->error.code;
}

static const char *why_of(const struct chosen *c)
{
	return c->parked ? cause_name(c->event.cause) : reason_name(c->event.entry.reason);
}

static void print_text(struct listing *l, const struct chosen *c)
{
	const struct record *r = &c->event.entry;
	int64_t now_us = l->selection.now_us;
	const char *key = visible(&l->row_arena, r->idempotency_key, KEY_BYTES_MAX);
	char last[WHEN_AGE_BYTES], when[WHEN_AGE_BYTES];
	int column;

	when_age(now_us - r->last_seen_us, last);
	when_age(c->parked ? now_us - c->event.at_us : r->due_us - now_us, when);
	column = printf("%4s %*s %*u %-*s %-*s ", last, c->parked ? 6 : 4,
		!c->parked && r->due_us <= now_us ? "now" : when, l->attempts_width, r->attempts,
		l->why_width, why_of(c), l->error_width,
		visible(&l->row_arena, code_of(r), ERROR_COLUMNS));
	output_last_column(column, key);
}

static void print_heading(const struct listing *l)
{
	printf("%4s %*s %*s %-*s %-*s %s\n", "LAST", l->parked ? 6 : 4,
		l->parked ? "PARKED" : "DUE", l->attempts_width, "N", l->why_width,
		l->parked ? "CAUSE" : "REASON", l->error_width, "ERROR", "KEY");
}

static void add_instant(struct csv *csv, int64_t us)
{
	char text[INSTANT_TEXT_BYTES];

	instant_format(us, text);
	csv_add_text(csv, text);
}

static const char *const csv_columns[] = {"idempotency_key", "state", "cause", "reason", "attempts",
	"replays", "first_seen_utc", "last_seen_utc", "due_utc", "parked_utc", "meter_id",
	"read_at", "sequence", "kwh", "reading_type", "quality", "unreadable", "error_class",
	"error_code", "error_message", "source_topic", "source_partition", "source_offset"};

static void print_csv_heading(struct csv *csv)
{
	for (size_t i = 0; i < ARRAY_LEN(csv_columns); i++)
		csv_add_text(csv, csv_columns[i]);
	csv_end_row(csv);
	output_csv(csv);
}

static void add_read(struct csv *csv, const struct read_view *view)
{
	const struct meter_read *read = &view->read;

	csv_add(csv, view->meter);
	if (view->has_time)
		add_instant(csv, view->read_at_us);
	else
		csv_add(csv, SLICE_NULL);
	if (view->unreadable) {
		for (int i = 0; i < 4; i++) /* sequence to quality */
			csv_add(csv, SLICE_NULL);
		csv_add_text(csv, view->unreadable);
		return;
	}
	csv_add_number(csv, read->sequence);
	csv_add(csv, read->kwh);
	csv_add(csv, read->reading_type);
	csv_add(csv, read->quality);
	csv_add(csv, SLICE_NULL);
}

static void print_csv(struct csv *csv, const struct chosen *c)
{
	const struct record *r = &c->event.entry;

	csv_add(csv, r->idempotency_key);
	csv_add_text(csv, c->parked ? "parked" : "live");
	csv_add_text(csv, c->parked ? cause_name(c->event.cause) : NULL);
	csv_add_text(csv, reason_name(r->reason));
	csv_add_number(csv, r->attempts);
	csv_add_number(csv, r->replays);
	add_instant(csv, r->first_seen_us);
	add_instant(csv, r->last_seen_us);
	if (c->parked)
		csv_add(csv, SLICE_NULL);
	else
		add_instant(csv, r->due_us);
	if (c->parked)
		add_instant(csv, c->event.at_us);
	else
		csv_add(csv, SLICE_NULL);
	add_read(csv, &c->view);
	csv_add(csv, r->error.class);
	csv_add(csv, r->error.code);
	csv_add(csv, r->error.message);
	csv_add(csv, r->dead_letter.topic);
	csv_add_number(csv, r->dead_letter.partition);
	csv_add_number(csv, r->dead_letter.offset);
	csv_end_row(csv);
	output_csv(csv);
}

/* With the read where people cannot read the payload by themselves: where it is by a schema. */
static void print_json(const struct chosen *c)
{
	json_t *o = c->parked ? parked_json(&c->event) : record_json(&c->event.entry);
	const struct record *r = &c->event.entry;
	struct framing framing;

	if (!framing_detect(r->headers, r->payload, &framing) && framing.kind == FRAMING_SCHEMA)
		json_object_set_new(o, "read",
			c->view.unreadable ? json_null() : meter_read_json(&c->view.read));
	output_json(o);
}

static void print_chosen(struct listing *l, const struct chosen *c)
{
	if (l->config->json)
		print_json(c);
	else if (l->config->csv)
		print_csv(&l->csv, c);
	else
		print_text(l, c);
}

/* --- which ones --- */

static void widen(int *width, size_t n)
{
	if ((int)n > *width)
		*width = (int)n;
}

static int add_match(void *arg, const struct chosen *c, struct err *err)
{
	struct listing *l = arg;
	struct arena *a = &l->row_arena;

	(void)err;
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 1024;
		l->matches = mem_realloc(l->matches, l->cap * sizeof(*l->matches));
	}
	l->matches[l->n++] = (struct match){
		c->event.entry.last_seen_us, c->offset, c->partition, (uint32_t)c->bytes};
	arena_reset(a);
	widen(&l->attempts_width, strlen(arena_printf(a, "%u", c->event.entry.attempts)));
	widen(&l->why_width, strlen(why_of(c)));
	widen(&l->error_width, visible_width(visible(a, code_of(&c->event.entry), ERROR_COLUMNS)));
	return 0;
}

static int by_place(const void *x, const void *y)
{
	const struct match *a = x, *b = y;

	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int by_last_seen(const void *x, const void *y)
{
	const struct match *a = x, *b = y;

	if (a->last_us != b->last_us)
		return a->last_us < b->last_us ? -1 : 1;
	return by_place(x, y);
}

/* --- printing them --- */

static int keep(void *arg, const struct log_message *m, struct err *err)
{
	struct listing *l = arg;
	const struct match wanted = {.partition = m->partition, .offset = m->offset};
	const struct match *found =
		bsearch(&wanted, l->chunk, l->n_chunk, sizeof(*l->chunk), by_place);

	(void)err;
	if (found)
		l->values[found - l->chunk] = arena_dup(&l->chunk_arena, m->value);
	return 0;
}

/* One range of each partition that has some of the chunk. */
static size_t chunk_ranges(const struct listing *l, struct log_range *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_chunk; i++) {
		const struct match *m = &l->chunk[i];

		if (i == 0 || m->partition != l->chunk[i - 1].partition)
			ret[n++] = (struct log_range){
				l->parked ? TOPIC_PARKED : TOPIC_DLQ, m->partition, m->offset, 0};
		ret[n - 1].to = m->offset + 1;
	}
	return n;
}

static int print_chunk(struct listing *l, const struct match *v, size_t n, struct err *err)
{
	struct selection *s = &l->selection;
	AUTO_FREE struct log_range *ranges =
		mem_zalloc((size_t)s->in.rules.partitions * sizeof(*ranges));
	int r;

	arena_reset(&l->chunk_arena);
	l->n_chunk = n;
	l->chunk = mem_realloc(l->chunk, n * sizeof(*l->chunk));
	l->values = mem_realloc(l->values, n * sizeof(*l->values));
	memcpy(l->chunk, v, n * sizeof(*v));
	memset(l->values, 0, n * sizeof(*l->values));
	qsort(l->chunk, n, sizeof(*l->chunk), by_place);
	r = topic_reader_read(&s->in.reader, ranges, chunk_ranges(l, ranges), keep, l, err);
	for (size_t i = 0; i < n && !r; i++) {
		const struct match *at = bsearch(&v[i], l->chunk, n, sizeof(*l->chunk), by_place);
		struct chosen c;

		arena_reset(&l->row_arena);
		if (selection_decode(s, &l->row_arena, l->parked, l->values[at - l->chunk], &c))
			print_chosen(l, &c);
	}
	return r;
}

static int print_all(struct listing *l, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0, next; i < n && !r; i = next) {
		size_t bytes = 0;

		for (next = i; next < n && (next == i || bytes < CHUNK_BYTES); next++)
			bytes += l->matches[next].bytes;
		r = print_chunk(l, &l->matches[i], next - i, err);
	}
	return r;
}

static void say_count(const struct listing *l, size_t shown)
{
	const char *what = l->parked   ? l->n == 1 ? "parked read" : "parked reads"
			   : l->n == 1 ? "live entry"
				       : "live entries";

	if (shown < l->n)
		say("%zu of %zu %s", shown, l->n, what);
	else
		say("%zu %s", l->n, what);
}

static int check_flags(const struct config *config, struct err *err)
{
	if (config->json && config->csv)
		return err_set(err, ERR_CONFIG, "--json and --csv: give one of them");
	if (config->chosen_cause && !config->parked)
		return err_set(err, ERR_CONFIG,
			"--cause is of parked reads: add --parked; live entries have a --reason");
	return 0;
}

int cmd_list(const struct config *config, struct err *err)
{
	CLEANUP(listing_close)
	struct listing l = {.config = config,
		.parked = config->parked,
		.attempts_width = 1,
		.why_width = 6,
		.error_width = 5};
	size_t shown;
	int r;

	if ((r = check_flags(config, err)) || (r = selection_open(&l.selection, config, err)) ||
		(r = selection_walk(&l.selection, l.parked, add_match, &l, err)))
		return r;
	if (l.n)
		qsort(l.matches, l.n, sizeof(*l.matches), by_last_seen);
	shown = config->limit && (size_t)config->limit < l.n ? (size_t)config->limit : l.n;
	if (config->csv)
		print_csv_heading(&l.csv);
	else if (!config->json)
		print_heading(&l);
	r = print_all(&l, shown, err);
	if (!r)
		say_count(&l, shown);
	return r;
}

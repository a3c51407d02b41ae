/* stats: how many reads there are, of how many meters, since when and how much energy: live and
 * parked apart, and by error, cause, meter, day, reading type or source. */
#include "command.h"
#include "instant.h"
#include "output.h"
#include "selection.h"
#include "tally.h"
#include "visible.h"
#include "when.h"

#include <stdio.h>

#define GROUP_BYTES_MAX 4096
#define NOTE_COLUMNS 9
#define DATE_BYTES 10 /* 2026-07-17 */
/* Reading types become columns of CSV. */
#define CSV_TYPES_MAX 200

/* The group of a read; null: the one without a name. In the arena, or borrowed. */
typedef struct slice group_fn(struct arena *a, const struct chosen *c);

static struct slice by_error(struct arena *a, const struct chosen *c)
{
	const struct record_error *e = &c->event.entry.error;
	const char *cause = c->parked ? cause_name(c->event.cause) : "";
	/* What is unfit has its cause for a class. */
	struct slice class = slice_eq(e->class, slice_str(cause)) ? SLICE_NULL : e->class;
	CLEANUP(buf_free) struct buf name = {0};

	buf_add_str(&name, cause);
	if (!slice_is_null(class) || !slice_is_null(e->code)) {
		buf_add_str(&name, name.n ? " " : "");
		buf_add(&name, class.p, class.n);
		buf_add_str(&name, class.n && e->code.n ? " " : "");
		buf_add(&name, e->code.p, e->code.n);
	}
	return name.n ? arena_dup(a, slice_of(name.p, name.n)) : SLICE_NULL;
}

static struct slice by_cause(struct arena *a, const struct chosen *c)
{
	(void)a;
	return c->parked ? slice_str(cause_name(c->event.cause)) : SLICE_NULL;
}

static struct slice by_meter(struct arena *a, const struct chosen *c)
{
	(void)a;
	return c->view.meter;
}

static struct slice by_day(struct arena *a, const struct chosen *c)
{
	char *text = arena_alloc(a, INSTANT_TEXT_BYTES);

	if (!c->view.has_time)
		return SLICE_NULL;
	instant_format(c->view.read_at_us, text);
	return slice_of(text, DATE_BYTES);
}

static struct slice by_type(struct arena *a, const struct chosen *c)
{
	(void)a;
	return c->view.unreadable ? SLICE_NULL : c->view.read.reading_type;
}

static struct slice by_source(struct arena *a, const struct chosen *c)
{
	(void)a;
	return c->event.entry.dead_letter.topic;
}

static struct slice by_nothing(struct arena *a, const struct chosen *c)
{
	(void)a;
	(void)c;
	return SLICE_NULL;
}

static const struct grouping {
	const char *name, *heading;
	group_fn *group;
	bool advice; /* its groups have one cause and next step each */
	bool cause_only;
} groupings[] = {
	{"error", "ERROR", by_error, true, false},
	{"cause", "CAUSE", by_cause, true, true},
	{"meter", "METER", by_meter, false, false},
	{"day", "DAY", by_day, false, false},
	{"reading-type", "READING TYPE", by_type, false, false},
	{"source", "SOURCE", by_source, false, false},
};
static const struct grouping no_grouping = {NULL, "", by_nothing, false, false};

struct counting {
	const struct config *config;
	const struct grouping *by;
	struct selection selection;
	struct tally tally;
	struct arena arena;
	struct csv csv;
};

static void counting_close(struct counting *c)
{
	selection_close(&c->selection);
	tally_free(&c->tally);
	arena_free(&c->arena);
	buf_free(&c->csv.out);
}

static int count(void *arg, const struct chosen *c, struct err *err)
{
	struct counting *counting = arg;
	const struct record_error *e = &c->event.entry.error;
	bool errors = !counting->by->cause_only;

	(void)err;
	arena_reset(&counting->arena);
	const struct tally_read read = {
		.parked = c->parked,
		.group = counting->by->group(&counting->arena, c),
		.subject = {.parked = c->parked,
			.cause = c->event.cause,
			.class = errors ? e->class : SLICE_NULL,
			.code = errors ? e->code : SLICE_NULL},
		.meter = c->view.meter,
		.reading_type = c->view.unreadable ? SLICE_NULL : c->view.read.reading_type,
		.kwh = c->view.unreadable ? SLICE_NULL : c->view.read.kwh,
		.first_seen_us = c->event.entry.first_seen_us,
	};
	tally_add(&counting->tally, &read);
	return 0;
}

static const char *state_of(const struct tally_row *row)
{
	return row->parked ? "parked" : "live";
}

static const char *kwh_of(struct arena *a, const struct tally_sum *sum)
{
	CLEANUP(buf_free) struct buf text = {0};

	decimal_sum_text(&sum->kwh, &text);
	return arena_cstr(a, slice_of(text.p, text.n));
}

/* --- text --- */

static void print_heading(const struct counting *c)
{
	printf("%-6s %9s %9s %7s %s\n", "STATE", "READS", "METERS", "OLDEST", c->by->heading);
}

static void print_notes(const struct counting *c, struct arena *a, const struct tally_row *row)
{
	struct advice advice = advice_for(a, &row->subject);

	if (row->unknown_meters)
		printf("%*s%llu of %llu without a known meter\n", NOTE_COLUMNS, "",
			(unsigned long long)row->unknown_meters, (unsigned long long)row->reads);
	if (row->unreadable)
		printf("%*s%llu of %llu without a readable amount\n", NOTE_COLUMNS, "",
			(unsigned long long)row->unreadable, (unsigned long long)row->reads);
	if (!c->by->advice || (c->by->cause_only && !row->parked))
		return;
	output_wrapped("         why:  ", advice.why, NOTE_COLUMNS + 6);
	output_wrapped("         next: ", advice.next, NOTE_COLUMNS + 6);
}

static void print_text(struct counting *c, struct arena *a, const struct tally_row *row)
{
	char age[WHEN_AGE_BYTES] = "-";
	const struct tally_sum **sums;
	int column;
	size_t n;

	if (row->reads)
		when_age(c->selection.now_us - row->oldest_us, age);
	column = printf("%-6s %9llu %9llu %7s ", state_of(row), (unsigned long long)row->reads,
		(unsigned long long)row->meters, age);
	output_last_column(column, c->by->name ? visible(a, row->group, GROUP_BYTES_MAX) : "");
	sums = tally_sums(&c->tally, row, a, &n);
	for (size_t i = 0; i < n; i++)
		printf("%25s kWh %s\n", kwh_of(a, sums[i]),
			slice_is_null(sums[i]->reading_type)
				? "of no reading type"
				: visible(a, sums[i]->reading_type, GROUP_BYTES_MAX));
	print_notes(c, a, row);
}

/* --- JSON --- */

static json_t *text(struct slice s)
{
	return slice_is_null(s) ? json_null() : json_stringn((const char *)s.p, s.n);
}

static json_t *energy(struct counting *c, struct arena *a, const struct tally_row *row)
{
	json_t *list = json_array();
	size_t n;
	const struct tally_sum **sums = tally_sums(&c->tally, row, a, &n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			list, json_pack("{s:o, s:s}", "reading_type", text(sums[i]->reading_type),
				      "kwh", kwh_of(a, sums[i])));
	return list;
}

static void print_json(struct counting *c, struct arena *a, const struct tally_row *row)
{
	struct advice advice = advice_for(a, &row->subject);
	json_t *o = json_pack("{s:s}", "state", state_of(row));

	if (c->by->name) {
		json_object_set_new(o, "by", json_string(c->by->name));
		json_object_set_new(o, "group", text(row->group));
	}
	json_object_set_new(o, "reads", json_integer((json_int_t)row->reads));
	json_object_set_new(o, "meters", json_integer((json_int_t)row->meters));
	json_object_set_new(o, "unknown_meters", json_integer((json_int_t)row->unknown_meters));
	json_object_set_new(o, "unreadable", json_integer((json_int_t)row->unreadable));
	json_object_set_new(
		o, "oldest_utc", row->reads ? output_instant(row->oldest_us) : json_null());
	json_object_set_new(o, "energy", energy(c, a, row));
	if (c->by->advice && (row->parked || !c->by->cause_only)) {
		json_object_set_new(o, "why", json_string(advice.why));
		json_object_set_new(o, "next", json_string(advice.next));
	}
	output_json(o);
}

/* --- CSV: a column of kWh for each reading type, as a row of it would count its reads twice --- */

static int collect_types(const struct counting *c, struct dictionary *types, struct err *err)
{
	for (size_t i = 0; i < c->tally.types.n; i++) {
		struct slice type = c->tally.sums[i].reading_type;
		bool new;

		dictionary_add(types, slice_is_null(type) ? SLICE_LIT("") : type, &new);
	}
	if (types->n > CSV_TYPES_MAX)
		return err_set(err, ERR_CONFIG,
			"%zu reading types are too many columns: use --json, or filters such as "
			"--meter and --source",
			types->n);
	return 0;
}

static void print_csv_heading(struct counting *c, const struct dictionary *types)
{
	static const char *const columns[] = {
		"reads", "meters", "unknown_meters", "unreadable", "oldest_utc"};

	csv_add_text(&c->csv, "state");
	if (c->by->name)
		csv_add_text(&c->csv, c->by->name);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		csv_add_text(&c->csv, columns[i]);
	if (c->by->advice) {
		csv_add_text(&c->csv, "why");
		csv_add_text(&c->csv, "next");
	}
	for (size_t i = 0; i < types->n; i++)
		csv_add_text(
			&c->csv, arena_printf(&c->arena, "kwh%s%.*s", types->texts[i].n ? " " : "",
					 (int)types->texts[i].n, (const char *)types->texts[i].p));
	csv_end_row(&c->csv);
	output_csv(&c->csv);
}

static void add_energy(struct counting *c, struct arena *a, const struct tally_row *row,
	const struct dictionary *types)
{
	size_t n;
	const struct tally_sum **sums = tally_sums(&c->tally, row, a, &n);

	for (size_t i = 0; i < types->n; i++) {
		const char *kwh = NULL;

		for (size_t k = 0; k < n; k++)
			if (slice_eq(slice_is_null(sums[k]->reading_type) ? SLICE_LIT("")
									  : sums[k]->reading_type,
				    types->texts[i]))
				kwh = kwh_of(a, sums[k]);
		csv_add_text(&c->csv, kwh);
	}
}

static void print_csv(struct counting *c, struct arena *a, const struct tally_row *row,
	const struct dictionary *types)
{
	struct advice advice = advice_for(a, &row->subject);
	bool advised = row->parked || !c->by->cause_only;
	char oldest[INSTANT_TEXT_BYTES] = "";

	if (row->reads)
		instant_format(row->oldest_us, oldest);
	csv_add_text(&c->csv, state_of(row));
	if (c->by->name)
		csv_add(&c->csv, row->group);
	csv_add_number(&c->csv, (int64_t)row->reads);
	csv_add_number(&c->csv, (int64_t)row->meters);
	csv_add_number(&c->csv, (int64_t)row->unknown_meters);
	csv_add_number(&c->csv, (int64_t)row->unreadable);
	csv_add_text(&c->csv, oldest);
	if (c->by->advice) {
		csv_add_text(&c->csv, advised ? advice.why : NULL);
		csv_add_text(&c->csv, advised ? advice.next : NULL);
	}
	add_energy(c, a, row, types);
	csv_end_row(&c->csv);
	output_csv(&c->csv);
}

/* --- all --- */

static int print_rows(struct counting *c, const struct dictionary *types)
{
	CLEANUP(arena_free) struct arena rows_arena = {0}, row_arena = {0};
	size_t n;
	const struct tally_row **rows = tally_rows(&c->tally, &rows_arena, &n);
	size_t most = c->config->limit ? (size_t)c->config->limit : n, left = 0;
	size_t shown[2] = {0}; /* live, parked */

	for (size_t i = 0; i < n; i++) {
		if (shown[rows[i]->parked] == most) {
			left++;
			continue;
		}
		shown[rows[i]->parked]++;
		arena_reset(&row_arena);
		if (c->config->json)
			print_json(c, &row_arena, rows[i]);
		else if (c->config->csv)
			print_csv(c, &row_arena, rows[i], types);
		else
			print_text(c, &row_arena, rows[i]);
	}
	if (left)
		say("%zu more groups are not shown, see --limit", left);
	return STATUS_OK;
}

static int print(struct counting *c, struct err *err)
{
	CLEANUP(dictionary_free) struct dictionary types = {.seed = c->tally.types.seed};
	int r;

	if (c->config->csv) {
		if ((r = collect_types(c, &types, err)))
			return r;
		print_csv_heading(c, &types);
	} else if (!c->config->json) {
		print_heading(c);
	}
	return print_rows(c, &types);
}

static int find_grouping(const char *name, const struct grouping **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf names = {0};

	*ret = &no_grouping;
	if (!name)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(groupings); i++) {
		*ret = &groupings[i];
		if (strcmp(name, groupings[i].name) == 0)
			return 0;
		buf_printf(&names, "%s%s", i ? ", " : "", groupings[i].name);
	}
	return err_set(err, ERR_CONFIG, "--by: \"%.60s\" is none of %.*s", name, (int)names.n,
		(const char *)names.p);
}

/* Live and parked; --parked is parked alone. Without --by both have a row even if it is empty. */
static int count_all(struct counting *c, struct err *err)
{
	bool live = !c->config->parked && !c->config->chosen_cause;
	int r = 0;

	c->tally.groups.seed = c->tally.meters.seed = c->tally.types.seed =
		c->selection.in.rules.seed;
	if (!c->by->name && live)
		tally_expect(&c->tally, false);
	if (!c->by->name)
		tally_expect(&c->tally, true);
	if (live)
		r = selection_walk(&c->selection, false, count, c, err);
	return r ? r : selection_walk(&c->selection, true, count, c, err);
}

int cmd_stats(const struct config *config, struct err *err)
{
	CLEANUP(counting_close) struct counting c = {.config = config};
	int r;

	if (config->json && config->csv)
		return err_set(err, ERR_CONFIG, "--json and --csv: give one of them");
	if ((r = find_grouping(config->by, &c.by, err)) ||
		(r = selection_open(&c.selection, config, err)) || (r = count_all(&c, err)))
		return r;
	return print(&c, err);
}

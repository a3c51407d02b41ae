#include "instant.h"
#include "output.h"
#include "read_diff.h"
#include "show.h"
#include "trace.h"
#include "visible.h"
#include "when.h"

#include <stdio.h>

#define LABEL_COLUMNS 14
#define VALUE_BYTES_MAX 4096
#define HEX_ROW 16

static const char *clean(struct shown *x, struct slice s)
{
	return visible(&x->arena, s, VALUE_BYTES_MAX);
}

/* A label only before the first of its lines. */
static void line(const char *label, const char *text)
{
	printf("  %-*s %s\n", LABEL_COLUMNS, label, text);
}

/* The same of prose, which may be broken between words. */
static void text_line(const char *label, const char *text)
{
	char prefix[LABEL_COLUMNS + 4];

	snprintf(prefix, sizeof(prefix), "  %-*s ", LABEL_COLUMNS, label);
	output_wrapped(prefix, text, LABEL_COLUMNS + 3);
}

/* "2026-07-17T08:00:00Z, 3d ago" */
static const char *moment(const struct showing *s, struct shown *x, int64_t us)
{
	char instant[INSTANT_TEXT_BYTES], age[WHEN_AGE_BYTES];
	int64_t ago_us = s->selection.now_us - us;

	instant_format(us, instant);
	when_age(ago_us < 0 ? -ago_us : ago_us, age);
	return arena_printf(&x->arena, ago_us < 0 ? "%s, in %s" : "%s, %s ago", instant, age);
}

static const char *place(struct shown *x, struct origin o)
{
	return arena_printf(&x->arena, "%s partition %d offset %lld", clean(x, o.topic),
		o.partition, (long long)o.offset);
}

static void print_state(const struct showing *s, struct shown *x)
{
	enum history_state state = x->read ? x->read->state : HISTORY_GONE;
	const struct parked *event = &x->chosen.event;
	const char *text = history_state_name(state);

	if (state == HISTORY_LIVE && x->has_record)
		text = arena_printf(&x->arena, "live, due %s",
			event->entry.due_us <= s->selection.now_us
				? "now"
				: moment(s, x, event->entry.due_us));
	else if (state == HISTORY_IS_PARKED)
		text = arena_printf(&x->arena, "parked as %s, %s", cause_name(event->cause),
			moment(s, x, event->at_us));
	else if (state == HISTORY_GONE)
		text = x->row.found ? "not in the queue, and committed"
				    : "not in the queue any more";
	line("state", text);
}

static void print_advice(struct shown *x)
{
	struct advice advice = shown_advice(x);

	text_line("why", advice.why);
	text_line("next", advice.next);
}

static void print_error(struct shown *x, const struct record_error *e)
{
	if (slice_is_null(e->class))
		return;
	line("error", slice_is_null(e->code) ? clean(x, e->class)
					     : arena_printf(&x->arena, "%s %s", clean(x, e->class),
						       clean(x, e->code)));
	if (e->message.n)
		text_line("", clean(x, e->message));
}

static void print_parked(struct shown *x)
{
	const struct parked *p = &x->chosen.event;
	const struct {
		const char *label;
		struct slice text;
	} notes[] = {
		{"by", p->by}, {"note", p->note}, {"ref", p->ref}, {"committed", p->committed}};

	for (size_t i = 0; x->chosen.parked && i < ARRAY_LEN(notes); i++)
		if (notes[i].text.n)
			line(notes[i].label, clean(x, notes[i].text));
}

static void print_record(const struct showing *s, struct shown *x)
{
	const struct record *r = &x->chosen.event.entry;
	struct slice trace = trace_id(r->headers);

	line("reason", arena_printf(&x->arena, "%s, attempts %u, of them %u failed replays",
			       reason_name(r->reason), r->attempts, r->replays));
	if (r->upstream_attempts >= 0)
		line("upstream",
			arena_printf(&x->arena, "attempts %lld", (long long)r->upstream_attempts));
	line("first failure", moment(s, x, r->first_seen_us));
	line("last failure", moment(s, x, r->last_seen_us));
	print_error(x, &r->error);
	line("dead letter", place(x, r->dead_letter));
	if (!origin_is_null(r->origin))
		line("origin", place(x, r->origin));
	if (!slice_eq(r->record_key, x->key))
		line("its own key", clean(x, r->record_key));
	if (!slice_is_null(trace))
		line("trace", clean(x, trace));
	print_parked(x);
}

static void print_read(struct shown *x)
{
	const struct meter_read *read = &x->chosen.view.read;
	const char *label = "read";

	if (x->chosen.view.unreadable) {
		text_line(label, arena_printf(&x->arena, "cannot be read: %s",
					 clean(x, slice_str(x->chosen.view.unreadable))));
		return;
	}
	for (int f = 0; f < READ_FIELD_COUNT; f++, label = "")
		line(label,
			arena_printf(&x->arena, "%-12s %s", (const char *)read_names_ours[f].p,
				clean(x, read_field_text(&x->arena, read, (enum read_field)f))));
	if (!slice_is_null(read->attributes))
		line("", arena_printf(
				 &x->arena, "%-12s %s", "attributes", clean(x, read->attributes)));
}

static void print_headers(struct shown *x)
{
	const struct record *r = &x->chosen.event.entry;
	const char *label = "headers";
	struct header h;
	size_t pos = 0;

	for (; headers_next(r->headers, &pos, &h); label = "")
		line(label, arena_printf(&x->arena, "%s: %s", clean(x, h.key), clean(x, h.value)));
	if (r->headers_cut)
		line(label,
			arena_printf(&x->arena, "... %u bytes more did not fit", r->headers_cut));
}

static void print_hex_row(struct slice payload, size_t at)
{
	char text[HEX_ROW + 1] = {0};

	printf("    %08zx ", at);
	for (size_t i = 0; i < HEX_ROW; i++) {
		if (at + i >= payload.n) {
			printf("   ");
			continue;
		}
		uint8_t c = payload.p[at + i];

		printf(" %02x", c);
		text[i] = c >= ' ' && c < 0x7f ? (char)c : '.';
	}
	printf("  %s\n", text);
}

static void print_payload(struct shown *x)
{
	struct slice payload = x->chosen.event.entry.payload;

	if (slice_is_null(payload)) {
		line("payload", "none");
		return;
	}
	line("payload", arena_printf(&x->arena, "%zu bytes", payload.n));
	printf("    %s\n", visible(&x->arena, payload, SHOW_TEXT_BYTES));
	for (size_t at = 0; at < payload.n && at < SHOW_HEX_BYTES; at += HEX_ROW)
		print_hex_row(payload, at);
	if (payload.n > SHOW_HEX_BYTES)
		printf("    ... %zu bytes more; all of it: --json\n", payload.n - SHOW_HEX_BYTES);
}

static void print_event(const struct showing *s, const struct history_event *e)
{
	char at[INSTANT_TEXT_BYTES];

	instant_format(e->timestamp_ms * 1000, at);
	printf("    %-27s %-9s", at, history_kind_name(e->kind));
	if (e->kind != HISTORY_TOMBSTONE)
		printf(" %s, attempts %u",
			e->topic == TOPIC_PARKED ? cause_name(e->cause) : reason_name(e->reason),
			e->attempts);
	printf("\n      %s partition %d offset %lld\n", s->selection.in.kafka.topics[e->topic],
		e->partition, (long long)e->offset);
}

static void print_history(const struct showing *s, const struct shown *x)
{
	const struct history *h = &s->history;

	puts("  history");
	for (size_t i = 0; i < h->n_events; i++)
		if (h->events[i].key == x->read->key)
			print_event(s, &h->events[i]);
}

static void print_differences(struct shown *x)
{
	for (size_t i = 0; i < x->n_differences; i++) {
		enum read_field f = x->differences[i];

		line("", arena_printf(&x->arena, "%-12s read %s, row %s",
				 (const char *)read_names_ours[f].p,
				 clean(x, read_field_text(&x->arena, &x->chosen.view.read, f)),
				 clean(x, read_field_text(&x->arena, &x->row.read, f))));
	}
	if (!x->row.same_attributes)
		line("", arena_printf(&x->arena, "%-12s row %s", "attributes",
				 clean(x, x->row.read.attributes)));
}

static void print_row(const struct showing *s, struct shown *x)
{
	const char *text;
	bool comparable = x->has_record && !x->chosen.view.unreadable;

	if (x->row_unknown) {
		line("postgres", "not known, see the error below");
		return;
	}
	if (!x->row.found) {
		line("postgres", "no row with this key");
		return;
	}
	text = !comparable	  ? "a row with this key"
	       : x->n_differences ? "a row with other content"
				  : "the row, with the same content";
	if (x->row.committed_us != ROW_NO_TIME)
		text = arena_printf(
			&x->arena, "%s, committed %s", text, moment(s, x, x->row.committed_us));
	line("postgres", text);
	if (comparable)
		print_differences(x);
}

void show_text(const struct showing *s, struct shown *x)
{
	if (s->n_shown)
		putchar('\n');
	printf("%s\n", clean(x, x->key));
	print_state(s, x);
	if (x->has_record) {
		if (x->read->state == HISTORY_LIVE || x->read->state == HISTORY_IS_PARKED)
			print_advice(x);
		print_record(s, x);
		print_read(x);
		print_headers(x);
		print_payload(x);
	}
	if (x->read)
		print_history(s, x);
	print_row(s, x);
}

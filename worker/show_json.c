#include "hash.h"
#include "output.h"
#include "record_json.h"
#include "show.h"
#include "trace.h"

#include "read_diff.h"

#include <sodium.h>

static json_t *text(struct slice s)
{
	return slice_is_null(s) ? json_null() : json_stringn((const char *)s.p, s.n);
}

static json_t *object_of(struct slice json)
{
	json_t *o = slice_is_null(json) ? NULL : json_loadb((const char *)json.p, json.n, 0, NULL);

	return o ? o : text(json);
}

/* Amounts stay text. Attributes too: a JSON number may have more digits than a double. */
static json_t *read_object(struct arena *a, const struct meter_read *read)
{
	json_t *o = json_object();

	for (int f = 0; f < READ_FIELD_COUNT; f++) {
		const char *name = (const char *)read_names_ours[f].p;

		json_object_set_new(o, name,
			f == READ_SEQUENCE ? json_integer(read->sequence)
					   : text(read_field_text(a, read, (enum read_field)f)));
	}
	json_object_set_new(o, "attributes", text(read->attributes));
	return o;
}

static json_t *hex(struct slice payload)
{
	size_t n = payload.n < SHOW_HEX_BYTES ? payload.n : SHOW_HEX_BYTES;
	AUTO_FREE char *digits = mem_zalloc(2 * n + 1);

	if (slice_is_null(payload))
		return json_null();
	sodium_bin2hex(digits, 2 * n + 1, payload.p, n);
	return json_string(digits);
}

static json_t *content_text(uint64_t content)
{
	char digits[17];

	hash_content_text(content, digits);
	return json_string(digits);
}

static json_t *event_object(const struct showing *s, const struct history_event *e)
{
	bool parked = e->topic == TOPIC_PARKED;
	json_t *o = json_pack("{s:s, s:s, s:i, s:I, s:o}", "event", history_kind_name(e->kind),
		"topic", s->selection.in.kafka.topics[e->topic], "partition", (int)e->partition,
		"offset", (json_int_t)e->offset, "at_utc", output_instant(e->timestamp_ms * 1000));

	json_object_set_new(o, "content", e->has_content ? content_text(e->content) : json_null());
	if (e->kind != HISTORY_TOMBSTONE) {
		json_object_set_new(o, "attempts", json_integer(e->attempts));
		json_object_set_new(o, "replays", json_integer(e->replays));
		json_object_set_new(o, "reason", json_string(reason_name(e->reason)));
	}
	if (parked)
		json_object_set_new(o, "cause", json_string(cause_name(e->cause)));
	return o;
}

static json_t *history_list(const struct showing *s, const struct shown *x)
{
	const struct history *h = &s->history;
	json_t *list = json_array();

	for (size_t i = 0; x->read && i < h->n_events; i++)
		if (h->events[i].key == x->read->key)
			json_array_append_new(list, event_object(s, &h->events[i]));
	return list;
}

static json_t *difference(struct arena *a, const struct shown *x, enum read_field f)
{
	return json_pack("{s:s, s:o, s:o}", "field", (const char *)read_names_ours[f].p, "read",
		text(read_field_text(a, &x->chosen.view.read, f)), "row",
		text(read_field_text(a, &x->row.read, f)));
}

static json_t *row_object(struct shown *x)
{
	json_t *o = json_object(), *list = json_array(), *row = json_null();
	bool comparable = x->row.found && x->has_record && !x->chosen.view.unreadable;

	if (x->row.found) {
		row = read_object(&x->arena, &x->row.read);
		json_object_set_new(row, "committed_utc",
			x->row.committed_us == ROW_NO_TIME ? json_null()
							   : output_instant(x->row.committed_us));
	}
	for (size_t i = 0; i < x->n_differences; i++)
		json_array_append_new(list, difference(&x->arena, x, x->differences[i]));
	json_object_set_new(o, "known", json_boolean(!x->row_unknown));
	json_object_set_new(o, "row", row);
	json_object_set_new(
		o, "same", comparable ? json_boolean(x->n_differences == 0) : json_null());
	json_object_set_new(o, "differences", list);
	json_object_set_new(o, "same_attributes",
		comparable ? json_boolean(x->row.same_attributes) : json_null());
	return o;
}

static void add_record(json_t *o, struct shown *x)
{
	const struct parked *event = &x->chosen.event;
	const struct record *r = &event->entry;
	const struct read_view *view = &x->chosen.view;
	json_t *parked = json_null();

	if (x->chosen.parked) {
		parked = parked_json(event);
		json_object_del(parked, "entry");
		json_object_set_new(parked, "committed", object_of(event->committed));
	}
	json_object_set_new(o, "record", record_json(r));
	json_object_set_new(o, "parked", parked);
	json_object_set_new(
		o, "read", view->unreadable ? json_null() : read_object(&x->arena, &view->read));
	json_object_set_new(
		o, "unreadable", view->unreadable ? json_string(view->unreadable) : json_null());
	json_object_set_new(o, "payload_bytes", json_integer((json_int_t)r->payload.n));
	json_object_set_new(o, "payload_hex", hex(r->payload));
	json_object_set_new(o, "trace_id", text(trace_id(r->headers)));
}

static void add_advice(json_t *o, struct shown *x)
{
	struct advice advice = shown_advice(x);

	json_object_set_new(o, "why", json_string(advice.why));
	json_object_set_new(o, "next", json_string(advice.next));
}

void show_json(const struct showing *s, struct shown *x)
{
	enum history_state state = x->read ? x->read->state : HISTORY_GONE;
	json_t *o = json_pack(
		"{s:o, s:s}", "idempotency_key", text(x->key), "state", history_state_name(state));

	json_object_set_new(o, "due_utc",
		x->has_record && state == HISTORY_LIVE
			? output_instant(x->chosen.event.entry.due_us)
			: json_null());
	if (x->has_record)
		add_record(o, x);
	if (x->has_record && (state == HISTORY_LIVE || state == HISTORY_IS_PARKED))
		add_advice(o, x);
	json_object_set_new(o, "history", history_list(s, x));
	json_object_set_new(o, "postgres", row_object(x));
	output_json(o);
}

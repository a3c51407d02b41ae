#include "record_json.h"

#include "codec.h"
#include "hash.h"
#include "instant.h"
#include "utf8.h"

#include <sodium.h>
#include <stdlib.h>

static json_t *base64(struct slice s)
{
	size_t n = sodium_base64_encoded_len(s.n, sodium_base64_VARIANT_ORIGINAL);
	AUTO_FREE char *text = mem_zalloc(n);

	sodium_bin2base64(text, n, s.p, s.n, sodium_base64_VARIANT_ORIGINAL);
	return json_pack("{s:s}", "b64", text);
}

static json_t *bytes(struct slice s)
{
	if (slice_is_null(s))
		return json_null();
	return utf8_valid(s) ? json_stringn((const char *)s.p, s.n) : base64(s);
}

static json_t *instant(int64_t us)
{
	char text[INSTANT_TEXT_BYTES];

	instant_format(us, text);
	return json_string(text);
}

static json_t *place(struct origin o)
{
	if (origin_is_null(o))
		return json_null();
	return json_pack("{s:o, s:i, s:I}", "topic", bytes(o.topic), "partition", (int)o.partition,
		"offset", (json_int_t)o.offset);
}

static json_t *failure(struct record_error e)
{
	if (slice_is_null(e.class))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "class", bytes(e.class), "code", bytes(e.code),
		"message", bytes(e.message));
}

static json_t *headers_list(struct slice headers)
{
	json_t *list = json_array();
	struct header h;
	size_t pos = 0;

	while (headers_next(headers, &pos, &h))
		json_array_append_new(list,
			json_pack("{s:o, s:o}", "key", bytes(h.key), "value", bytes(h.value)));
	return list;
}

json_t *record_json(const struct record *r)
{
	json_t *o = json_object();
	char content[17];

	hash_content_text(r->content, content);
	json_object_set_new(o, "idempotency_key", bytes(r->idempotency_key));
	json_object_set_new(o, "payload", bytes(r->payload));
	json_object_set_new(o, "headers", headers_list(r->headers));
	json_object_set_new(o, "reason", json_string(reason_name(r->reason)));
	json_object_set_new(o, "attempts", json_integer(r->attempts));
	json_object_set_new(o, "first_seen_utc", instant(r->first_seen_us));
	json_object_set_new(o, "last_seen_utc", instant(r->last_seen_us));
	json_object_set_new(o, "due_utc", instant(r->due_us));
	json_object_set_new(o, "upstream_attempts",
		r->upstream_attempts < 0 ? json_null() : json_integer(r->upstream_attempts));
	json_object_set_new(o, "replays", json_integer(r->replays));
	json_object_set_new(o, "record_key", bytes(r->record_key));
	json_object_set_new(o, "origin", place(r->origin));
	json_object_set_new(o, "dead_letter", place(r->dead_letter));
	json_object_set_new(o, "error", failure(r->error));
	json_object_set_new(o, "content", json_string(content));
	json_object_set_new(o, "headers_cut", json_integer(r->headers_cut));
	json_object_set_new(o, "error_cut", json_integer(r->error_cut));
	return o;
}

json_t *meter_read_json(const struct meter_read *r)
{
	return json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "meter_id", bytes(r->meter_id),
		"read_at", instant(r->read_at_us), "sequence", (json_int_t)r->sequence, "kwh",
		bytes(r->kwh), "reading_type", bytes(r->reading_type), "quality", bytes(r->quality),
		"attributes", bytes(r->attributes));
}

json_t *parked_json(const struct parked *p)
{
	json_t *o = json_object();

	json_object_set_new(o, "entry", record_json(&p->entry));
	json_object_set_new(o, "event", json_string(parked_event_name(p->event)));
	json_object_set_new(o, "cause", json_string(cause_name(p->cause)));
	json_object_set_new(o, "at_utc", instant(p->at_us));
	json_object_set_new(o, "by", bytes(p->by));
	json_object_set_new(o, "note", bytes(p->note));
	json_object_set_new(o, "ref", bytes(p->ref));
	json_object_set_new(o, "committed", bytes(p->committed));
	return o;
}

/* DeadLetterRecord, and ParkedRecord around it. */
#include "codec_parts.h"

/* The most bytes of an entry's lengths, numbers, enum and union branches: all but its slices. */
#define ENTRY_LENGTHS (6 * WIRE_LENGTH_BYTES)
#define ENTRY_BRANCHES 7
#define ENTRY_NUMBERS                                                                              \
	(1 + 5 * WIRE_INT_BYTES + 3 * WIRE_LONG_BYTES + 2 * POSITION_BYTES + sizeof(uint64_t))
#define ENTRY_FIXED_BYTES (ENTRY_LENGTHS + ENTRY_BRANCHES + ENTRY_NUMBERS + 1)

static size_t entry_room(const struct record *r)
{
	return ENTRY_FIXED_BYTES + r->idempotency_key.n + r->payload.n + r->headers.n +
	       r->record_key.n + r->origin.topic.n + r->dead_letter.topic.n + r->error.class.n +
	       r->error.code.n + r->error.message.n;
}

static void upstream_attempts_write(struct wire_writer *w, int64_t attempts)
{
	wire_write_long(w, attempts >= 0);
	if (attempts >= 0)
		wire_write_long(w, attempts < INT32_MAX ? attempts : INT32_MAX);
}

static int64_t upstream_attempts_read(struct wire_reader *r)
{
	if (!wire_read_present(r, "upstream_attempts"))
		return -1;
	return wire_read_count(r, "upstream_attempts");
}

static void origin_write(struct wire_writer *w, struct origin origin)
{
	wire_write_long(w, !origin_is_null(origin));
	if (!origin_is_null(origin))
		position_write(w, origin);
}

static struct origin origin_read(struct wire_reader *r)
{
	if (!wire_read_present(r, "origin"))
		return (struct origin){0};
	return position_read(r, "origin");
}

/* A code or message without a class must not be lost: its class is written as empty. */
static void error_write(struct wire_writer *w, const struct record_error *e)
{
	bool present = e->class.p || e->code.p || e->message.p;

	wire_write_long(w, present);
	if (!present)
		return;
	wire_write_bytes(w, e->class);
	wire_write_optional(w, e->code);
	wire_write_optional(w, e->message);
}

static struct record_error error_read(struct wire_reader *r)
{
	struct record_error e = {0};

	if (!wire_read_present(r, "error"))
		return e;
	e.class = wire_read_bytes(r, "error.class");
	e.code = wire_read_optional(r, "error.code");
	e.message = wire_read_optional(r, "error.message");
	return e;
}

static void entry_write(struct wire_writer *w, const struct record *r)
{
	wire_write_bytes(w, r->idempotency_key);
	wire_write_optional(w, r->payload);
	headers_write(w, r->headers);
	wire_write_long(w, r->reason);
	wire_write_count(w, r->attempts);
	wire_write_long(w, r->first_seen_us);
	wire_write_long(w, r->last_seen_us);
	wire_write_long(w, r->due_us);
	upstream_attempts_write(w, r->upstream_attempts);
	wire_write_count(w, r->replays);
	wire_write_optional(w, r->record_key);
	origin_write(w, r->origin);
	position_write(w, r->dead_letter);
	error_write(w, &r->error);
	wire_write_fixed64(w, r->content);
	wire_write_count(w, r->headers_cut);
	wire_write_count(w, r->error_cut);
}

static void entry_read(struct wire_reader *r, struct record *ret)
{
	ret->idempotency_key = wire_read_bytes(r, "idempotency_key");
	ret->payload = wire_read_optional(r, "payload");
	ret->headers = headers_read(r);
	ret->reason = (enum reason)wire_read_enum(r, "reason", REASON_COUNT);
	ret->attempts = wire_read_count(r, "attempts");
	ret->first_seen_us = wire_read_long(r, "first_seen_utc");
	ret->last_seen_us = wire_read_long(r, "last_seen_utc");
	ret->due_us = wire_read_long(r, "due_utc");
	ret->upstream_attempts = upstream_attempts_read(r);
	ret->replays = wire_read_count(r, "replays");
	ret->record_key = wire_read_optional(r, "record_key");
	ret->origin = origin_read(r);
	ret->dead_letter = position_read(r, "dead_letter");
	ret->error = error_read(r);
	ret->content = wire_read_fixed64(r, "content");
	ret->headers_cut = wire_read_count(r, "headers_cut");
	ret->error_cut = wire_read_count(r, "error_cut");
}

struct slice record_encode(struct arena *a, const struct record *r)
{
	struct wire_writer w = wire_writer_new(a, FRAME_BYTES + entry_room(r));

	frame_write(&w, SCHEMA_DEAD_LETTER_RECORD);
	entry_write(&w, r);
	return wire_written(&w);
}

int record_decode(struct slice bytes, struct record *ret, struct err *err)
{
	struct wire_reader r;
	struct record record;
	int version = frame_open(&r, SCHEMA_DEAD_LETTER_RECORD, bytes, err);

	if (version < 0)
		return version;
	entry_read(&r, &record);
	if (wire_read_end(&r))
		return ERR_DATA;
	*ret = record;
	return 0;
}

/* Beside the entry: two enums, a time, and four texts. */
#define PARKED_FIXED_BYTES (2 + WIRE_LONG_BYTES + 4 * (1 + WIRE_LENGTH_BYTES))

static size_t parked_room(const struct parked *p)
{
	return entry_room(&p->entry) + PARKED_FIXED_BYTES + p->by.n + p->note.n + p->ref.n +
	       p->committed.n;
}

struct slice parked_encode(struct arena *a, const struct parked *p)
{
	struct wire_writer w = wire_writer_new(a, FRAME_BYTES + parked_room(p));

	frame_write(&w, SCHEMA_PARKED_RECORD);
	entry_write(&w, &p->entry);
	wire_write_long(&w, p->event);
	wire_write_long(&w, p->cause);
	wire_write_long(&w, p->at_us);
	wire_write_optional(&w, p->by);
	wire_write_optional(&w, p->note);
	wire_write_optional(&w, p->ref);
	wire_write_optional(&w, p->committed);
	return wire_written(&w);
}

int parked_decode(struct slice bytes, struct parked *ret, struct err *err)
{
	struct wire_reader r;
	struct parked parked;
	int version = frame_open(&r, SCHEMA_PARKED_RECORD, bytes, err);

	if (version < 0)
		return version;
	entry_read(&r, &parked.entry);
	parked.event = (enum parked_event)wire_read_enum(&r, "event", EVENT_RESOLVED + 1);
	parked.cause = (enum cause)wire_read_enum(&r, "cause", CAUSE_COUNT);
	parked.at_us = wire_read_long(&r, "at_utc");
	parked.by = wire_read_optional(&r, "by");
	parked.note = wire_read_optional(&r, "note");
	parked.ref = wire_read_optional(&r, "ref");
	parked.committed = wire_read_optional(&r, "committed");
	if (wire_read_end(&r))
		return ERR_DATA;
	*ret = parked;
	return 0;
}

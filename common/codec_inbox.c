#include "codec_parts.h"

/* All but the slices: two lengths and their union branches, a time, an int, the headers' end. */
#define INBOX_FIXED_BYTES                                                                          \
	(POSITION_BYTES + WIRE_LONG_BYTES + 2 * (1 + WIRE_LENGTH_BYTES) + 1 + WIRE_INT_BYTES)

struct slice inbox_encode(struct arena *a, const struct inbox *i)
{
	size_t slices = i->dead_letter.topic.n + i->record_key.n + i->payload.n + i->headers.n;
	struct wire_writer w = wire_writer_new(a, FRAME_BYTES + INBOX_FIXED_BYTES + slices);

	frame_write(&w, SCHEMA_INBOX_RECORD);
	position_write(&w, i->dead_letter);
	wire_write_long(&w, i->seen_us);
	wire_write_optional(&w, i->record_key);
	wire_write_optional(&w, i->payload);
	headers_write(&w, i->headers);
	wire_write_count(&w, i->headers_cut);
	return wire_written(&w);
}

int inbox_decode(struct slice bytes, struct inbox *ret, struct err *err)
{
	struct wire_reader r;
	struct inbox inbox;
	int version = frame_open(&r, SCHEMA_INBOX_RECORD, bytes, err);

	if (version < 0)
		return version;
	inbox.dead_letter = position_read(&r, "dead_letter");
	inbox.seen_us = wire_read_long(&r, "seen_utc");
	inbox.record_key = wire_read_optional(&r, "record_key");
	inbox.payload = wire_read_optional(&r, "payload");
	inbox.headers = headers_read(&r);
	inbox.headers_cut = wire_read_count(&r, "headers_cut");
	if (wire_read_end(&r))
		return ERR_DATA;
	*ret = inbox;
	return 0;
}

#include "codec_parts.h"

/* Kafka's limit (org.apache.kafka.common.internals.Topic); so the envelope stays bounded. */
#define TOPIC_NAME_BYTES 249

/* A union branch, a hash, a length. */
#define OVERSIZE_FIXED_BYTES (1 + sizeof(uint64_t) + WIRE_LENGTH_BYTES)
/* All but the slices: two lengths and their union branches, a time, an int, the headers' end. */
#define INBOX_FIXED_BYTES                                                                          \
	(POSITION_BYTES + WIRE_LONG_BYTES + 2 * (1 + WIRE_LENGTH_BYTES) + 1 + WIRE_INT_BYTES +     \
		OVERSIZE_FIXED_BYTES)

static void oversize_write(struct wire_writer *w, struct oversize o)
{
	wire_write_long(w, !slice_is_null(o.message));
	if (slice_is_null(o.message))
		return;
	wire_write_fixed64(w, o.content);
	wire_write_bytes(w, o.message);
}

static struct oversize oversize_read(struct wire_reader *r)
{
	struct oversize o = {0};

	if (!wire_read_present(r, "oversize"))
		return o;
	o.content = wire_read_fixed64(r, "oversize.content");
	o.message = wire_read_bytes(r, "oversize.message");
	return o;
}

struct slice inbox_encode(struct arena *a, const struct inbox *i)
{
	size_t slices = i->dead_letter.topic.n + i->record_key.n + i->payload.n + i->headers.n +
			i->oversize.message.n;
	struct wire_writer w = wire_writer_new(a, FRAME_BYTES + INBOX_FIXED_BYTES + slices);

	frame_write(&w, SCHEMA_INBOX_RECORD);
	position_write(&w, i->dead_letter);
	wire_write_long(&w, i->seen_us);
	wire_write_optional(&w, i->record_key);
	wire_write_optional(&w, i->payload);
	headers_write(&w, i->headers);
	wire_write_count(&w, i->headers_cut);
	oversize_write(&w, i->oversize);
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
	inbox.oversize = oversize_read(&r);
	if (wire_read_end(&r))
		return ERR_DATA;
	if (inbox.dead_letter.topic.n > TOPIC_NAME_BYTES)
		return err_set(err, ERR_DATA,
			"InboxRecord: dead_letter.topic has %zu bytes, a topic's name at most %d",
			inbox.dead_letter.topic.n, TOPIC_NAME_BYTES);
	*ret = inbox;
	return 0;
}

#include "codec_parts.h"

/* All but the slices and sources: partitions, two lengths, an offset, the array's count and end. */
#define CHECKPOINT_FIXED_BYTES                                                                     \
	(WIRE_INT_BYTES + 2 * WIRE_LENGTH_BYTES + WIRE_LONG_BYTES + WIRE_INT_BYTES + 1)

static size_t checkpoint_room(const struct checkpoint *c)
{
	size_t room = CHECKPOINT_FIXED_BYTES + c->group_id.n + c->key_rule.n;

	for (size_t i = 0; i < c->n_sources; i++)
		room += POSITION_BYTES + c->sources[i].topic.n;
	return room;
}

static void sources_write(struct wire_writer *w, const struct source_position *v, size_t n)
{
	if (n)
		wire_write_long(w, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		position_write(w, (struct origin){v[i].topic, v[i].partition, v[i].offset});
	wire_write_long(w, 0);
}

struct slice checkpoint_encode(struct arena *a, const struct checkpoint *c)
{
	struct wire_writer w = wire_writer_new(a, FRAME_BYTES + checkpoint_room(c));

	frame_write(&w, SCHEMA_CHECKPOINT);
	wire_write_long(&w, c->partitions);
	wire_write_bytes(&w, c->group_id);
	wire_write_bytes(&w, c->key_rule);
	wire_write_long(&w, c->inbox_offset);
	sources_write(&w, c->sources, c->n_sources);
	return wire_written(&w);
}

/* Blocks do not say how many items there are in all: this walks them ahead, on a copy. */
static size_t sources_count(struct wire_reader r)
{
	struct wire_array items = {0};
	size_t n = 0;

	while (wire_array_next(&r, &items, "sources")) {
		position_read(&r, "sources");
		n++;
	}
	return n;
}

static void sources_read(struct wire_reader *r, struct source_position *v)
{
	struct wire_array items = {0};

	for (; wire_array_next(r, &items, "sources"); v++) {
		struct origin position = position_read(r, "sources");

		*v = (struct source_position){position.topic, position.partition, position.offset};
	}
}

int checkpoint_decode(struct arena *a, struct slice bytes, struct checkpoint *ret, struct err *err)
{
	struct wire_reader r;
	struct checkpoint c;
	int version = frame_open(&r, SCHEMA_CHECKPOINT, bytes, err);

	if (version < 0)
		return version;
	c.partitions = wire_read_int(&r, "partitions");
	c.group_id = wire_read_bytes(&r, "group_id");
	c.key_rule = wire_read_bytes(&r, "key_rule");
	c.inbox_offset = wire_read_long(&r, "inbox_offset");
	c.n_sources = sources_count(r);
	if (c.n_sources > CHECKPOINT_SOURCES_MAX) {
		wire_fail(&r, "sources", "more than %d", CHECKPOINT_SOURCES_MAX);
		return ERR_DATA;
	}
	c.sources = arena_alloc(a, c.n_sources * sizeof(*c.sources));
	sources_read(&r, c.sources);
	if (wire_read_end(&r))
		return ERR_DATA;
	*ret = c;
	return 0;
}

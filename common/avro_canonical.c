/* The parsing canonical form of a schema, and its fingerprint. */
#include "avro_schema.h"

struct writer {
	struct buf *out;
	uint32_t defined; /* how many named types have been written out */
};

static void write_node(struct writer *w, const struct avro_node *node);

static void write_string(struct writer *w, struct slice s)
{
	buf_add_byte(w->out, '"');
	buf_add(w->out, s.p, s.n);
	buf_add_byte(w->out, '"');
}

static void write_fields(struct writer *w, const struct avro_node *record)
{
	buf_add_str(w->out, ",\"fields\":[");
	for (uint32_t i = 0; i < record->n; i++) {
		buf_add_str(w->out, i ? ",{\"name\":" : "{\"name\":");
		write_string(w, record->fields[i].name);
		buf_add_str(w->out, ",\"type\":");
		write_node(w, record->fields[i].type);
		buf_add_byte(w->out, '}');
	}
	buf_add_byte(w->out, ']');
}

static void write_symbols(struct writer *w, const struct avro_node *node)
{
	buf_add_str(w->out, ",\"symbols\":[");
	for (uint32_t i = 0; i < node->n; i++) {
		if (i)
			buf_add_byte(w->out, ',');
		write_string(w, node->symbols[i]);
	}
	buf_add_byte(w->out, ']');
}

static void write_union(struct writer *w, const struct avro_node *node)
{
	buf_add_byte(w->out, '[');
	for (uint32_t i = 0; i < node->n; i++) {
		if (i)
			buf_add_byte(w->out, ',');
		write_node(w, node->branches[i]);
	}
	buf_add_byte(w->out, ']');
}

/* In full where it is defined, which is where it is met first; by name from then on. */
static void write_named(struct writer *w, const struct avro_node *node)
{
	if (node->ordinal < w->defined) {
		write_string(w, node->name);
		return;
	}
	w->defined++;
	buf_add_str(w->out, "{\"name\":");
	write_string(w, node->name);
	buf_printf(w->out, ",\"type\":\"%s\"", avro_type_name(node->type));
	if (node->type == AVRO_TYPE_RECORD)
		write_fields(w, node);
	else if (node->type == AVRO_TYPE_ENUM)
		write_symbols(w, node);
	else
		buf_printf(w->out, ",\"size\":%u", node->size);
	buf_add_byte(w->out, '}');
}

static void write_items(struct writer *w, const struct avro_node *node, const char *key)
{
	buf_printf(w->out, "{\"type\":\"%s\",\"%s\":", avro_type_name(node->type), key);
	write_node(w, node->item);
	buf_add_byte(w->out, '}');
}

static void write_node(struct writer *w, const struct avro_node *node)
{
	if (!slice_is_null(node->name))
		write_named(w, node);
	else if (node->type == AVRO_TYPE_UNION)
		write_union(w, node);
	else if (node->type == AVRO_TYPE_ARRAY)
		write_items(w, node, "items");
	else if (node->type == AVRO_TYPE_MAP)
		write_items(w, node, "values");
	else
		write_string(w, slice_str(avro_type_name(node->type)));
}

void avro_schema_canonical(const struct avro_schema *s, struct buf *out)
{
	struct writer w = {.out = out};

	write_node(&w, s->root);
}

uint64_t avro_crc64(struct slice s)
{
	const uint64_t empty = 0xc15d213aa4d7a795;
	uint64_t crc = empty;

	for (size_t i = 0; i < s.n; i++) {
		crc ^= s.p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (empty & -(crc & 1));
	}
	return crc;
}

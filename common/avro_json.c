#include "avro_json.h"

#include "avro_text.h"
#include "decimal.h"
#include "utf8.h"

#define TEXT_PER_BYTE 16
#define TEXT_BESIDES 65536

struct avro_walk avro_walk_new(
	struct slice payload, struct slice body, const char *schema, struct err *err)
{
	return (struct avro_walk){
		.reader = {payload.p, body.p, body.p + body.n, schema, err, false},
		.field = "body",
		.text = TEXT_BESIDES + TEXT_PER_BYTE * body.n,
		.depth = 1,
	};
}

const struct avro_node *avro_walk_branch(struct avro_walk *w, const struct avro_node *node)
{
	unsigned branch;

	if (node->type != AVRO_TYPE_UNION)
		return node;
	branch = wire_read_enum(&w->reader, w->field, node->n);
	return w->reader.failed ? node : node->branches[branch];
}

struct slice avro_walk_string(struct avro_walk *w)
{
	const uint8_t *at = w->reader.p;
	struct slice s = wire_read_bytes(&w->reader, w->field);

	if (w->reader.failed || utf8_text(s))
		return s;
	w->reader.p = at;
	wire_fail(&w->reader, w->field, "a string that is not UTF-8, or holds a NUL");
	return SLICE_NULL;
}

struct slice avro_walk_symbol(struct avro_walk *w, const struct avro_node *node)
{
	unsigned symbol = wire_read_enum(&w->reader, w->field, node->n);

	return w->reader.failed ? SLICE_NULL : node->symbols[symbol];
}

/* --- scalars --- */

static void add_character(uint8_t c, struct buf *out)
{
	if (c < ' ') {
		buf_printf(out, "\\u%04x", c);
		return;
	}
	if (c == '"' || c == '\\')
		buf_add_byte(out, '\\');
	buf_add_byte(out, c);
}

void avro_json_string(struct slice s, struct buf *out)
{
	buf_add_byte(out, '"');
	for (size_t i = 0; i < s.n; i++)
		add_character(s.p[i], out);
	buf_add_byte(out, '"');
}

static void write_boolean(struct avro_walk *w, struct buf *out)
{
	struct slice s = wire_read_raw(&w->reader, w->field, 1);

	if (s.n && *s.p > 1)
		wire_fail(&w->reader, w->field, "a boolean of %d", *s.p);
	buf_add_str(out, s.n && *s.p ? "true" : "false");
}

static void write_integer(int64_t v, const struct avro_node *node, struct buf *out)
{
	size_t at = out->n;

	buf_add_byte(out, '"');
	if (avro_time_text(node->logical, v, out)) {
		buf_add_byte(out, '"');
		return;
	}
	out->n = at;
	buf_add_i64(out, v);
}

/* Of 4 or 8 bytes, little-endian. */
static uint64_t read_float_bits(struct avro_walk *w, size_t n)
{
	struct slice s = wire_read_raw(&w->reader, w->field, n);
	uint64_t bits = 0;

	while (s.n-- > 0)
		bits = bits << 8 | s.p[s.n];
	return bits;
}

static void write_float(struct avro_walk *w, struct buf *out)
{
	uint32_t bits = (uint32_t)read_float_bits(w, sizeof(bits));
	float v;

	memcpy(&v, &bits, sizeof(v));
	avro_float_json(v, out);
}

static void write_double(struct avro_walk *w, struct buf *out)
{
	uint64_t bits = read_float_bits(w, sizeof(bits));
	double v;

	memcpy(&v, &bits, sizeof(v));
	avro_double_json(v, out);
}

/* Of bytes or fixed. */
static void write_bytes(
	struct avro_walk *w, const struct avro_node *node, struct slice s, struct buf *out)
{
	const char *why = NULL;

	if (w->reader.failed)
		return;
	buf_add_byte(out, '"');
	if (node->logical == AVRO_LOGICAL_DECIMAL)
		why = decimal_from_binary(s, node->scale, out);
	else if (node->logical == AVRO_LOGICAL_UUID)
		avro_uuid_text(s.p, out);
	else
		avro_base64_text(s, out);
	buf_add_byte(out, '"');
	if (why)
		wire_fail(&w->reader, w->field, "%s", why);
}

/* --- what holds others --- */

static void write_record(struct avro_walk *w, const struct avro_node *record, struct buf *out)
{
	buf_add_byte(out, '{');
	for (uint32_t i = 0; i < record->n && !w->reader.failed; i++) {
		const struct avro_field *field = &record->fields[i];

		if (i)
			buf_add_byte(out, ',');
		avro_json_string(field->name, out);
		buf_add_byte(out, ':');
		avro_walk_json(w, field->type, out);
	}
	buf_add_byte(out, '}');
}

static bool may_be_weightless(const struct avro_node *node)
{
	return node->type == AVRO_TYPE_NULL || node->type == AVRO_TYPE_RECORD ||
	       node->type == AVRO_TYPE_FIXED;
}

static void write_items(struct avro_walk *w, const struct avro_node *node, struct buf *out)
{
	bool map = node->type == AVRO_TYPE_MAP;
	struct wire_array items = {
		.weightless = !map && may_be_weightless(node->item) ? AVRO_WEIGHTLESS_ITEMS : 0,
	};
	size_t begin;

	buf_add_byte(out, map ? '{' : '[');
	begin = out->n;
	while (wire_array_next(&w->reader, &items, w->field)) {
		if (out->n > begin)
			buf_add_byte(out, ',');
		if (map) {
			avro_json_string(avro_walk_string(w), out);
			buf_add_byte(out, ':');
		}
		avro_walk_json(w, node->item, out);
	}
	buf_add_byte(out, map ? '}' : ']');
}

/* --- any value --- */

static bool enter(struct avro_walk *w, const struct buf *out)
{
	if (w->depth == AVRO_VALUE_DEPTH)
		wire_fail(&w->reader, w->field, "nested deeper than %d levels", AVRO_VALUE_DEPTH);
	else if (out->n > w->text)
		wire_fail(&w->reader, w->field, "more than %zu bytes as JSON", w->text);
	return !w->reader.failed;
}

static void write_value(struct avro_walk *w, const struct avro_node *node, struct buf *out)
{
	struct wire_reader *r = &w->reader;

	switch (node->type) {
	case AVRO_TYPE_NULL:
		buf_add_str(out, "null");
		return;
	case AVRO_TYPE_BOOLEAN:
		write_boolean(w, out);
		return;
	case AVRO_TYPE_INT:
		write_integer(wire_read_int(r, w->field), node, out);
		return;
	case AVRO_TYPE_LONG:
		write_integer(wire_read_long(r, w->field), node, out);
		return;
	case AVRO_TYPE_FLOAT:
		write_float(w, out);
		return;
	case AVRO_TYPE_DOUBLE:
		write_double(w, out);
		return;
	case AVRO_TYPE_BYTES:
		write_bytes(w, node, wire_read_bytes(r, w->field), out);
		return;
	case AVRO_TYPE_FIXED:
		write_bytes(w, node, wire_read_raw(r, w->field, node->size), out);
		return;
	case AVRO_TYPE_STRING:
		avro_json_string(avro_walk_string(w), out);
		return;
	case AVRO_TYPE_ENUM:
		avro_json_string(avro_walk_symbol(w, node), out);
		return;
	case AVRO_TYPE_RECORD:
		write_record(w, node, out);
		return;
	case AVRO_TYPE_ARRAY:
	case AVRO_TYPE_MAP:
		write_items(w, node, out);
		return;
	case AVRO_TYPE_UNION: /* never: its branch is none */
		return;
	}
}

void avro_walk_json(struct avro_walk *w, const struct avro_node *node, struct buf *out)
{
	node = avro_walk_branch(w, node);
	if (!enter(w, out))
		return;
	w->depth++;
	write_value(w, node, out);
	w->depth--;
}

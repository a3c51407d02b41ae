/* An Avro payload to fields, by its writer's schema and the names of the fields in it. */
#include "avro_json.h"
#include "avro_text.h"
#include "decimal.h"
#include "framing.h"
#include "instant.h"
#include "read_fields.h"

#define SEVERAL_READS "several reads"

struct walk {
	struct avro_walk avro;
	struct arena *arena;
	struct buf *attributes; /* a JSON object from its first member on, not yet closed */
};

static struct slice keep(struct walk *w, const struct buf *text)
{
	return arena_dup(w->arena, slice_of(text->p, text->n));
}

/* --- one field: its text, or null where the walk has failed --- */

static const char *described(const struct avro_node *node)
{
	return node->logical ? avro_logical_name(node->logical) : avro_type_name(node->type);
}

static struct slice refuse(struct walk *w, const struct avro_node *node, const char *why)
{
	wire_fail(&w->avro.reader, w->avro.field, "%s %s", described(node), why);
	return SLICE_NULL;
}

static struct slice take_string(struct walk *w, const struct avro_node *node)
{
	if (node->type != AVRO_TYPE_STRING)
		return refuse(w, node, "is not a string");
	return avro_walk_string(&w->avro);
}

static struct slice take_symbol(struct walk *w, const struct avro_node *node)
{
	if (node->type == AVRO_TYPE_ENUM) /* the schema's own text, which need not live on */
		return arena_dup(w->arena, avro_walk_symbol(&w->avro, node));
	return take_string(w, node);
}

static int64_t read_integer(struct walk *w, const struct avro_node *node)
{
	struct wire_reader *r = &w->avro.reader;

	return node->type == AVRO_TYPE_INT ? wire_read_int(r, w->avro.field)
					   : wire_read_long(r, w->avro.field);
}

static struct slice take_integer(struct walk *w, const struct avro_node *node)
{
	CLEANUP(buf_free) struct buf text = {0};

	buf_add_i64(&text, read_integer(w, node));
	return keep(w, &text);
}

static struct slice take_sequence(struct walk *w, const struct avro_node *node)
{
	if (node->type == AVRO_TYPE_INT || node->type == AVRO_TYPE_LONG)
		return take_integer(w, node);
	if (node->type == AVRO_TYPE_STRING)
		return avro_walk_string(&w->avro);
	return refuse(w, node, "is not an integer or string");
}

/* The offset as in the idempotency keys that people know, "m|2026-07-17T00:00:00+00:00|1". */
static struct slice take_timestamp(struct walk *w, const struct avro_node *node)
{
	int64_t us, v = wire_read_long(&w->avro.reader, w->avro.field);
	char text[INSTANT_TEXT_BYTES];
	int ns;

	if (!avro_time(node->logical, v, &us, &ns))
		return refuse(w, node, "outside the years 0001 to 9999");
	if (ns)
		return refuse(w, node, "finer than a microsecond");
	return slice_str(
		arena_printf(w->arena, "%.*s+00:00", (int)instant_format(us, text) - 1, text));
}

static struct slice take_instant(struct walk *w, const struct avro_node *node)
{
	switch (node->logical) {
	case AVRO_LOGICAL_TIMESTAMP_MILLIS:
	case AVRO_LOGICAL_TIMESTAMP_MICROS:
	case AVRO_LOGICAL_TIMESTAMP_NANOS:
		return take_timestamp(w, node);
	case AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS:
	case AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS:
	case AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS:
		return refuse(w, node, "has no offset");
	case AVRO_LOGICAL_NONE:
	case AVRO_LOGICAL_DECIMAL:
	case AVRO_LOGICAL_UUID:
	case AVRO_LOGICAL_DATE:
	case AVRO_LOGICAL_TIME_MILLIS:
	case AVRO_LOGICAL_TIME_MICROS:
		break;
	}
	if (node->type != AVRO_TYPE_STRING)
		return refuse(w, node, "is not a string or timestamp");
	return avro_walk_string(&w->avro);
}

static struct slice take_decimal(struct walk *w, const struct avro_node *node)
{
	struct wire_reader *r = &w->avro.reader;
	struct slice bytes = node->type == AVRO_TYPE_FIXED
				     ? wire_read_raw(r, w->avro.field, node->size)
				     : wire_read_bytes(r, w->avro.field);
	CLEANUP(buf_free) struct buf text = {0};
	const char *why;

	if (r->failed)
		return SLICE_NULL;
	why = decimal_from_binary(bytes, node->scale, &text);
	if (why) {
		wire_fail(r, w->avro.field, "%s", why);
		return SLICE_NULL;
	}
	return keep(w, &text);
}

static struct slice take_amount(struct walk *w, const struct avro_node *node)
{
	if (node->logical == AVRO_LOGICAL_DECIMAL)
		return take_decimal(w, node);
	if (node->type == AVRO_TYPE_STRING)
		return avro_walk_string(&w->avro);
	if (node->type == AVRO_TYPE_FLOAT || node->type == AVRO_TYPE_DOUBLE)
		return refuse(w, node, "holds no exact amount");
	if (node->type == AVRO_TYPE_BYTES || node->type == AVRO_TYPE_FIXED)
		return refuse(w, node, "without the logical type decimal");
	if (!node->logical && (node->type == AVRO_TYPE_INT || node->type == AVRO_TYPE_LONG))
		return take_integer(w, node);
	return refuse(w, node, "is not a decimal, string or integer");
}

/* --- the record --- */

static const struct target {
	size_t offset; /* in struct read_fields */
	struct slice (*take)(struct walk *w, const struct avro_node *node);
} targets[READ_FIELD_COUNT] = {
	[READ_METER_ID] = {offsetof(struct read_fields, meter_id), take_string},
	[READ_READ_AT] = {offsetof(struct read_fields, read_at), take_instant},
	[READ_SEQUENCE] = {offsetof(struct read_fields, sequence), take_sequence},
	[READ_KWH] = {offsetof(struct read_fields, kwh), take_amount},
	[READ_READING_TYPE] = {offsetof(struct read_fields, reading_type), take_symbol},
	[READ_QUALITY] = {offsetof(struct read_fields, quality), take_symbol},
};

static bool has_field(const struct avro_node *record, struct slice name)
{
	for (uint32_t i = 0; i < record->n; i++) {
		if (slice_eq(record->fields[i].name, name))
			return true;
	}
	return false;
}

static bool had_name(const struct avro_field *field, struct slice name)
{
	for (uint32_t i = 0; i < field->n_aliases; i++) {
		if (slice_eq(field->aliases[i], name))
			return true;
	}
	return false;
}

/* By its name, or by one that it had before, unless another field has that now. */
static const struct target *target_of(const struct read_names *names,
	const struct avro_node *record, const struct avro_field *field)
{
	for (size_t f = 0; f < READ_FIELD_COUNT; f++) {
		struct slice name = read_name(names, (enum read_field)f);

		if (slice_eq(field->name, name))
			return &targets[f];
	}
	for (size_t f = 0; field->n_aliases && f < READ_FIELD_COUNT; f++) {
		struct slice name = read_name(names, (enum read_field)f);

		if (had_name(field, name) && !has_field(record, name))
			return &targets[f];
	}
	return NULL;
}

static void take_attribute(struct walk *w, const struct avro_field *field)
{
	buf_add_byte(w->attributes, w->attributes->n ? ',' : '{');
	avro_json_string(field->name, w->attributes);
	buf_add_byte(w->attributes, ':');
	avro_walk_json(&w->avro, field->type, w->attributes);
}

static void take_target(struct walk *w, const struct target *t, const struct avro_field *field,
	struct read_fields *out)
{
	const struct avro_node *node = avro_walk_branch(&w->avro, field->type);
	struct slice *to = (struct slice *)(void *)((char *)out + t->offset);

	if (w->avro.reader.failed || node->type == AVRO_TYPE_NULL)
		return; /* null is as good as absent */
	*to = t->take(w, node);
}

static void take_record(struct walk *w, const struct read_names *names,
	const struct avro_node *record, struct read_fields *out)
{
	unsigned seen = 0; /* a bit per target */

	for (uint32_t i = 0; i < record->n && !w->avro.reader.failed; i++) {
		const struct avro_field *field = &record->fields[i];
		const struct target *t = target_of(names, record, field);
		unsigned bit = t ? 1u << (t - targets) : 0;

		w->avro.field = (const char *)field->name.p;
		if (seen & bit)
			wire_fail(&w->avro.reader, w->avro.field,
				"another field has been called that too");
		else if (t)
			take_target(w, t, field, out);
		else
			take_attribute(w, field);
		seen |= bit;
	}
	if (w->attributes->n) {
		buf_add_byte(w->attributes, '}');
		out->attributes = keep(w, w->attributes);
	}
}

/* --- the payload --- */

static const char *type_refusal(struct arena *a, const struct avro_node *node)
{
	if (node->type == AVRO_TYPE_ARRAY)
		return SEVERAL_READS;
	return arena_printf(a, "not an Avro record, but %s", described(node));
}

const char *read_fields_from_avro(struct arena *a, const struct read_names *names,
	const struct avro_schema *schema, const struct framing *framing, struct slice payload,
	struct read_fields *ret)
{
	char by[SCHEMA_REF_TEXT_BYTES];
	struct err err;
	CLEANUP(buf_free) struct buf attributes = {0};
	struct walk w = {
		.avro = avro_walk_new(payload, framing->body, "payload", &err),
		.arena = a,
		.attributes = &attributes,
	};
	const struct avro_node *record = avro_walk_branch(&w.avro, schema->root);
	struct read_fields out = {0};

	if (!w.avro.reader.failed) {
		if (record->type != AVRO_TYPE_RECORD)
			return type_refusal(a, record);
		w.avro.reader.schema = (const char *)record->name.p;
		take_record(&w, names, record, &out);
	}
	if (wire_read_end(&w.avro.reader))
		return arena_printf(
			a, "%s (by %s)", err.text, schema_ref_text(&framing->schema, by));
	*ret = out;
	return NULL;
}

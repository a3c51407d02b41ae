#include "avro_schema.h"

#include "avro_type.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct parser {
	struct arena *arena;
	struct avro_node **named; /* in the order of their definition */
	uint32_t n_named;
	size_t parts;
	unsigned depth;
	const struct avro_reference *references;
	size_t n_references;
	uint64_t referred; /* a bit for each that has been looked into */
	struct err *err;
};
_Static_assert(AVRO_REFERENCES <= 64, "a bit each");

/* Functions below return NULL or false where they have failed: err says why. */

__attribute__((format(printf, 2, 3))) static void *fail(struct parser *p, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(p->err, ERR_DATA, "%s", text);
	return NULL;
}

static bool count_parts(struct parser *p, size_t n)
{
	p->parts += n;
	return p->parts <= AVRO_SCHEMA_PARTS ||
	       fail(p, "more than %d types, fields and symbols", AVRO_SCHEMA_PARTS);
}

static struct avro_node *new_node(struct parser *p, enum avro_type type)
{
	struct avro_node *node = arena_alloc(p->arena, sizeof(*node));

	*node = (struct avro_node){.type = type};
	return node;
}

/* Null where json is no string. */
static struct slice keep_string(struct parser *p, const json_t *json)
{
	struct slice s = slice_of(json_string_value(json), json_string_length(json));

	return json_is_string(json) ? slice_of(arena_cstr(p->arena, s), s.n) : SLICE_NULL;
}

static const struct avro_node *parse_type(struct parser *p, const json_t *json, struct slice space);

/* --- names --- */

/* space: a namespace, "x.y"; empty for none. */
static struct slice full_name(struct parser *p, struct slice name, struct slice space)
{
	if (!space.n || memchr(name.p, '.', name.n))
		return name;
	return slice_str(arena_printf(p->arena, "%.*s.%.*s", SLICE_FMT(space), SLICE_FMT(name)));
}

static struct slice space_of(struct slice full)
{
	size_t n = full.n;

	while (n > 0 && full.p[n - 1] != '.')
		n--;
	return slice_of(full.p, n ? n - 1 : 0);
}

static struct avro_node *find_named(const struct parser *p, struct slice full)
{
	for (uint32_t i = 0; i < p->n_named; i++) {
		if (slice_eq(p->named[i]->name, full))
			return p->named[i];
	}
	return NULL;
}

static void json_freep(json_t **json)
{
	json_decref(*json);
}

static const struct avro_node *parse_text(struct parser *p, struct slice text)
{
	CLEANUP(json_freep) json_t *json = NULL;
	json_error_t error;

	if (!text.n || text.n > AVRO_SCHEMA_BYTES)
		return fail(p, text.n ? "more than 1 MiB of text" : "no text");
	json = json_loadb(
		(const char *)text.p, text.n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
	if (!json)
		return fail(p, "not JSON: %s (line %d, column %d)", error.text, error.line,
			error.column);
	return parse_type(p, json, SLICE_LIT(""));
}

/* Parses the reference of that name, if there is one, so that what it defines is known. */
static bool parse_reference(struct parser *p, struct slice full)
{
	for (size_t i = 0; i < p->n_references; i++) {
		if (p->referred >> i & 1 || !slice_eq(p->references[i].name, full))
			continue;
		p->referred |= 1ull << i;
		if (parse_text(p, p->references[i].text))
			return true;
		return err_prefix(p->err, "reference %.*s", SLICE_FMT(full)), false;
	}
	return true;
}

static const struct avro_node *find_either(
	const struct parser *p, struct slice full, struct slice name)
{
	const struct avro_node *found = find_named(p, full);

	return found ? found : find_named(p, name);
}

static const struct avro_node *refer(struct parser *p, const json_t *json, struct slice space)
{
	static const struct avro_node primitives[AVRO_TYPE_PRIMITIVES] = {
		{.type = AVRO_TYPE_NULL},
		{.type = AVRO_TYPE_BOOLEAN},
		{.type = AVRO_TYPE_INT},
		{.type = AVRO_TYPE_LONG},
		{.type = AVRO_TYPE_FLOAT},
		{.type = AVRO_TYPE_DOUBLE},
		{.type = AVRO_TYPE_BYTES},
		{.type = AVRO_TYPE_STRING},
	};
	struct slice full, name = slice_of(json_string_value(json), json_string_length(json));
	const struct avro_node *found;

	for (size_t i = 0; i < ARRAY_LEN(primitives); i++) {
		if (slice_eq(name, slice_str(avro_type_name((enum avro_type)i))))
			return &primitives[i];
	}
	if (name.n > AVRO_NAME_BYTES)
		return fail(p, "a name of more than %d bytes", AVRO_NAME_BYTES);
	full = full_name(p, name, space);
	found = find_either(p, full, name);
	if (found)
		return found;
	if (!parse_reference(p, full) || !parse_reference(p, name))
		return NULL;
	found = find_either(p, full, name);
	return found ? found : fail(p, "unknown type \"%.*s\"", SLICE_FMT(name));
}

/* A record, enum or fixed: from here on known by its name. */
static struct avro_node *define(
	struct parser *p, const json_t *json, enum avro_type type, struct slice space)
{
	struct slice name = keep_string(p, json_object_get(json, "name"));
	struct slice own_space = keep_string(p, json_object_get(json, "namespace"));
	struct avro_node *node = new_node(p, type);

	if (!name.n)
		return fail(p, "a type %s without a name", avro_type_name(type));
	node->name = full_name(p, name, slice_is_null(own_space) ? space : own_space);
	if (node->name.n > AVRO_NAME_BYTES)
		return fail(p, "a name of more than %d bytes", AVRO_NAME_BYTES);
	if (find_named(p, node->name))
		return fail(p, "type %s is defined twice", (const char *)node->name.p);
	if (p->n_named == AVRO_SCHEMA_NAMES)
		return fail(p, "more than %d named types", AVRO_SCHEMA_NAMES);
	node->ordinal = p->n_named;
	p->named[p->n_named++] = node;
	return node;
}

/* --- the complex types --- */

/* What a list in json has, or NULL. */
static const json_t *list_of(struct parser *p, const json_t *json, const char *key)
{
	const json_t *list = json_object_get(json, key);

	if (!json_is_array(list))
		return fail(p, "no list \"%s\"", key);
	return count_parts(p, json_array_size(list)) ? list : NULL;
}

static bool parse_aliases(struct parser *p, const json_t *json, struct avro_field *ret)
{
	const json_t *list = json_object_get(json, "aliases");

	if (!list)
		return true;
	if (!(list = list_of(p, json, "aliases")))
		return false;
	ret->aliases = arena_alloc(p->arena, json_array_size(list) * sizeof(*ret->aliases));
	for (size_t i = 0; i < json_array_size(list); i++)
		ret->aliases[ret->n_aliases++] = keep_string(p, json_array_get(list, i));
	return true;
}

static bool parse_field(struct parser *p, const json_t *json, const struct avro_node *record,
	struct avro_field *ret)
{
	*ret = (struct avro_field){.name = keep_string(p, json_object_get(json, "name"))};
	if (!ret->name.n)
		return fail(p, "%s: a field without a name", (const char *)record->name.p);
	if (!parse_aliases(p, json, ret) ||
		!(ret->type = parse_type(p, json_object_get(json, "type"), space_of(record->name))))
		return err_prefix(p->err, "%s.%s", (const char *)record->name.p,
			       (const char *)ret->name.p),
		       false;
	return true;
}

static bool parse_fields(struct parser *p, const json_t *list, struct avro_node *record)
{
	size_t n = json_array_size(list);

	if (n > AVRO_FIELDS)
		return fail(p, "more than %d fields", AVRO_FIELDS);
	record->fields = arena_alloc(p->arena, n * sizeof(*record->fields));
	for (size_t i = 0; i < n; i++) {
		struct avro_field *field = &record->fields[i];

		if (!parse_field(p, json_array_get(list, i), record, field))
			return false;
		for (size_t j = 0; j < i; j++)
			if (slice_eq(record->fields[j].name, field->name))
				return fail(p, "%s: field %s is there twice",
					(const char *)record->name.p, (const char *)field->name.p);
		record->n++;
	}
	return true;
}

static const struct avro_node *parse_record(
	struct parser *p, const json_t *json, struct slice space)
{
	struct avro_node *record = define(p, json, AVRO_TYPE_RECORD, space);
	const json_t *list = record ? list_of(p, json, "fields") : NULL;

	return list && parse_fields(p, list, record) ? record : NULL;
}

static const struct avro_node *parse_enum(struct parser *p, const json_t *json, struct slice space)
{
	struct avro_node *node = define(p, json, AVRO_TYPE_ENUM, space);
	const json_t *list = node ? list_of(p, json, "symbols") : NULL;

	if (!list)
		return NULL;
	node->symbols = arena_alloc(p->arena, json_array_size(list) * sizeof(*node->symbols));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct slice symbol = keep_string(p, json_array_get(list, i));

		if (slice_is_null(symbol))
			return fail(p, "%s: a symbol that is no text", (const char *)node->name.p);
		node->symbols[node->n++] = symbol;
	}
	return node;
}

static const struct avro_node *with_logical(
	struct parser *p, const json_t *json, struct avro_node *node)
{
	const char *why = avro_logical_parse(json, node);

	return why ? fail(p, "%s", why) : node;
}

static const struct avro_node *parse_fixed(struct parser *p, const json_t *json, struct slice space)
{
	struct avro_node *node = define(p, json, AVRO_TYPE_FIXED, space);
	const json_t *size = json_object_get(json, "size");
	json_int_t bytes = json_integer_value(size);

	if (!node)
		return NULL;
	if (!json_is_integer(size) || bytes < 0 || bytes > INT32_MAX)
		return fail(p, "%s: no size from 0 to 2147483647", (const char *)node->name.p);
	node->size = (uint32_t)bytes;
	return with_logical(p, json, node);
}

static const struct avro_node *parse_items(struct parser *p, const json_t *json,
	enum avro_type type, const char *key, struct slice space)
{
	struct avro_node *node = new_node(p, type);

	node->item = parse_type(p, json_object_get(json, key), space);
	return node->item ? node : NULL;
}

static const struct avro_node *parse_array(struct parser *p, const json_t *json, struct slice space)
{
	return parse_items(p, json, AVRO_TYPE_ARRAY, "items", space);
}

static const struct avro_node *parse_map(struct parser *p, const json_t *json, struct slice space)
{
	return parse_items(p, json, AVRO_TYPE_MAP, "values", space);
}

static const struct avro_node *parse_union(struct parser *p, const json_t *json, struct slice space)
{
	struct avro_node *node = new_node(p, AVRO_TYPE_UNION);
	size_t n = json_array_size(json);

	node->branches = arena_alloc(p->arena, n * sizeof(*node->branches));
	for (size_t i = 0; i < n; i++) {
		const struct avro_node *branch = parse_type(p, json_array_get(json, i), space);

		if (!branch)
			return NULL;
		if (branch->type == AVRO_TYPE_UNION)
			return fail(p, "a union in a union");
		node->branches[node->n++] = branch;
	}
	return node;
}

/* --- any type --- */

static const struct avro_node *parse_object(
	struct parser *p, const json_t *json, struct slice space)
{
	static const struct {
		const char *type;
		const struct avro_node *(*parse)(struct parser *, const json_t *, struct slice);
	} complex[] = {
		{"record", parse_record},
		{"error", parse_record}, /* of a protocol; the same on the wire */
		{"enum", parse_enum},
		{"array", parse_array},
		{"map", parse_map},
		{"fixed", parse_fixed},
	};
	const json_t *type = json_object_get(json, "type");
	const struct avro_node *found;
	struct avro_node *node;

	for (size_t i = 0; json_is_string(type) && i < ARRAY_LEN(complex); i++) {
		if (strcmp(json_string_value(type), complex[i].type) == 0)
			return complex[i].parse(p, json, space);
	}
	found = parse_type(p, type, space);
	if (!found || !json_is_string(type) || found->type >= AVRO_TYPE_PRIMITIVES)
		return found;
	node = new_node(p, found->type);
	return with_logical(p, json, node);
}

static const struct avro_node *parse_any(struct parser *p, const json_t *json, struct slice space)
{
	if (!count_parts(p, 1))
		return NULL;
	if (json_is_string(json))
		return refer(p, json, space);
	if (json_is_array(json))
		return parse_union(p, json, space);
	if (json_is_object(json))
		return parse_object(p, json, space);
	return fail(p, json ? "a type that is no name, list or object" : "a type is missing");
}

static const struct avro_node *parse_type(struct parser *p, const json_t *json, struct slice space)
{
	const struct avro_node *node;

	if (p->depth == AVRO_SCHEMA_DEPTH)
		return fail(p, "nested deeper than %d levels", AVRO_SCHEMA_DEPTH);
	p->depth++;
	node = parse_any(p, json, space);
	p->depth--;
	return node;
}

/* --- the schema --- */

int avro_schema_parse_with(struct slice text, const struct avro_reference *v, size_t n,
	struct avro_schema **ret, struct err *err)
{
	AUTO_FREE struct avro_node **named =
		mem_zalloc(AVRO_SCHEMA_NAMES * sizeof(struct avro_node *));
	struct avro_schema *schema = mem_zalloc(sizeof(*schema));
	CLEANUP(buf_free) struct buf form = {0};
	struct err unwanted;
	struct parser p = {.arena = &schema->arena,
		.named = named,
		.references = v,
		.n_references = n <= AVRO_REFERENCES ? n : AVRO_REFERENCES,
		.err = err ? err : &unwanted};

	schema->root = parse_text(&p, text);
	if (!schema->root) {
		avro_schema_free(schema);
		return ERR_DATA;
	}
	avro_schema_canonical(schema, &form);
	schema->fingerprint = avro_crc64(slice_of(form.p, form.n));
	*ret = schema;
	return 0;
}

int avro_schema_parse(struct slice text, struct avro_schema **ret, struct err *err)
{
	return avro_schema_parse_with(text, NULL, 0, ret, err);
}

void avro_schema_free(struct avro_schema *s)
{
	if (!s)
		return;
	arena_free(&s->arena);
	free(s);
}

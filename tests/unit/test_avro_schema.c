#include <criterion/criterion.h>

#include "avro_fixture.h"
#include "avro_schema.h"

#define FIELD(type)                                                                                \
	"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"f\",\"type\":" type "}]}"

/* --- fingerprints, by fastavro --- */

Test(avro_schema, canonical_form_and_fingerprint_are_those_of_fastavro)
{
	struct fixture *f = fixture_open(UNIT_DIR "/avro/schemas.txt");
	size_t n = 0;

	for (; fixture_next(f); n++) {
		struct avro_schema *schema = schema_of(f->column[2]);
		CLEANUP(buf_free) struct buf form = {0};

		avro_schema_canonical(schema, &form);
		cr_expect(slice_eq(slice_of(form.p, form.n), slice_str(f->column[1])), "%s: %.*s",
			f->column[1], (int)form.n, (char *)form.p);
		cr_expect_eq(schema->fingerprint, strtoull(f->column[0], NULL, 16), "%s: %016llx",
			f->column[2], (unsigned long long)schema->fingerprint);
		avro_schema_free(schema);
	}
	cr_expect_geq(n, 20);
	fixture_close(f);
}

/* The ones that Avro's own tests have for its primitive types (share/test/data/schema-tests.txt).
 */
Test(avro_schema, fingerprints_of_the_primitives_are_those_of_avro)
{
	static const struct {
		const char *text;
		int64_t fingerprint;
	} primitives[] = {
		{"\"null\"", 7195948357588979594},
		{"\"boolean\"", -6970731678124411036},
		{"\"int\"", 8247732601305521295},
		{"\"long\"", -3434872931120570953},
		{"\"float\"", 5583340709985441680},
		{"\"double\"", -8181574048448539266},
		{"\"bytes\"", 5746618253357095269},
		{"\"string\"", -8142146995180207161},
	};

	for (size_t i = 0; i < ARRAY_LEN(primitives); i++) {
		struct avro_schema *schema = schema_of(primitives[i].text);

		cr_expect_eq((int64_t)schema->fingerprint, primitives[i].fingerprint);
		avro_schema_free(schema);
	}
}

Test(avro_schema, crc64_of_nothing_is_the_polynomial)
{
	cr_expect_eq(avro_crc64(SLICE_LIT("")), 0xc15d213aa4d7a795);
}

/* --- the tree --- */

static const struct avro_node *type_of(const struct avro_schema *s, uint32_t field)
{
	return s->root->fields[field].type;
}

Test(avro_schema, a_record_has_its_fields_in_order)
{
	struct avro_schema *s =
		schema_of("{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"a.b\","
			  "\"fields\":[{\"name\":\"x\",\"type\":\"int\"},"
			  "{\"name\":\"y\",\"type\":[\"null\",\"R\"],"
			  "\"aliases\":[\"z\",\"w\"],\"default\":null}]}");

	cr_assert_eq(s->root->type, AVRO_TYPE_RECORD);
	cr_expect_str_eq((const char *)s->root->name.p, "a.b.R");
	cr_assert_eq(s->root->n, 2);
	cr_expect_str_eq((const char *)s->root->fields[0].name.p, "x");
	cr_expect_eq(type_of(s, 0)->type, AVRO_TYPE_INT);
	cr_expect_eq(s->root->fields[0].n_aliases, 0);
	cr_assert_eq(type_of(s, 1)->type, AVRO_TYPE_UNION);
	cr_assert_eq(type_of(s, 1)->n, 2);
	cr_expect_eq(type_of(s, 1)->branches[0]->type, AVRO_TYPE_NULL);
	cr_expect_eq(type_of(s, 1)->branches[1], s->root, "it is recursive");
	cr_assert_eq(s->root->fields[1].n_aliases, 2);
	cr_expect_str_eq((const char *)s->root->fields[1].aliases[1].p, "w");
	avro_schema_free(s);
}

Test(avro_schema, names_are_found_in_their_namespace_or_in_none)
{
	struct avro_schema *s = schema_of(
		"{\"type\":\"record\",\"name\":\"n.R\",\"fields\":["
		"{\"name\":\"a\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":4}},"
		"{\"name\":\"b\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"namespace\":\"\","
		"\"symbols\":[\"X\"]}},"
		"{\"name\":\"c\",\"type\":\"F\"},{\"name\":\"d\",\"type\":\"n.F\"},"
		"{\"name\":\"e\",\"type\":\"E\"},{\"name\":\"f\",\"type\":{\"type\":\"F\"}}]}");

	cr_expect_str_eq((const char *)type_of(s, 0)->name.p, "n.F");
	cr_expect_str_eq((const char *)type_of(s, 1)->name.p, "E");
	cr_expect_eq(type_of(s, 2), type_of(s, 0));
	cr_expect_eq(type_of(s, 3), type_of(s, 0));
	cr_expect_eq(type_of(s, 4), type_of(s, 1));
	cr_expect_eq(type_of(s, 5), type_of(s, 0));
	cr_expect_eq(type_of(s, 0)->size, 4);
	cr_expect_str_eq((const char *)type_of(s, 1)->symbols[0].p, "X");
	avro_schema_free(s);
}

Test(avro_schema, a_type_may_be_wrapped)
{
	struct avro_schema *s =
		schema_of("{\"type\":{\"type\":[\"null\",{\"type\":\"array\",\"items\":{\"type\":"
			  "{\"type\":\"map\",\"values\":\"long\"}}}]}}");
	const struct avro_node *array = s->root->branches[1];

	cr_assert_eq(s->root->type, AVRO_TYPE_UNION);
	cr_assert_eq(array->type, AVRO_TYPE_ARRAY);
	cr_assert_eq(array->item->type, AVRO_TYPE_MAP);
	cr_expect_eq(array->item->item->type, AVRO_TYPE_LONG);
	avro_schema_free(s);
}

static const struct {
	const char *text;
	enum avro_logical logical;
	uint32_t scale;
} logicals[] = {
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":38,\"scale\":6}",
		AVRO_LOGICAL_DECIMAL, 6},
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4}", AVRO_LOGICAL_DECIMAL,
		0},
	{"{\"type\":\"fixed\",\"name\":\"F\",\"size\":8,\"logicalType\":\"decimal\",\"precision\":"
	 "18,"
	 "\"scale\":18}",
		AVRO_LOGICAL_DECIMAL, 18},
	{"{\"type\":\"fixed\",\"name\":\"F\",\"size\":1,\"logicalType\":\"decimal\",\"precision\":"
	 "38,"
	 "\"scale\":2}",
		AVRO_LOGICAL_DECIMAL, 2},
	{"{\"type\":\"string\",\"logicalType\":\"uuid\"}", AVRO_LOGICAL_UUID, 0},
	{"{\"type\":\"fixed\",\"name\":\"F\",\"size\":16,\"logicalType\":\"uuid\"}",
		AVRO_LOGICAL_UUID, 0},
	{"{\"type\":\"int\",\"logicalType\":\"date\"}", AVRO_LOGICAL_DATE, 0},
	{"{\"type\":\"int\",\"logicalType\":\"time-millis\"}", AVRO_LOGICAL_TIME_MILLIS, 0},
	{"{\"type\":\"long\",\"logicalType\":\"time-micros\"}", AVRO_LOGICAL_TIME_MICROS, 0},
	{"{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", AVRO_LOGICAL_TIMESTAMP_MILLIS,
		0},
	{"{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}", AVRO_LOGICAL_TIMESTAMP_MICROS,
		0},
	{"{\"type\":\"long\",\"logicalType\":\"timestamp-nanos\"}", AVRO_LOGICAL_TIMESTAMP_NANOS,
		0},
	{"{\"type\":\"long\",\"logicalType\":\"local-timestamp-millis\"}",
		AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS, 0},
	{"{\"type\":\"long\",\"logicalType\":\"local-timestamp-micros\"}",
		AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS, 0},
	{"{\"type\":\"long\",\"logicalType\":\"local-timestamp-nanos\"}",
		AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS, 0},
	/* What is invalid, or stands on another type, is none. */
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\"}", AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":0}", AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4,\"scale\":5}",
		AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4,\"scale\":-1}",
		AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":\"4\"}", AVRO_LOGICAL_NONE,
		0},
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4,\"scale\":\"2\"}",
		AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"string\",\"logicalType\":\"decimal\",\"precision\":4}", AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"fixed\",\"name\":\"F\",\"size\":12,\"logicalType\":\"uuid\"}",
		AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"int\",\"logicalType\":\"timestamp-millis\"}", AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"long\",\"logicalType\":\"date\"}", AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"long\",\"logicalType\":\"\"}", AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"long\",\"logicalType\":7}", AVRO_LOGICAL_NONE, 0},
	{"{\"type\":\"long\",\"logicalType\":\"made-up\"}", AVRO_LOGICAL_NONE, 0},
};

Test(avro_schema, logical_types_count_where_they_are_valid)
{
	for (size_t i = 0; i < ARRAY_LEN(logicals); i++) {
		struct avro_schema *s = schema_of(logicals[i].text);

		cr_expect_eq(s->root->logical, logicals[i].logical, "%s", logicals[i].text);
		cr_expect_eq(s->root->scale, logicals[i].scale, "%s", logicals[i].text);
		avro_schema_free(s);
	}
}

/* --- what is no schema --- */

static const struct {
	const char *text, *why; /* how it begins */
} bad[] = {
	{"", "no text"},
	{"{", "not JSON: "},
	{"string", "not JSON: "},
	{"\"int\" \"int\"", "not JSON: "},
	{"{\"type\":\"int\",\"type\":\"long\"}", "not JSON: duplicate object key"},
	{"5", "a type that is no name, list or object"},
	{"null", "a type that is no name, list or object"},
	{"\"Unknown\"", "unknown type \"Unknown\""},
	{"\"record\"", "unknown type \"record\""},
	{"{}", "a type is missing"},
	{"{\"type\":null}", "a type that is no name, list or object"},
	{"[[\"int\"]]", "a union in a union"},
	{"[{\"type\":[\"int\"]}]", "a union in a union"},
	{"{\"type\":\"array\"}", "a type is missing"},
	{"{\"type\":\"map\",\"items\":\"int\"}", "a type is missing"},
	{"{\"type\":\"record\",\"fields\":[]}", "a type record without a name"},
	{"{\"type\":\"enum\",\"name\":\"\",\"symbols\":[]}", "a type enum without a name"},
	{"{\"type\":\"record\",\"name\":\"R\"}", "no list \"fields\""},
	{"{\"type\":\"record\",\"name\":\"R\",\"fields\":[1]}", "R: a field without a name"},
	{"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"f\"}]}",
		"R.f: a type is missing"},
	{"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"f\",\"type\":\"int\"},"
	 "{\"name\":\"f\",\"type\":\"int\"}]}",
		"R: field f is there twice"},
	{FIELD("\"Ring\""), "R.f: unknown type \"Ring\""},
	{FIELD(FIELD("\"int\"")), "R.f: type R is defined twice"},
	{FIELD("\"int\",\"aliases\":\"g\""), "R.f: no list \"aliases\""},
	{"{\"type\":\"enum\",\"name\":\"E\"}", "no list \"symbols\""},
	{"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",1]}", "E: a symbol that is no text"},
	{"{\"type\":\"fixed\",\"name\":\"F\"}", "F: no size from 0 to 2147483647"},
	{"{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}", "F: no size from 0 to 2147483647"},
	{"{\"type\":\"fixed\",\"name\":\"F\",\"size\":2147483648}",
		"F: no size from 0 to 2147483647"},
	{"{\"type\":\"fixed\",\"name\":\"F\",\"size\":\"4\"}", "F: no size from 0 to 2147483647"},
	{"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20000,\"scale\":16384}",
		"a decimal of more than 16383 digits after the point"},
};

Test(avro_schema, what_is_none_is_refused_in_words)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct avro_schema *s;
		struct err err;

		cr_assert_eq(avro_schema_parse(slice_str(bad[i].text), &s, &err), ERR_DATA, "%s",
			bad[i].text);
		cr_expect_eq(strncmp(err.text, bad[i].why, strlen(bad[i].why)), 0, "%s: %s",
			bad[i].text, err.text);
	}
	avro_schema_free(NULL);
}

/* Found by fuzzing: the field's name was put before a text that was not wanted. */
Test(avro_schema, what_is_wrong_need_not_be_told)
{
	struct avro_schema *s;

	cr_expect_eq(avro_schema_parse(SLICE_LIT(FIELD("\"Ring\"")), &s, NULL), ERR_DATA);
}

/* --- bounds --- */

static void expect_bounded(struct buf *text, const char *why)
{
	struct avro_schema *s;
	struct err err;

	cr_expect_eq(avro_schema_parse(slice_of(text->p, text->n), &s, &err), ERR_DATA);
	cr_expect_str_eq(err.text, why);
	buf_free(text);
}

static void expect_parsed(struct buf *text)
{
	struct avro_schema *s;
	struct err err;

	cr_assert_eq(avro_schema_parse(slice_of(text->p, text->n), &s, &err), 0, "%s", err.text);
	avro_schema_free(s);
	buf_free(text);
}

static struct buf nested(int arrays)
{
	struct buf b = {0};

	for (int i = 0; i < arrays; i++)
		buf_add_str(&b, "{\"type\":\"array\",\"items\":");
	buf_add_str(&b, "\"int\"");
	for (int i = 0; i < arrays; i++)
		buf_add_byte(&b, '}');
	return b;
}

static struct buf listed(const char *before, const char *item, int n, const char *after)
{
	struct buf b = {0};

	buf_add_str(&b, before);
	for (int i = 0; i < n; i++) {
		if (i)
			buf_add_byte(&b, ',');
		for (const char *p = item; *p; p++) {
			if (*p == '#')
				buf_printf(&b, "%d", i);
			else
				buf_add_byte(&b, (uint8_t)*p);
		}
	}
	buf_add_str(&b, after);
	return b;
}

Test(avro_schema, depth_is_bounded)
{
	struct buf ok = nested(AVRO_SCHEMA_DEPTH - 1), deep = nested(AVRO_SCHEMA_DEPTH);

	expect_parsed(&ok);
	expect_bounded(&deep, "nested deeper than 64 levels");
}

Test(avro_schema, very_deep_nesting_does_not_overflow_the_stack)
{
	struct buf brackets = {0}, arrays = nested(40000);
	struct avro_schema *s;
	struct err err;

	for (int i = 0; i < AVRO_SCHEMA_BYTES; i++)
		buf_add_byte(&brackets, '[');
	cr_expect_eq(avro_schema_parse(slice_of(brackets.p, brackets.n), &s, &err), ERR_DATA);
	cr_expect_eq(avro_schema_parse(slice_of(arrays.p, arrays.n), &s, &err), ERR_DATA);
	buf_free(&brackets);
	buf_free(&arrays);
}

Test(avro_schema, text_is_bounded)
{
	struct buf b = {0};

	buf_add_str(&b, "\"int\"");
	while (b.n < AVRO_SCHEMA_BYTES)
		buf_add_byte(&b, ' ');
	cr_assert_eq(b.n, AVRO_SCHEMA_BYTES);
	buf_add_byte(&b, ' ');
	expect_bounded(&b, "more than 1 MiB of text");
}

#define RECORD "{\"type\":\"record\",\"name\":\"R\",\"fields\":["

Test(avro_schema, parts_are_bounded)
{
	const char *symbols = "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[";
	struct buf ok = listed(symbols, "\"s#\"", AVRO_SCHEMA_PARTS - 1, "]}");
	struct buf many = listed(symbols, "\"s#\"", AVRO_SCHEMA_PARTS, "]}");

	expect_parsed(&ok);
	expect_bounded(&many, "more than 65536 types, fields and symbols");
}

Test(avro_schema, fields_are_bounded)
{
	struct buf ok = listed(RECORD, "{\"name\":\"f#\",\"type\":\"int\"}", AVRO_FIELDS, "]}");
	struct buf many =
		listed(RECORD, "{\"name\":\"f#\",\"type\":\"int\"}", AVRO_FIELDS + 1, "]}");

	expect_parsed(&ok);
	expect_bounded(&many, "more than 4096 fields");
}

Test(avro_schema, named_types_are_bounded)
{
	const char *fixed = "{\"type\":\"fixed\",\"name\":\"F#\",\"size\":1}";
	struct buf ok = listed("[", fixed, AVRO_SCHEMA_NAMES, "]");
	struct buf many = listed("[", fixed, AVRO_SCHEMA_NAMES + 1, "]");

	expect_parsed(&ok);
	expect_bounded(&many, "more than 2048 named types");
}

Test(avro_schema, names_are_bounded_with_their_namespace)
{
	struct buf b = {0};

	buf_add_str(&b, "{\"type\":\"fixed\",\"size\":1,\"name\":\"F\",\"namespace\":\"");
	for (int i = 0; i < AVRO_NAME_BYTES - 1; i++)
		buf_add_byte(&b, 'n');
	buf_add_str(&b, "\"}");
	expect_bounded(&b, "a name of more than 512 bytes");
}

/* --- references --- */

static void expect_with(const char *text, const struct avro_reference *v, size_t n, const char *why)
{
	struct avro_schema *schema = NULL;
	struct err err = {0};
	int r = avro_schema_parse_with(slice_str(text), v, n, &schema, &err);

	cr_expect_eq(r, why ? ERR_DATA : 0, "%s: %s", text, err.text);
	cr_expect(!why || strstr(err.text, why), "%s", err.text);
	avro_schema_free(schema);
}

#define REFERENCE(name, text)                                                                      \
	{                                                                                          \
		SLICE_INIT(name), SLICE_INIT(text)                                                 \
	}

Test(avro_schema, a_type_of_a_reference_is_as_if_it_were_written_out)
{
	static const struct avro_reference references[] = {
		/* The first needs the second, which no order says. */
		REFERENCE("a.Line", "{\"type\":\"record\",\"name\":\"Line\",\"namespace\":\"a\","
				    "\"fields\":[{\"name\":\"u\",\"type\":\"Unit\"}]}"),
		REFERENCE("a.Unit", "{\"type\":\"enum\",\"name\":\"Unit\",\"namespace\":\"a\","
				    "\"symbols\":[\"KWH\"]}"),
	};
	static const char whole[] =
		FIELD("{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"a.Line\","
		      "\"fields\":[{\"name\":\"u\",\"type\":{\"type\":\"enum\",\"name\":\"Unit\","
		      "\"symbols\":[\"KWH\"]}}]}}");
	struct avro_schema *expected = schema_of(whole), *schema;

	cr_assert_eq(avro_schema_parse_with(
			     SLICE_LIT(FIELD("{\"type\":\"array\",\"items\":\"a.Line\"}")),
			     references, ARRAY_LEN(references), &schema, NULL),
		0);
	cr_expect_eq(schema->fingerprint, expected->fingerprint);
	avro_schema_free(schema);
	avro_schema_free(expected);
}

Test(avro_schema, a_reference_that_is_wrong_is_named)
{
	static const struct avro_reference broken[] = {REFERENCE("Unit", "{\"type\":\"enum\"}")};
	static const struct avro_reference other[] = {REFERENCE("Unit", "\"string\"")};
	static const struct avro_reference circle[] = {
		REFERENCE("Unit", "{\"type\":\"array\",\"items\":\"Unit\"}")};

	expect_with(FIELD("\"Unit\""), broken, 1, "reference Unit: a type enum without a name");
	expect_with(FIELD("\"Unit\""), other, 1, "unknown type \"Unit\"");
	expect_with(FIELD("\"Unit\""), circle, 1, "reference Unit: unknown type \"Unit\"");
	expect_with(FIELD("\"Unit\""), NULL, 0, "unknown type \"Unit\"");
	expect_with(FIELD("\"string\""), broken, 1, NULL);
}

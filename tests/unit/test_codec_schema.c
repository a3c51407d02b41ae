/* The files in schemas/avro: their fingerprints, and what they share with each other and the code.
 */
#include <avro.h>
#include <criterion/criterion.h>
#include <jansson.h>

#include "codec.h"

static const char *const files[SCHEMA_COUNT] = {
	[SCHEMA_DEAD_LETTER_RECORD] = SCHEMAS_DIR "/avro/dead_letter_record.avsc",
	[SCHEMA_PARKED_RECORD] = SCHEMAS_DIR "/avro/parked_record.avsc",
	[SCHEMA_INBOX_RECORD] = SCHEMAS_DIR "/avro/inbox_record.avsc",
	[SCHEMA_CHECKPOINT] = SCHEMAS_DIR "/avro/checkpoint.avsc",
};

/* --- Parsing Canonical Form and CRC-64-AVRO, written down from the specification --- */

static json_t *schema_json(const char *file)
{
	json_error_t error;
	json_t *json = json_load_file(file, 0, &error);

	cr_assert(json, "%s:%d: %s", file, error.line, error.text);
	return json;
}

static void canonical_form(const json_t *schema, struct buf *out);

static void canonical_list(const json_t *list, struct buf *out)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		buf_add_str(out, i ? "," : "[");
		canonical_form(json_array_get(list, i), out);
	}
	buf_add_str(out, "]");
}

/* [STRIP] and [ORDER] */
static void canonical_object(const json_t *object, struct buf *out)
{
	static const char *const kept[] = {
		"name", "type", "fields", "symbols", "items", "values", "size"};
	const char *separator = "{";

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		const json_t *value = json_object_get(object, kept[i]);

		if (!value)
			continue;
		buf_printf(out, "%s\"%s\":", separator, kept[i]);
		canonical_form(value, out);
		separator = ",";
	}
	buf_add_str(out, "}");
}

static void canonical_form(const json_t *schema, struct buf *out)
{
	bool named = json_object_get(schema, "name"), array = json_object_get(schema, "items");

	if (json_is_string(schema))
		buf_printf(out, "\"%s\"", json_string_value(schema));
	else if (json_is_integer(schema))
		buf_printf(out, "%lld", json_integer_value(schema));
	else if (json_is_array(schema))
		canonical_list(schema, out);
	else if (!named && !array) /* [PRIMITIVES] */
		canonical_form(json_object_get(schema, "type"), out);
	else
		canonical_object(schema, out);
}

static uint64_t crc64_avro(const uint8_t *p, size_t n)
{
	const uint64_t empty = 0xc15d213aa4d7a795;
	uint64_t fingerprint = empty;

	for (size_t i = 0; i < n; i++) {
		fingerprint ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			fingerprint = fingerprint >> 1 ^ (empty & -(fingerprint & 1));
	}
	return fingerprint;
}

Test(codec_schema, crc64_avro_of_int_is_the_one_that_avro_itself_tests_for)
{
	cr_assert_eq(crc64_avro((const uint8_t *)"\"int\"", 5), 0x7275d51a3f395c8f);
}

Test(codec_schema, fingerprints_are_those_of_the_files)
{
	for (int id = 0; id < SCHEMA_COUNT; id++) {
		json_t *json = schema_json(files[id]);
		struct buf form = {0};
		uint64_t fingerprint;

		canonical_form(json, &form);
		fingerprint = crc64_avro(form.p, form.n);
		cr_expect_eq(schema_fingerprint((enum schema_id)id), fingerprint,
			"%s has 0x%016llx", files[id], (unsigned long long)fingerprint);
		buf_free(&form);
		json_decref(json);
	}
}

/* --- the files themselves --- */

static avro_schema_t schema_load(const char *file)
{
	json_t *json = schema_json(file);
	AUTO_FREE char *text = json_dumps(json, 0);
	avro_schema_t schema;

	cr_assert_eq(avro_schema_from_json_length(text, strlen(text), &schema), 0, "%s: %s", file,
		avro_strerror());
	json_decref(json);
	return schema;
}

Test(codec_schema, every_file_stands_alone)
{
	for (int id = 0; id < SCHEMA_COUNT; id++)
		avro_schema_decref(schema_load(files[id]));
	avro_schema_decref(schema_load(SCHEMAS_DIR "/avro/meter_read.avsc"));
}

static json_t *field_type(const json_t *record, const char *name)
{
	size_t i;
	json_t *field;

	json_array_foreach(json_object_get(record, "fields"), i,
		field) if (!strcmp(json_string_value(json_object_get(field, "name")),
				   name)) return json_object_get(field, "type");
	cr_assert(false, "no field %s", name);
	return NULL;
}

Test(codec_schema, a_parked_record_holds_the_whole_dead_letter_record)
{
	json_t *parked = schema_json(files[SCHEMA_PARKED_RECORD]);
	json_t *entry = schema_json(files[SCHEMA_DEAD_LETTER_RECORD]);

	cr_assert(json_equal(field_type(parked, "entry"), entry));
	json_decref(parked);
	json_decref(entry);
}

static const char *symbol(const json_t *record, const char *field, size_t i)
{
	return json_string_value(
		json_array_get(json_object_get(field_type(record, field), "symbols"), i));
}

Test(codec_schema, symbols_are_the_names_and_numbers_of_the_enums)
{
	json_t *parked = schema_json(files[SCHEMA_PARKED_RECORD]);
	json_t *entry = field_type(parked, "entry");

	for (int i = 0; i < REASON_COUNT; i++)
		cr_expect_str_eq(symbol(entry, "reason", (size_t)i), reason_name((enum reason)i));
	for (int i = 0; i < CAUSE_COUNT; i++)
		cr_expect_str_eq(symbol(parked, "cause", (size_t)i), cause_name((enum cause)i));
	for (int i = 0; i <= EVENT_RESOLVED; i++)
		cr_expect_str_eq(symbol(parked, "event", (size_t)i),
			parked_event_name((enum parked_event)i));
	cr_expect_null(symbol(entry, "reason", REASON_COUNT));
	cr_expect_null(symbol(parked, "cause", CAUSE_COUNT));
	cr_expect_null(symbol(parked, "event", EVENT_RESOLVED + 1));
	json_decref(parked);
}

/* The files in schemas/avro: their fingerprints, and what they share with each other and the code.
 */
#include <avro.h>
#include <criterion/criterion.h>
#include <jansson.h>

#include "avro_schema.h"
#include "codec.h"

static const char *const files[SCHEMA_COUNT] = {
	[SCHEMA_DEAD_LETTER_RECORD] = SCHEMAS_DIR "/avro/dead_letter_record.avsc",
	[SCHEMA_PARKED_RECORD] = SCHEMAS_DIR "/avro/parked_record.avsc",
	[SCHEMA_INBOX_RECORD] = SCHEMAS_DIR "/avro/inbox_record.avsc",
	[SCHEMA_CHECKPOINT] = SCHEMAS_DIR "/avro/checkpoint.avsc",
};

static json_t *schema_json(const char *file)
{
	json_error_t error;
	json_t *json = json_load_file(file, 0, &error);

	cr_assert(json, "%s:%d: %s", file, error.line, error.text);
	return json;
}

/* avro_schema.h computes it, and is tested against fastavro. */
static uint64_t fingerprint_of(const char *file)
{
	json_t *json = schema_json(file);
	AUTO_FREE char *text = json_dumps(json, 0);
	struct avro_schema *schema;
	struct err err;
	uint64_t fingerprint;

	cr_assert_eq(
		avro_schema_parse(slice_str(text), &schema, &err), 0, "%s: %s", file, err.text);
	fingerprint = schema->fingerprint;
	avro_schema_free(schema);
	json_decref(json);
	return fingerprint;
}

Test(codec_schema, fingerprints_are_those_of_the_files)
{
	for (int id = 0; id < SCHEMA_COUNT; id++) {
		uint64_t fingerprint = fingerprint_of(files[id]);

		cr_expect_eq(schema_fingerprint((enum schema_id)id), fingerprint,
			"%s has 0x%016llx", files[id], (unsigned long long)fingerprint);
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

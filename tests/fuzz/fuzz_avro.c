/* Input: a writer's schema, a NUL, and a payload. */
#include "avro_schema.h"
#include "framing.h"
#include "fuzz.h"

/* The canonical form is a schema, and its own canonical form. */
static void check_schema(const struct avro_schema *schema)
{
	CLEANUP(buf_free) struct buf form = {0}, again = {0};
	struct avro_schema *reparsed;
	struct err err;

	avro_schema_canonical(schema, &form);
	if (form.n > AVRO_SCHEMA_BYTES || memchr(form.p, '\\', form.n))
		return; /* names are not escaped: nor does Java */
	if (avro_schema_parse(slice_of(form.p, form.n), &reparsed, &err))
		return; /* a name with quotes in it */
	avro_schema_canonical(reparsed, &again);
	MUST(reparsed->fingerprint == avro_crc64(slice_of(again.p, again.n)));
	avro_schema_free(reparsed);
}

static void check_payload(const struct avro_schema *schema, struct slice payload)
{
	static const struct read_names ours;
	static struct arena arena;
	struct framing framing = {FRAMING_SCHEMA, {.number = 1}, payload};
	struct read_fields fields;

	arena_reset(&arena);
	if (!read_fields_from_avro(&arena, &ours, schema, &framing, payload, &fields))
		fuzz_check_fields(&arena, &fields);
	MUST(arena.used <= 1000000 + 100 * payload.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice payload = slice_of(data, size);
	struct slice text = fuzz_until(&payload, '\0');
	struct avro_schema *schema;
	struct framing framing;

	framing_detect(SLICE_NULL, payload, &framing);
	if (avro_schema_parse(text, &schema, NULL))
		return 0;
	check_schema(schema);
	check_payload(schema, payload);
	avro_schema_free(schema);
	return 0;
}

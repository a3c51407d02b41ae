/* Our codec against avro-c, which reads and writes by the files in schemas/avro. */
#include <inttypes.h>

#include "codec_oracle.h"
#include "codec_random.h"

#define SEEDS 300
#define FRAME 10

static avro_value_iface_t *class_load(const char *file)
{
	static char text[32 * 1024];
	avro_value_iface_t *class;
	avro_schema_t schema;
	FILE *f = fopen(file, "r");
	size_t n;

	cr_assert(f, "%s", file);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	cr_assert_lt(n, sizeof(text));
	MUST(avro_schema_from_json_length(text, n, &schema));
	class = avro_generic_class_from_schema(schema);
	avro_schema_decref(schema);
	return class;
}

static avro_value_t value_new(avro_value_iface_t *class)
{
	avro_value_t value;

	MUST(avro_generic_value_new(class, &value));
	return value;
}

/* avro-c reads our body, to its last byte. */
static void oracle_read(avro_value_t *v, struct slice bytes)
{
	avro_reader_t reader =
		avro_reader_memory((const char *)bytes.p + FRAME, (int64_t)(bytes.n - FRAME));
	char one_more;

	MUST(avro_value_read(reader, v));
	cr_assert_neq(avro_read(reader, &one_more, 1), 0, "bytes left over");
	avro_reader_free(reader);
}

/* avro-c writes the body behind our frame. */
static struct slice oracle_write(struct arena *a, avro_value_t *v, enum schema_id id)
{
	uint64_t fingerprint = htole64(schema_fingerprint(id));
	size_t n;
	char *p;
	avro_writer_t writer;

	MUST(avro_value_sizeof(v, &n));
	p = arena_alloc(a, FRAME + n);
	p[0] = (char)0xc3;
	p[1] = 0x01;
	memcpy(p + 2, &fingerprint, sizeof(fingerprint));
	writer = avro_writer_memory(p + FRAME, (int64_t)n);
	MUST(avro_value_write(writer, v));
	avro_writer_free(writer);
	return slice_of(p, FRAME + n);
}

Test(codec_oracle, dead_letter_records_agree_with_avro_c_both_ways)
{
	avro_value_iface_t *class = class_load(SCHEMAS_DIR "/avro/dead_letter_record.avsc");

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		struct record sent = random_record(&random), got;
		avro_value_t v = value_new(class);
		struct err err;

		oracle_read(&v, record_encode(&arena, &sent));
		got = get_record(&arena, &v);
		cr_assert(record_eq(&got, &sent), "read by avro-c, seed %" PRIu64, seed);

		MUST(avro_value_reset(&v));
		set_record(&v, &sent);
		cr_assert_eq(record_decode(oracle_write(&arena, &v, SCHEMA_DEAD_LETTER_RECORD),
				     &got, &err),
			0, "%s, seed %" PRIu64, err.text, seed);
		cr_assert(record_eq(&got, &sent), "written by avro-c, seed %" PRIu64, seed);
		avro_value_decref(&v);
		arena_free(&arena);
	}
	avro_value_iface_decref(class);
}

Test(codec_oracle, parked_records_agree_with_avro_c_both_ways)
{
	avro_value_iface_t *class = class_load(SCHEMAS_DIR "/avro/parked_record.avsc");

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		struct parked sent = random_parked(&random), got;
		avro_value_t v = value_new(class);
		struct err err;

		oracle_read(&v, parked_encode(&arena, &sent));
		got = get_parked(&arena, &v);
		cr_assert(parked_eq(&got, &sent), "read by avro-c, seed %" PRIu64, seed);

		MUST(avro_value_reset(&v));
		set_parked(&v, &sent);
		cr_assert_eq(
			parked_decode(oracle_write(&arena, &v, SCHEMA_PARKED_RECORD), &got, &err),
			0, "%s, seed %" PRIu64, err.text, seed);
		cr_assert(parked_eq(&got, &sent), "written by avro-c, seed %" PRIu64, seed);
		avro_value_decref(&v);
		arena_free(&arena);
	}
	avro_value_iface_decref(class);
}

Test(codec_oracle, inbox_records_agree_with_avro_c_both_ways)
{
	avro_value_iface_t *class = class_load(SCHEMAS_DIR "/avro/inbox_record.avsc");

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		struct inbox sent = random_inbox(&random), got;
		avro_value_t v = value_new(class);
		struct err err;

		oracle_read(&v, inbox_encode(&arena, &sent));
		got = get_inbox(&arena, &v);
		cr_assert(inbox_eq(&got, &sent), "read by avro-c, seed %" PRIu64, seed);

		MUST(avro_value_reset(&v));
		set_inbox(&v, &sent);
		cr_assert_eq(
			inbox_decode(oracle_write(&arena, &v, SCHEMA_INBOX_RECORD), &got, &err), 0,
			"%s, seed %" PRIu64, err.text, seed);
		cr_assert(inbox_eq(&got, &sent), "written by avro-c, seed %" PRIu64, seed);
		avro_value_decref(&v);
		arena_free(&arena);
	}
	avro_value_iface_decref(class);
}

Test(codec_oracle, checkpoints_agree_with_avro_c_both_ways)
{
	avro_value_iface_t *class = class_load(SCHEMAS_DIR "/avro/checkpoint.avsc");

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		struct checkpoint sent = random_checkpoint(&random), got;
		avro_value_t v = value_new(class);
		struct err err;

		oracle_read(&v, checkpoint_encode(&arena, &sent));
		got = get_checkpoint(&arena, &v);
		cr_assert(checkpoint_eq(&got, &sent), "read by avro-c, seed %" PRIu64, seed);

		MUST(avro_value_reset(&v));
		set_checkpoint(&v, &sent);
		cr_assert_eq(checkpoint_decode(&arena, oracle_write(&arena, &v, SCHEMA_CHECKPOINT),
				     &got, &err),
			0, "%s, seed %" PRIu64, err.text, seed);
		cr_assert(checkpoint_eq(&got, &sent), "written by avro-c, seed %" PRIu64, seed);
		avro_value_decref(&v);
		arena_free(&arena);
	}
	avro_value_iface_decref(class);
}

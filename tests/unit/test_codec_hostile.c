/* Bytes that are not, or not quite, what we wrote. Each decode runs on a block of just its size. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "codec_random.h"
#include "wire.h"

#define SEEDS 40

/* Decodes bytes as a type and, where that succeeds, makes sure that the value survives another
 * round trip. */
typedef int decode_fn(struct arena *a, struct slice bytes, struct err *err);

static int decode_record(struct arena *a, struct slice bytes, struct err *err)
{
	struct record r, again;
	int result = record_decode(bytes, &r, err);

	if (!result) {
		cr_assert_eq(record_decode(record_encode(a, &r), &again, NULL), 0);
		cr_assert(record_eq(&r, &again));
	}
	return result;
}

static int decode_parked(struct arena *a, struct slice bytes, struct err *err)
{
	struct parked p, again;
	int result = parked_decode(bytes, &p, err);

	if (!result) {
		cr_assert_eq(parked_decode(parked_encode(a, &p), &again, NULL), 0);
		cr_assert(parked_eq(&p, &again));
	}
	return result;
}

static int decode_inbox(struct arena *a, struct slice bytes, struct err *err)
{
	struct inbox i, again;
	int result = inbox_decode(bytes, &i, err);

	if (!result) {
		cr_assert_eq(inbox_decode(inbox_encode(a, &i), &again, NULL), 0);
		cr_assert(inbox_eq(&i, &again));
	}
	return result;
}

static int decode_checkpoint(struct arena *a, struct slice bytes, struct err *err)
{
	struct checkpoint c, again;
	int result = checkpoint_decode(a, bytes, &c, err);

	if (!result) {
		struct slice written = checkpoint_encode(a, &c);

		cr_assert_eq(checkpoint_decode(a, written, &again, NULL), 0);
		cr_assert(checkpoint_eq(&c, &again));
	}
	return result;
}

static decode_fn *const decoders[SCHEMA_COUNT] = {
	[SCHEMA_DEAD_LETTER_RECORD] = decode_record,
	[SCHEMA_PARKED_RECORD] = decode_parked,
	[SCHEMA_INBOX_RECORD] = decode_inbox,
	[SCHEMA_CHECKPOINT] = decode_checkpoint,
};

static struct slice random_encoded(struct random *random, enum schema_id id)
{
	struct record record = random_record(random);
	struct parked parked = random_parked(random);
	struct inbox inbox = random_inbox(random);
	struct checkpoint checkpoint = random_checkpoint(random);

	switch (id) {
	case SCHEMA_DEAD_LETTER_RECORD:
		return record_encode(random->arena, &record);
	case SCHEMA_PARKED_RECORD:
		return parked_encode(random->arena, &parked);
	case SCHEMA_INBOX_RECORD:
		return inbox_encode(random->arena, &inbox);
	case SCHEMA_CHECKPOINT:
		return checkpoint_encode(random->arena, &checkpoint);
	}
	abort();
}

/* On a copy in a block of its own, so that a sanitizer sees a read past either end. */
static int decode_alone(enum schema_id id, struct slice bytes, struct err *err)
{
	AUTO_FREE uint8_t *copy = mem_zalloc(bytes.n);
	struct arena arena = {0};
	int result;

	if (bytes.n)
		memcpy(copy, bytes.p, bytes.n);
	result = decoders[id](&arena, slice_of(copy, bytes.n), err);
	arena_free(&arena);
	return result;
}

/* Our frame, and room for a body. */
static struct wire_writer framed(struct arena *a, enum schema_id id)
{
	struct wire_writer w = wire_writer_new(a, 256);
	uint64_t fingerprint = schema_fingerprint(id);

	wire_write_raw(&w, SLICE_LIT("\xc3\x01"));
	for (int i = 0; i < 8; i++, fingerprint >>= 8)
		*w.p++ = (uint8_t)fingerprint;
	return w;
}

typedef void mangle_fn(enum schema_id id, struct slice bytes);

static void for_random_encoded(mangle_fn *mangle)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		for (int id = 0; id < SCHEMA_COUNT; id++) {
			struct arena arena = {0};
			struct random random = {seed, &arena};
			struct slice bytes = random_encoded(&random, (enum schema_id)id);

			/* A long payload adds time, not cases. */
			if (bytes.n < 1000)
				mangle((enum schema_id)id, bytes);
			arena_free(&arena);
		}
	}
}

static void truncate_everywhere(enum schema_id id, struct slice bytes)
{
	for (size_t n = 0; n < bytes.n; n++) {
		struct err err = {0};

		cr_assert_eq(decode_alone(id, slice_of(bytes.p, n), &err), ERR_DATA,
			"schema %d, %zu of %zu bytes", (int)id, n, bytes.n);
		cr_assert_eq(err.class, ERR_DATA);
		cr_assert(strstr(err.text, " at byte "), "%s", err.text);
	}
}

Test(codec_hostile, every_truncation_of_a_record_is_refused)
{
	for_random_encoded(truncate_everywhere);
}

static void flip_every_bit(enum schema_id id, struct slice bytes)
{
	AUTO_FREE uint8_t *copy = mem_zalloc(bytes.n);
	struct arena arena = {0};

	memcpy(copy, bytes.p, bytes.n);
	for (size_t bit = 0; bit < 8 * bytes.n; bit++) {
		struct err err = {0};
		int result;

		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		result = decoders[id](&arena, slice_of(copy, bytes.n), &err);
		cr_assert(result == 0 || result == ERR_DATA ||
				  (result == ERR_CONFIG && bit / 8 >= 2 && bit / 8 < 10),
			"bit %zu: %d", bit, result);
		cr_assert_eq((int)err.class, result);
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		arena_reset(&arena);
	}
	arena_free(&arena);
}

Test(codec_hostile, a_record_with_any_bit_flipped_is_refused_or_is_another_record)
{
	for_random_encoded(flip_every_bit);
}

static void append_a_byte(enum schema_id id, struct slice bytes)
{
	AUTO_FREE uint8_t *longer = mem_zalloc(bytes.n + 1);
	struct err err = {0};

	memcpy(longer, bytes.p, bytes.n);
	cr_assert_eq(decode_alone(id, slice_of(longer, bytes.n + 1), &err), ERR_DATA);
	cr_assert(strstr(err.text, "1 bytes too many"), "%s", err.text);
}

Test(codec_hostile, bytes_left_over_are_refused)
{
	for_random_encoded(append_a_byte);
}

Test(codec_hostile, random_bytes_behind_a_good_frame_never_crash)
{
	for (uint64_t seed = 0; seed < 20000; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		enum schema_id id = (enum schema_id)random_below(&random, SCHEMA_COUNT);
		struct wire_writer w = framed(&arena, id);
		size_t shift = random_below(&random, 8); /* small numbers get further */
		int result;

		for (size_t n = random_below(&random, 100); n > 0; n--)
			*w.p++ = (uint8_t)((random_next(&random) & 0xff) >> shift);
		result = decode_alone(id, wire_written(&w), NULL);
		cr_assert(result == 0 || result == ERR_DATA, "seed %d: %d", (int)seed, result);
		arena_free(&arena);
	}
}

/* --- whose record it is --- */

Test(codec_hostile, a_null_value_is_refused)
{
	for (int id = 0; id < SCHEMA_COUNT; id++)
		cr_assert_eq(decoders[id](NULL, SLICE_NULL, NULL), ERR_DATA);
}

Test(codec_hostile, a_record_of_another_of_our_schemas_is_refused_by_name)
{
	struct arena arena = {0};
	struct random random = {1, &arena};
	struct slice bytes = random_encoded(&random, SCHEMA_INBOX_RECORD);
	struct err err;

	cr_assert_eq(decode_alone(SCHEMA_DEAD_LETTER_RECORD, bytes, &err), ERR_DATA);
	cr_assert_str_eq(err.text,
		"not a DeadLetterRecord: its schema fingerprint at byte 2 is that of InboxRecord");
	arena_free(&arena);
}

Test(codec_hostile, an_unknown_fingerprint_is_a_later_version_to_upgrade_to)
{
	static const uint8_t later[] = {0xc3, 0x01, 8, 7, 6, 5, 4, 3, 2, 1, 0};
	struct err err;

	cr_assert_eq(decode_alone(SCHEMA_PARKED_RECORD, slice_of(later, sizeof(later)), &err),
		ERR_CONFIG);
	cr_assert(strstr(err.text, "ParkedRecord"), "%s", err.text);
	cr_assert(strstr(err.text, "0102030405060708"), "%s", err.text);
	cr_assert(strstr(err.text, "upgrade this worker"), "%s", err.text);
}

/* --- one field at a time, on inbox records and checkpoints written by hand --- */

/* An inbox record up to the headers, and then tail. */
static void expect_headers(struct slice tail, const char *wanted)
{
	struct arena arena = {0};
	struct wire_writer w = framed(&arena, SCHEMA_INBOX_RECORD);
	struct err err = {0};

	wire_write_raw(&w, SLICE_LIT("\x02t\x00\x00\x00\x00\x00"));
	wire_write_raw(&w, tail);
	decode_alone(SCHEMA_INBOX_RECORD, wire_written(&w), &err);
	cr_expect_str_eq(err.text, wanted);
	arena_free(&arena);
}

/* Where the headers begin, and 2^40 as a number. */
#define AT "at byte 17: "
#define TERA "\x80\x80\x80\x80\x80\x40"

Test(codec_hostile, what_is_wrong_is_named_with_its_field_and_place)
{
	expect_headers(SLICE_LIT("\x00\x00\x00"), "");
	expect_headers(SLICE_LIT("\x00\x01"),
		"InboxRecord.headers_cut at byte 18: -1 is not within 0 to 2147483647");
	expect_headers(SLICE_LIT("\x00\x80\x80\x80\x80\x10"),
		"InboxRecord.headers_cut at byte 18: 2147483648 is not within 0 to 2147483647");
	expect_headers(SLICE_LIT("\x02\x02k\x04"),
		"InboxRecord.headers.value at byte 20: 2 is not within 0 to 1");
	expect_headers(SLICE_LIT("\x02\x01"),
		"InboxRecord.headers.key at byte 19: -1 bytes declared, 0 left");
	expect_headers(SLICE_LIT("\x02\x06kk"),
		"InboxRecord.headers.key at byte 19: 3 bytes declared, 2 left");
	expect_headers(SLICE_LIT("\x00\x00\x04"),
		"InboxRecord.oversize at byte 19: 2 is not within 0 to 1");
	expect_headers(SLICE_LIT("\x00\x00\x02hash"),
		"InboxRecord.oversize.content at byte 20: 8 bytes wanted, 4 left");
	expect_headers(SLICE_LIT("\x00\x00\x02 a hash.\x04m"),
		"InboxRecord.oversize.message at byte 29: 2 bytes declared, 1 left");
	expect_headers(
		SLICE_LIT("\x80"), "InboxRecord.headers " AT "the record ends inside a number");
	expect_headers(SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
		"InboxRecord.headers " AT "a number of more than 64 bits");
	expect_headers(SLICE_LIT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
		"InboxRecord.headers " AT "a number of more than 64 bits");
}

Test(codec_hostile, bombs_are_refused_by_what_is_left)
{
	expect_headers(SLICE_LIT("\x02" TERA "\x00\x00"),
		"InboxRecord.headers.key at byte 24: 1099511627776 bytes declared, 2 left");
	expect_headers(SLICE_LIT("\x80\x80\x80\x40\x00"),
		"InboxRecord.headers at byte 21: 67108864 items declared, 1 bytes left");
	expect_headers(SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
		"InboxRecord.headers at byte 28: 9223372036854775808 items declared, 0 bytes left");
}

Test(codec_hostile, blocks_with_their_size_are_read)
{
	expect_headers(SLICE_LIT("\x01\x06\x02k\x00\x00\x00\x00"), "");
	expect_headers(SLICE_LIT("\x01\x06\x02k\x00\x02\x02l\x00\x00\x00\x00"), "");
	expect_headers(SLICE_LIT("\x01\x04\x02k\x00\x00\x00"),
		"InboxRecord.headers at byte 22: a block of another size than it declares");
	expect_headers(SLICE_LIT("\x01\x40\x02k\x00\x00\x00"),
		"InboxRecord.headers at byte 19: 32 bytes declared, 5 left");
}

Test(codec_hostile, headers_in_several_blocks_are_walked_and_kept_as_they_are)
{
	const struct slice blocks = SLICE_LIT("\x02\x02k\x02\x02v\x03\x0c\x02l\x00\x02m\x00\x00");
	struct arena arena = {0};
	struct inbox sent = {.dead_letter = {SLICE_LIT("t"), 0, 0}, .headers = blocks}, got;
	struct header h;
	char keys[4] = "";
	size_t pos = 0;

	cr_assert_eq(inbox_decode(inbox_encode(&arena, &sent), &got, NULL), 0);
	cr_assert(slice_eq(got.headers, blocks));
	for (size_t i = 0; headers_next(got.headers, &pos, &h); i++)
		keys[i] = (char)h.key.p[0];
	cr_assert_str_eq(keys, "klm");
	cr_assert(slice_eq(headers_last(got.headers, "k"), SLICE_LIT("v")));
	arena_free(&arena);
}

Test(codec_hostile, an_unknown_symbol_is_refused)
{
	struct arena arena = {0};
	struct record r = {.reason = (enum reason)REASON_COUNT};
	struct parked p = {.cause = (enum cause)CAUSE_COUNT};
	struct err err;

	cr_assert_eq(
		decode_alone(SCHEMA_DEAD_LETTER_RECORD, record_encode(&arena, &r), &err), ERR_DATA);
	cr_assert(strstr(err.text, "DeadLetterRecord.reason"), "%s", err.text);
	cr_assert_eq(decode_alone(SCHEMA_PARKED_RECORD, parked_encode(&arena, &p), &err), ERR_DATA);
	cr_assert(strstr(err.text, "ParkedRecord.cause"), "%s", err.text);
	arena_free(&arena);
}

static int checkpoint_of(size_t n, struct err *err)
{
	struct arena arena = {0};
	struct checkpoint c = {.partitions = 12, .n_sources = n};
	int result;

	c.sources = mem_zalloc(n * sizeof(*c.sources));
	result = decode_alone(SCHEMA_CHECKPOINT, checkpoint_encode(&arena, &c), err);
	free(c.sources);
	arena_free(&arena);
	return result;
}

Test(codec_hostile, a_checkpoint_holds_at_most_its_bound_of_sources)
{
	struct err err;

	cr_assert_eq(checkpoint_of(CHECKPOINT_SOURCES_MAX, &err), 0);
	cr_assert_eq(checkpoint_of(CHECKPOINT_SOURCES_MAX + 1, &err), ERR_DATA);
	cr_assert(strstr(err.text, "Checkpoint.sources"), "%s", err.text);
}

Test(codec_hostile, an_inbox_record_with_a_topic_longer_than_kafka_allows_is_refused)
{
	CLEANUP(arena_free) struct arena arena = {0};
	uint8_t name[250];
	struct inbox sent = {.dead_letter = {slice_of(name, sizeof(name)), 0, 0}}, got;
	struct err err;

	memset(name, 't', sizeof(name));
	cr_assert_eq(inbox_decode(inbox_encode(&arena, &sent), &got, &err), ERR_DATA);
	cr_assert(strstr(err.text, "250 bytes"));
	sent.dead_letter.topic.n--;
	cr_assert_eq(inbox_decode(inbox_encode(&arena, &sent), &got, &err), 0);
}

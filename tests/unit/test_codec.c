#include <criterion/criterion.h>
#include <stdlib.h>

#include "codec_random.h"

#define SEEDS 2000

static struct record smallest_record(void)
{
	return (struct record){
		.idempotency_key = SLICE_LIT("M|2026-07-17T00:00:00Z|1"),
		.attempts = 1,
		.upstream_attempts = -1,
		.dead_letter = {SLICE_LIT("t"), 0, 0},
	};
}

static struct record through_bytes(struct arena *a, const struct record *r)
{
	struct record got;
	struct err err;

	cr_assert_eq(record_decode(record_encode(a, r), &got, &err), 0, "%s", err.text);
	return got;
}

/* --- round trips --- */

Test(codec, random_dead_letter_records_come_back_equal)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		struct record sent = random_record(&random);
		struct record got = through_bytes(&arena, &sent);

		cr_assert(record_eq(&got, &sent), "seed %d", (int)seed);
		arena_free(&arena);
	}
}

Test(codec, random_parked_records_come_back_equal)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		struct parked sent = random_parked(&random), got;

		cr_assert_eq(parked_decode(parked_encode(&arena, &sent), &got, NULL), 0);
		cr_assert(parked_eq(&got, &sent), "seed %d", (int)seed);
		arena_free(&arena);
	}
}

Test(codec, random_inbox_records_come_back_equal)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		struct inbox sent = random_inbox(&random), got;

		cr_assert_eq(inbox_decode(inbox_encode(&arena, &sent), &got, NULL), 0);
		cr_assert(inbox_eq(&got, &sent), "seed %d", (int)seed);
		arena_free(&arena);
	}
}

Test(codec, random_checkpoints_come_back_equal)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct arena arena = {0};
		struct random random = {seed, &arena};
		struct checkpoint sent = random_checkpoint(&random), got;
		struct slice bytes = checkpoint_encode(&arena, &sent);

		cr_assert_eq(checkpoint_decode(&arena, bytes, &got, NULL), 0);
		cr_assert(checkpoint_eq(&got, &sent), "seed %d", (int)seed);
		arena_free(&arena);
	}
}

/* --- null, empty, and the ends of ranges --- */

Test(codec, null_and_empty_are_kept_apart_in_every_optional_field)
{
	struct arena arena = {0};
	struct record r = smallest_record();
	struct slice *const optional[] = {
		&r.payload, &r.record_key, &r.error.code, &r.error.message};

	r.error.class = SLICE_LIT("postgres");
	for (size_t i = 0; i < ARRAY_LEN(optional); i++) {
		struct record got = through_bytes(&arena, &r);

		cr_assert(record_eq(&got, &r), "field %zu null", i);
		*optional[i] = SLICE_LIT("");
		got = through_bytes(&arena, &r);
		cr_assert(record_eq(&got, &r), "field %zu empty", i);
	}
	arena_free(&arena);
}

Test(codec, null_and_empty_are_kept_apart_in_a_parked_record)
{
	struct arena arena = {0};
	struct parked p = {.entry = smallest_record()}, got;
	struct slice *const optional[] = {&p.by, &p.note, &p.ref, &p.committed};

	for (size_t i = 0; i < ARRAY_LEN(optional); i++) {
		cr_assert_eq(parked_decode(parked_encode(&arena, &p), &got, NULL), 0);
		cr_assert(parked_eq(&got, &p), "field %zu null", i);
		*optional[i] = SLICE_LIT("");
		cr_assert_eq(parked_decode(parked_encode(&arena, &p), &got, NULL), 0);
		cr_assert(parked_eq(&got, &p), "field %zu empty", i);
	}
	arena_free(&arena);
}

Test(codec, null_and_empty_are_kept_apart_in_an_inbox_record)
{
	struct arena arena = {0};
	struct inbox sent = {.dead_letter = {SLICE_LIT("t"), 0, 0}}, got;

	cr_assert_eq(inbox_decode(inbox_encode(&arena, &sent), &got, NULL), 0);
	cr_assert(slice_is_null(got.record_key) && slice_is_null(got.payload));
	cr_assert(slice_is_null(got.oversize.message));
	sent.record_key = sent.payload = sent.oversize.message = SLICE_LIT("");
	cr_assert_eq(inbox_decode(inbox_encode(&arena, &sent), &got, NULL), 0);
	cr_assert(slice_eq(got.record_key, SLICE_LIT("")) && slice_eq(got.payload, SLICE_LIT("")));
	cr_assert(slice_eq(got.oversize.message, SLICE_LIT("")));
	arena_free(&arena);
}

Test(codec, numbers_at_both_ends_of_their_range_come_back_equal)
{
	struct arena arena = {0};
	struct record r = smallest_record(), got;

	r.attempts = r.replays = r.headers_cut = r.error_cut = INT32_MAX;
	r.upstream_attempts = INT32_MAX;
	r.first_seen_us = r.due_us = INT64_MIN;
	r.last_seen_us = INT64_MAX;
	r.content = UINT64_MAX;
	r.origin = (struct origin){SLICE_LIT("t"), INT32_MIN, INT64_MIN};
	r.dead_letter = (struct origin){SLICE_LIT("t"), INT32_MAX, INT64_MAX};
	r.error = (struct record_error){SLICE_LIT("c"), SLICE_LIT("d"), SLICE_LIT("m")};
	got = through_bytes(&arena, &r);
	cr_assert(record_eq(&got, &r));
	arena_free(&arena);
}

Test(codec, an_inbox_record_of_the_longest_numbers_comes_back_equal)
{
	struct inbox sent = {.dead_letter = {SLICE_LIT(""), INT32_MIN, INT64_MIN},
		.seen_us = INT64_MIN,
		.record_key = SLICE_LIT(""),
		.payload = SLICE_LIT(""),
		.headers_cut = INT32_MAX,
		.oversize = {SLICE_LIT(""), UINT64_MAX}};
	struct arena arena = {0};
	struct inbox got;

	cr_assert_eq(inbox_decode(inbox_encode(&arena, &sent), &got, NULL), 0);
	cr_assert(inbox_eq(&got, &sent));
	arena_free(&arena);
}

Test(codec, a_checkpoint_of_the_longest_numbers_comes_back_equal)
{
	struct source_position sources[50];
	struct checkpoint sent = {INT32_MIN, SLICE_LIT("g"), SLICE_LIT("auto"), INT64_MIN, sources,
		ARRAY_LEN(sources)};
	struct arena arena = {0};
	struct checkpoint got;
	struct slice bytes;

	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		sources[i] = (struct source_position){SLICE_LIT(""), INT32_MIN, INT64_MIN};
	bytes = checkpoint_encode(&arena, &sent);
	cr_assert_eq(checkpoint_decode(&arena, bytes, &got, NULL), 0);
	cr_assert(checkpoint_eq(&got, &sent));
	arena_free(&arena);
}

Test(codec, counts_past_an_avro_int_saturate)
{
	struct arena arena = {0};
	struct record r = smallest_record(), got;

	r.attempts = r.replays = r.headers_cut = r.error_cut = UINT32_MAX;
	r.upstream_attempts = INT64_MAX;
	got = through_bytes(&arena, &r);
	cr_assert_eq(got.attempts, INT32_MAX);
	cr_assert_eq(got.replays, INT32_MAX);
	cr_assert_eq(got.headers_cut, INT32_MAX);
	cr_assert_eq(got.error_cut, INT32_MAX);
	cr_assert_eq(got.upstream_attempts, INT32_MAX);
	arena_free(&arena);
}

Test(codec, an_error_without_a_class_keeps_its_code_and_message)
{
	struct arena arena = {0};
	struct record r = smallest_record(), got;

	r.error.message = SLICE_LIT("meter unknown");
	got = through_bytes(&arena, &r);
	cr_assert(slice_eq(got.error.class, SLICE_LIT("")));
	cr_assert(slice_is_null(got.error.code));
	cr_assert(slice_eq(got.error.message, r.error.message));
	arena_free(&arena);
}

Test(codec, decoding_borrows_from_the_bytes)
{
	struct arena arena = {0};
	struct record r = smallest_record(), got;
	struct slice bytes;

	r.payload = SLICE_LIT("{\"kwh\":\"12.50\"}");
	bytes = record_encode(&arena, &r);
	cr_assert_eq(record_decode(bytes, &got, NULL), 0);
	cr_assert(got.payload.p > bytes.p && got.payload.p < bytes.p + bytes.n);
	arena_free(&arena);
}

Test(codec, the_content_hash_lies_in_the_bytes_as_its_hex_digits_read)
{
	struct arena arena = {0};
	struct record r = smallest_record();
	struct slice bytes;

	r.content = 0x0123456789abcdef;
	bytes = record_encode(&arena, &r);
	/* Behind it: headers_cut and error_cut, a byte each. */
	cr_assert_arr_eq(bytes.p + bytes.n - 10, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
	arena_free(&arena);
}

/* --- headers --- */

static struct header header(const char *key, struct slice value)
{
	return (struct header){slice_str(key), value};
}

Test(headers, order_repeats_nulls_and_empties_are_kept)
{
	const struct header sent[] = {
		header("a", SLICE_LIT("1")),
		header("b", SLICE_NULL),
		header("a", SLICE_LIT("")),
		header("", SLICE_LIT("\0\xff")),
		{SLICE_LIT("\xff\0not UTF-8"), SLICE_LIT("x")},
	};
	struct arena arena = {0};
	uint32_t cut = 99;
	struct slice headers = headers_encode(&arena, sent, ARRAY_LEN(sent), &cut);
	struct header got;
	size_t pos = 0;

	cr_assert_eq(cut, 0);
	for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
		cr_assert(headers_next(headers, &pos, &got), "%zu", i);
		cr_assert(slice_eq(got.key, sent[i].key) && slice_eq(got.value, sent[i].value),
			"%zu", i);
	}
	cr_assert_not(headers_next(headers, &pos, &got));
	cr_assert_not(headers_next(headers, &pos, &got), "the end stays the end");
	arena_free(&arena);
}

Test(headers, none_are_one_byte_and_so_is_a_record_without)
{
	struct arena arena = {0};
	struct record r = smallest_record(), got;
	uint32_t cut;
	size_t pos = 0;
	struct header h;

	r.headers = headers_encode(&arena, NULL, 0, &cut);
	cr_assert(slice_eq(r.headers, SLICE_LIT("\0")));
	cr_assert_not(headers_next(r.headers, &pos, &h));
	cr_assert_not(headers_next(SLICE_NULL, &pos, &h));
	r.headers = SLICE_NULL;
	got = through_bytes(&arena, &r);
	cr_assert(slice_eq(got.headers, SLICE_LIT("\0")));
	arena_free(&arena);
}

Test(headers, the_last_of_a_name_counts)
{
	const struct header v[] = {
		header("name", SLICE_LIT("old")),
		header("name", SLICE_LIT("new")),
		header("names", SLICE_LIT("other")),
		header("gone", SLICE_LIT("x")),
		header("gone", SLICE_NULL),
	};
	struct arena arena = {0};
	uint32_t cut;
	struct slice headers = headers_encode(&arena, v, ARRAY_LEN(v), &cut);

	cr_assert(slice_eq(headers_last(headers, "name"), SLICE_LIT("new")));
	cr_assert(slice_is_null(headers_last(headers, "gone")));
	cr_assert(slice_is_null(headers_last(headers, "nam")));
	cr_assert(slice_is_null(headers_last(SLICE_NULL, "name")));
	arena_free(&arena);
}

Test(headers, one_too_large_is_skipped_and_counted_and_those_behind_it_kept)
{
	static uint8_t trace[RECORD_HEADERS_BYTES];
	const struct header v[] = {
		header("first", SLICE_LIT("1")),
		header("stacktrace", slice_of(trace, sizeof(trace))),
		header("dlq-reason", SLICE_LIT("permanent_4xx")),
	};
	struct arena arena = {0};
	uint32_t cut;
	struct slice headers = headers_encode(&arena, v, ARRAY_LEN(v), &cut);

	cr_assert_eq(cut, strlen("stacktrace") + sizeof(trace));
	cr_assert(slice_eq(headers_last(headers, "first"), SLICE_LIT("1")));
	cr_assert(slice_eq(headers_last(headers, "dlq-reason"), SLICE_LIT("permanent_4xx")));
	cr_assert(slice_is_null(headers_last(headers, "stacktrace")));
	arena_free(&arena);
}

enum { HEADERS_BOUND = RECORD_HEADERS_BYTES };

/* Of n equal headers the first ones fill the bound, and one more would not have fitted. */
static void fill_with(size_t key_bytes, size_t value_bytes)
{
	static uint8_t bytes[HEADERS_BOUND];
	struct header h = {slice_of(bytes, key_bytes), slice_of(bytes, value_bytes)}, got;
	size_t n = 2ul * HEADERS_BOUND / (key_bytes + value_bytes + 1), kept = 0, pos = 0;
	struct header *v = mem_zalloc(n * sizeof(*v));
	struct arena arena = {0};
	struct slice headers;
	uint32_t cut;

	for (size_t i = 0; i < n; i++)
		v[i] = h;
	headers = headers_encode(&arena, v, n, &cut);
	while (headers_next(headers, &pos, &got))
		kept++;
	cr_assert_leq(headers.n, HEADERS_BOUND);
	cr_assert_gt(headers.n + key_bytes + value_bytes + 10, HEADERS_BOUND);
	cr_assert_eq(cut, (n - kept) * (key_bytes + value_bytes));
	arena_free(&arena);
	free(v);
}

Test(headers, the_bound_holds_framing_included_and_is_used_up)
{
	fill_with(0, 0);
	fill_with(1, 0);
	fill_with(1, 1); /* ends one byte short of one more */
	fill_with(7, 30);
	fill_with(200, 8000);
	fill_with(0, HEADERS_BOUND - 10);
}

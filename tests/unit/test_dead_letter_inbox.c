/* A dead letter that its owner reads itself and one handed over to it give the same record. */
#include <criterion/criterion.h>

#include "codec_random.h"
#include "dead_letter.h"
#include "hash.h"

#define KEY "MTR-00000001|2026-07-17T00:00:00+00:00|1"
#define TOPIC "meter-reads.dead-letter"
#define NOW_US 1784250000000000
#define SEEN_US 1784249000000000
#define LARGE 40000	  /* more than headers may have */
#define LARGEST_KEY 65536 /* that is kept beside an oversize payload */

static struct arena arena;

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(dead_letter_inbox, .fini = free_arena);

/* Room for the largest key and headers. Less than by default, so that a test is quick. */
static const struct decode_rules rules = {.max_bytes = 200000};

static struct decoded decode(const struct decode_rules *by, const struct dead_letter *d)
{
	struct decoded ret;

	dead_letter_decode(&arena, by, d, NOW_US, &ret);
	return ret;
}

/* As its owner gets it. */
static struct dead_letter hand_over(const struct dead_letter *d, const struct decoded *decoded)
{
	struct inbox sent = dead_letter_to_inbox(d, decoded), got;
	struct err err;

	cr_assert_eq(inbox_decode(inbox_encode(&arena, &sent), &got, &err), 0, "%s", err.text);
	return dead_letter_from_inbox(&got);
}

static bool read_eq(const struct meter_read *a, const struct meter_read *b)
{
	return slice_eq(a->idempotency_key, b->idempotency_key) &&
	       slice_eq(a->meter_id, b->meter_id) && a->read_at_us == b->read_at_us &&
	       a->sequence == b->sequence && slice_eq(a->kwh, b->kwh) &&
	       slice_eq(a->reading_type, b->reading_type) && slice_eq(a->quality, b->quality) &&
	       slice_eq(a->attributes, b->attributes);
}

static void expect_same(const struct decoded *is, const struct decoded *expected, const char *how)
{
	long long offset = expected->record.dead_letter.offset;

	cr_assert_eq(is->unfit, expected->unfit, "%lld %s", offset, how);
	cr_assert_eq(is->cause, expected->cause, "%lld %s", offset, how);
	cr_assert(record_eq(&is->record, &expected->record), "%lld %s: %.*s, not %.*s", offset, how,
		SLICE_FMT(is->record.error.message), SLICE_FMT(expected->record.error.message));
	cr_assert(slice_eq(record_encode(&arena, &is->record),
			  record_encode(&arena, &expected->record)),
		"%lld %s", offset, how);
	cr_assert(read_eq(&is->read, &expected->read), "%lld %s", offset, how);
}

/* Handed over once, and once more by whoever found it in a partition that is not its own. */
static struct decoded expect_same_handed_over(
	const struct decode_rules *at_owner, const struct dead_letter *d)
{
	struct decoded direct = decode(&rules, d);
	struct dead_letter first = hand_over(d, &direct), second;
	struct decoded owner = decode(at_owner, &first);

	expect_same(&owner, &direct, "handed over");
	second = hand_over(&first, &owner);
	owner = decode(at_owner, &second);
	expect_same(&owner, &direct, "handed over twice");
	return direct;
}

/* --- any dead letter --- */

static struct slice filled(size_t n, char with)
{
	uint8_t *p = arena_alloc(&arena, n);

	memset(p, with, n);
	return slice_of(p, n);
}

static struct slice some_headers(struct random *r, uint32_t *ret_cut)
{
	static const char *const names[] = {
		"dlq-reason", "dlq-error-class", "dlq-error-code", "dlq-error-message", "x"};
	struct header v[6];
	size_t n = random_below(r, ARRAY_LEN(v) + 1);

	for (size_t i = 0; i < n; i++) {
		v[i].key = slice_str(names[random_below(r, ARRAY_LEN(names))]);
		v[i].value = random_null(r) ? SLICE_LIT("poison") : random_bytes(r);
	}
	return headers_encode(r->arena, v, n, ret_cut);
}

/* Headers beyond their bound; ours never are, those in an inbox record may be anybody's. */
static struct slice large_headers(void)
{
	static const uint8_t begin[] = "\4\24dlq-reason\2\14poison\2h\2\200\361\4";
	struct slice value = filled(LARGE, 'v');
	size_t n = sizeof(begin) - 1;
	uint8_t *p = arena_alloc(&arena, n + value.n + 1);

	memcpy(p, begin, n);
	memcpy(p + n, value.p, value.n);
	p[n + value.n] = 0;
	return slice_of(p, n + value.n + 1);
}

static struct slice some_key(struct random *r)
{
	switch (random_below(r, 8)) {
	case 0:
		return SLICE_NULL;
	case 1:
		return random_bytes(r);
	case 2:
		return filled(LARGEST_KEY + random_below(r, 2), 'k');
	default:
		return SLICE_LIT(KEY);
	}
}

static struct slice some_payload(struct random *r)
{
	switch (random_below(r, 6)) {
	case 0:
		return SLICE_NULL;
	case 1:
		return random_bytes(r);
	case 2:
		return filled(rules.max_bytes - random_below(r, 100), 'p');
	default:
		return SLICE_LIT("{\"kwh\":\"12.50\",\"quality\":\"A\",\"x\":[1]}");
	}
}

static struct dead_letter some_dead_letter(struct random *r, int64_t offset)
{
	struct dead_letter d = {
		.at = {SLICE_LIT(TOPIC), random_int(r), offset},
		.seen_us = random_long(r),
		.key = some_key(r),
		.payload = some_payload(r),
	};

	d.headers = some_headers(r, &d.headers_cut);
	if (random_below(r, 8) == 0)
		d.headers = large_headers();
	return d;
}

Test(dead_letter_inbox, any_dead_letter_gives_the_same_record_whether_handed_over_or_not)
{
	size_t fit = 0, malformed = 0, oversize = 0;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct random r = {seed, &arena};
		struct dead_letter d = some_dead_letter(&r, (int64_t)seed);
		struct decoded got = expect_same_handed_over(&rules, &d);

		fit += !got.unfit;
		malformed += got.unfit && got.cause == CAUSE_MALFORMED;
		oversize += got.unfit && got.cause == CAUSE_OVERSIZE;
		arena_reset(&arena);
	}
	cr_expect_gt(fit, 500);
	cr_expect_gt(malformed, 500);
	cr_expect_gt(oversize, 100);
}

/* --- the oversize ones --- */

static struct dead_letter oversize_one(void)
{
	return (struct dead_letter){
		.at = {SLICE_LIT(TOPIC), 3, 77},
		.seen_us = SEEN_US,
		.key = SLICE_LIT(KEY),
		.payload = filled(rules.max_bytes + 1, 'p'),
	};
}

static void expect_names_payload(const struct decoded *got, struct slice payload)
{
	const char *message = arena_cstr(&arena, got->record.error.message);
	char sha256[65];

	hash_sha256_text(payload, sha256);
	cr_expect(strstr(message, sha256), "%s", message);
	cr_expect(strstr(message, arena_printf(&arena, "payload of %zu bytes", payload.n)), "%s",
		message);
	cr_expect_eq(got->record.content, hash_content(payload));
}

Test(dead_letter_inbox, the_owner_learns_size_and_hash_of_an_oversize_payload)
{
	struct dead_letter d = oversize_one(), handed;
	struct decoded got = decode(&rules, &d);

	handed = hand_over(&d, &got);
	cr_expect(slice_is_null(handed.payload));
	got = decode(&rules, &handed);
	cr_assert(got.unfit);
	cr_expect_eq(got.cause, CAUSE_OVERSIZE);
	cr_expect(slice_eq(got.record.idempotency_key, SLICE_LIT(TOPIC "-3-77")));
	expect_names_payload(&got, d.payload);
}

Test(dead_letter_inbox, one_handed_over_stays_oversize_whatever_its_owner_can_hold)
{
	static const struct decode_rules larger = {.max_bytes = SIZE_MAX}, smaller = {0};
	struct dead_letter d = oversize_one();

	expect_same_handed_over(&larger, &d);
	expect_same_handed_over(&smaller, &d);
}

Test(dead_letter_inbox, an_oversize_one_fits_the_inbox)
{
	struct dead_letter d = oversize_one();
	struct decoded got;
	struct inbox handed;

	d.key = filled(LARGEST_KEY, 'k');
	d.headers = filled(RECORD_HEADERS_BYTES, '\0');
	got = decode(&rules, &d);
	cr_assert_eq(got.record.record_key.n, d.key.n);
	cr_assert_eq(got.record.headers.n, d.headers.n);
	handed = dead_letter_to_inbox(&d, &got);
	/* What our topics hold beyond the source's largest message. */
	cr_expect_lt(inbox_encode(&arena, &handed).n, 128 * 1024);
}

/* An inbox record may be anybody's. */
Test(dead_letter_inbox, what_claims_to_be_oversize_is_cut_like_what_is)
{
	struct dead_letter d = oversize_one();
	struct decoded got;

	d.oversize = (struct oversize){filled(RECORD_ERROR_MESSAGE_BYTES + 9, 'm'), 0x1234};
	d.key = filled(LARGEST_KEY + 1, 'k');
	d.headers = large_headers();
	d.headers_cut = 5;
	got = expect_same_handed_over(&rules, &d);
	cr_expect_eq(got.cause, CAUSE_OVERSIZE);
	cr_expect_eq(got.record.content, 0x1234);
	cr_expect(slice_is_null(got.record.payload));
	cr_expect(slice_is_null(got.record.record_key));
	cr_expect(slice_is_null(got.record.headers));
	cr_expect_eq(got.record.headers_cut, 5 + d.headers.n);
	cr_expect_eq(got.record.error.message.n, RECORD_ERROR_MESSAGE_BYTES);
	cr_expect_eq(got.record.error_cut, 9);
}

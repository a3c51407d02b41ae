/* Whatever bytes arrive: a read or a reason, and no byte read that is not ours (ASan). */
#include <criterion/criterion.h>

#include "codec_random.h"
#include "dead_letter.h"
#include "decimal.h"
#include "hash.h"
#include "key.h"
#include "utf8.h"

#define KEY "MTR-00000001|2026-07-17T00:00:00+00:00|1"
#define WHOLE                                                                                      \
	"{\"meter_id\":\"M\",\"read_at\":\"2026-07-17T00:00:00Z\",\"sequence\":\"01\",\"kwh\":1}"
#define KEY_OF_WHOLE "M|2026-07-17T00:00:00Z|01"

static const struct decode_rules rules = {.max_bytes = 1048588};

/* In memory of its own size, so that a sanitizer sees a read beyond it. */
static struct slice mutated(struct random *r, const char *text)
{
	static const char *const pieces[] = {"\"", "\\", "\\u", "\\ud83d", "\\u0000", "{", "}", "[",
		"]", ",", ":", "|", "e", "-", "0", "9", ".", "null", "\"kwh\":", "\xc3", "\xff",
		"\x7f"};
	CLEANUP(buf_free) struct buf b = {0};
	uint8_t *p;

	buf_add_str(&b, text);
	for (size_t n = random_below(r, 4); n; n--) {
		const char *piece = pieces[random_below(r, ARRAY_LEN(pieces))];
		size_t at = random_below(r, b.n + 1), left = b.n - at, cut = random_below(r, 4);

		cut = cut > left ? left : cut;
		buf_reserve(&b, strlen(piece));
		memmove(b.p + at + strlen(piece), b.p + at + cut, left - cut);
		memcpy(b.p + at, piece, strlen(piece));
		b.n += strlen(piece) - cut;
	}
	if (random_below(r, 8) == 0)
		b.n = random_below(r, b.n + 1);
	if (random_below(r, 8) == 0 && b.n)
		b.p[random_below(r, b.n)] = (uint8_t)random_below(r, 256);
	p = mem_realloc(NULL, b.n);
	memcpy(p, b.p, b.n);
	return slice_of(p, b.n);
}

static void check_unfit(const struct dead_letter *d, const struct decoded *got)
{
	cr_assert_eq(got->cause, CAUSE_MALFORMED);
	cr_assert(slice_eq(got->record.payload, d->payload));
	cr_assert_eq(got->record.content, hash_content(d->payload));
	cr_assert(got->record.error.message.n > 0);
	cr_assert(utf8_text(got->record.error.message));
}

static void check_fit(struct arena *a, const struct decoded *got)
{
	const struct meter_read *read = &got->read;
	struct meter_read again;
	bool wait;

	cr_assert(key_usable(got->record.idempotency_key));
	cr_assert(decimal_valid(read->kwh));
	cr_assert(read->meter_id.n && utf8_text(read->meter_id));
	cr_assert(utf8_text(read->reading_type));
	cr_assert(utf8_text(read->quality));
	cr_assert(utf8_text(read->attributes));
	cr_assert_geq(read->sequence, 0);
	cr_assert_null(record_decode_read(a, &rules, &got->record, &again, &wait));
	cr_assert_eq(meter_read_content(&again), got->record.content);
}

Test(dead_letter_hostile, any_bytes_give_a_read_or_a_reason)
{
	static const char *const payloads[] = {"{\"kwh\": \"12.50\"}", WHOLE,
		"{\"kwh\":1.5e1,\"x\":{\"y\":[1,\"\\u00e4\\ud83d\\ude00\",null]},\"quality\":"
		"\"A\"}"};
	static const char *const record_keys[] = {KEY, "MTR-1", KEY_OF_WHOLE};
	CLEANUP(arena_free) struct arena a = {0};
	struct random r = {.state = 7};
	int fit = 0, unfit = 0;

	for (int i = 0; i < 200000; i++) {
		struct slice key =
			mutated(&r, record_keys[random_below(&r, ARRAY_LEN(record_keys))]);
		struct slice payload = mutated(&r, payloads[random_below(&r, ARRAY_LEN(payloads))]);
		struct dead_letter d = {
			.at = {SLICE_LIT("meter-reads.dead-letter"), 0, i},
			.key = key,
			.payload = payload,
		};
		struct decoded got;

		dead_letter_decode(&a, &rules, &d, 0, &got);
		if (got.unfit)
			check_unfit(&d, &got);
		else
			check_fit(&a, &got);
		fit += !got.unfit;
		unfit += got.unfit;
		free((void *)key.p);
		free((void *)payload.p);
		arena_reset(&a);
	}
	cr_assert_gt(fit, 10000);
	cr_assert_gt(unfit, 20000);
}

Test(dead_letter_hostile, random_bytes_give_a_reason)
{
	CLEANUP(arena_free) struct arena a = {0};
	struct random r = {.state = 8, .arena = &a};

	for (int i = 0; i < 50000; i++) {
		struct dead_letter d = {
			.at = {SLICE_LIT("t"), 0, i},
			.key = random_bytes(&r),
			.payload = random_bytes(&r),
		};
		struct decoded got;

		dead_letter_decode(&a, &rules, &d, 0, &got);
		cr_assert(got.unfit);
		check_unfit(&d, &got);
		arena_reset(&a);
	}
}

/* Input: headers, see fuzz_headers.h. */
#include "dead_letter.h"
#include "dialect.h"
#include "fuzz_headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decode_rules rules = {.max_bytes = SIZE_MAX};
	static struct arena arena;
	struct dead_letter d = {
		.at = {SLICE_LIT("t"), 0, 0},
		.seen_us = 1,
		.key = SLICE_LIT("M|2026-07-17T00:00:00Z|1"),
		.payload = SLICE_LIT("{\"kwh\":1}"),
	};
	struct dialect_facts facts;
	struct decoded decoded;

	arena_reset(&arena);
	d.headers = fuzz_headers(&arena, slice_of(data, size));
	MUST(d.headers.n <= RECORD_HEADERS_BYTES);
	dialect_read(d.headers, &facts);
	MUST(facts.dialect && facts.upstream_attempts >= -1);
	MUST(origin_is_null(facts.origin) ||
		(facts.origin.partition >= 0 && facts.origin.offset >= 0));
	dead_letter_decode(&arena, &rules, &d, 1, &decoded);
	MUST(slice_eq(decoded.record.headers, d.headers));
	MUST(utf8_text(decoded.record.error.class) && utf8_text(decoded.record.error.code));
	MUST(utf8_text(decoded.record.error.message));
	MUST(decoded.record.error.message.n <= RECORD_ERROR_MESSAGE_BYTES);
	record_encode(&arena, &decoded.record);
	return 0;
}

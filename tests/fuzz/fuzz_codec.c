/* Input: which of our records, and its body. */
#include "codec.h"
#include "fuzz.h"

/* What was decoded encodes to bytes that decode to what encodes to the same bytes. */
#define CHECK(type, decode, encode)                                                                \
	do {                                                                                       \
		struct type value, again;                                                          \
		struct slice bytes;                                                                \
		if (decode(record, &value, &err))                                                  \
			break;                                                                     \
		bytes = encode(&arena, &value);                                                    \
		MUST(!decode(bytes, &again, &err));                                                \
		MUST(slice_eq(bytes, encode(&arena, &again)));                                     \
	} while (0)

static struct arena arena;

static int decode_checkpoint(struct slice bytes, struct checkpoint *ret, struct err *err)
{
	return checkpoint_decode(&arena, bytes, ret, err);
}

static struct slice framed(enum schema_id id, struct slice body)
{
	uint64_t fingerprint = schema_fingerprint(id);
	uint8_t *p = arena_alloc(&arena, 10 + body.n);

	memcpy(p, "\xc3\x01", 2);
	for (int i = 2; i < 10; i++, fingerprint >>= 8)
		p[i] = (uint8_t)fingerprint;
	if (body.n)
		memcpy(p + 10, body.p, body.n);
	return slice_of(p, 10 + body.n);
}

static void check_headers(struct slice headers)
{
	struct header h;
	size_t pos = 0, n = 0;

	while (headers_next(headers, &pos, &h))
		n++;
	MUST(n <= headers.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice input = slice_of(data, size), record;
	enum schema_id id = fuzz_byte(&input) % SCHEMA_COUNT;
	struct record r;
	struct err err;

	arena_reset(&arena);
	record = framed(id, input);
	CHECK(record, record_decode, record_encode);
	CHECK(parked, parked_decode, parked_encode);
	CHECK(inbox, inbox_decode, inbox_encode);
	CHECK(checkpoint, decode_checkpoint, checkpoint_encode);
	if (!record_decode(record, &r, &err))
		check_headers(r.headers);
	return 0;
}

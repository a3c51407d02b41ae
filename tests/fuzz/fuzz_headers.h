/* fuzz_headers.h: headers from a fuzzer's bytes: length and name, two-byte length and value; the
 * length ffff is null. */
#ifndef TESTS_FUZZ_HEADERS_H
#define TESTS_FUZZ_HEADERS_H

#include "codec.h"
#include "fuzz.h"

#define FUZZ_HEADERS_MAX 64

static inline struct header fuzz_header(struct slice *input)
{
	struct header h = {.key = fuzz_take(input, fuzz_byte(input))};
	unsigned n = fuzz_byte(input) << 8;

	n |= fuzz_byte(input);
	if (n != 0xffff)
		h.value = fuzz_take(input, n);
	return h;
}

/* Encoded, see codec.h. */
static inline struct slice fuzz_headers(struct arena *a, struct slice input)
{
	struct header headers[FUZZ_HEADERS_MAX];
	uint32_t cut;
	size_t n = 0;

	while (input.n && n < FUZZ_HEADERS_MAX)
		headers[n++] = fuzz_header(&input);
	return headers_encode(a, headers, n, &cut);
}

#endif

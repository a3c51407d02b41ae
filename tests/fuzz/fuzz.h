/*
 * fuzz.h: what the targets share. A target is one libFuzzer function over one input format; what
 * must hold for whatever bytes arrive is said with MUST.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "mem.h"
#include "read_fields.h"
#include "utf8.h"

#define MUST(condition) ((condition) ? (void)0 : __builtin_trap())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As many of the next n bytes as there are. */
static inline struct slice fuzz_take(struct slice *input, size_t n)
{
	struct slice s = slice_of(input->p, n < input->n ? n : input->n);

	*input = slice_of(input->p + s.n, input->n - s.n);
	return s;
}

static inline unsigned fuzz_byte(struct slice *input)
{
	struct slice s = fuzz_take(input, 1);

	return s.n ? s.p[0] : 0;
}

/* What stands before the first such byte; all of it where there is none. */
static inline struct slice fuzz_until(struct slice *input, uint8_t end)
{
	const uint8_t *p = input->n ? memchr(input->p, end, input->n) : NULL;
	struct slice s = fuzz_take(input, p ? (size_t)(p - input->p) : input->n);

	fuzz_byte(input);
	return s;
}

/* What no decoder may hand on: Postgres takes neither in a text, nor in jsonb. */
static inline void fuzz_check_fields(struct arena *a, const struct read_fields *f)
{
	static const struct read_names ours;
	const struct slice *const texts[] = {&f->meter_id, &f->read_at, &f->sequence, &f->kwh,
		&f->reading_type, &f->quality, &f->attributes};
	struct read_fields again;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		MUST(utf8_text(*texts[i]));
	if (slice_is_null(f->attributes))
		return;
	MUST(!read_fields_from_json(a, &ours, f->attributes, &again));
	MUST(slice_is_null(again.kwh) && slice_is_null(again.meter_id));
}

#endif

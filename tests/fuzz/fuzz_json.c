/* Input: a payload. */
#include "decimal.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct read_names ours;
	static struct arena arena;
	struct slice payload = slice_of(data, size);
	struct read_fields fields;
	struct meter_read read;

	arena_reset(&arena);
	if (read_fields_from_json(&arena, &ours, payload, &fields))
		return 0;
	fuzz_check_fields(&arena, &fields);
	MUST(fields.attributes.n <= size);
	if (read_fields_resolve(&arena, &fields, SLICE_LIT("M|2026-07-17T00:00:00Z|1"), &read))
		return 0;
	MUST(decimal_valid(read.kwh) && read.sequence == 1 && read.meter_id.n == 1);
	meter_read_content(&read);
	return 0;
}

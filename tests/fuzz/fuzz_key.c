/* Input: a line of key.from, the record's key up to a NUL, the payload. */
#include "dead_letter.h"
#include "fuzz.h"
#include "instant.h"
#include "key.h"

static void check_key(struct slice key)
{
	struct key_parts parts;
	char text[INSTANT_TEXT_BYTES];
	int64_t us;

	if (!key_parse(key, &parts))
		return;
	MUST(parts.meter_id.n && parts.sequence >= 0);
	instant_format(parts.read_at_us, text);
	MUST(!instant_parse(slice_str(text), &us) && us == parts.read_at_us);
}

static void check_entry_key(struct arena *a, const struct decoded *d)
{
	struct slice key = d->record.idempotency_key, back;
	bool suffixed;

	MUST(key_usable(key));
	MUST(key_split_entry(key_of_entry(a, key, true, d->record.content), &back, &suffixed));
	MUST(suffixed && slice_eq(back, key));
	MUST(key_split_entry(key_of_entry(a, key, false, 0), &back, &suffixed));
	MUST(!suffixed && slice_eq(back, key));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct arena arena;
	struct slice rest = slice_of(data, size), rule = fuzz_until(&rest, '\n');
	struct decode_rules rules = {.max_bytes = SIZE_MAX};
	struct dead_letter d = {.at = {SLICE_LIT("t"), 0, 0}, .seen_us = 1};
	struct decoded decoded;

	arena_reset(&arena);
	key_rule_parse(arena_cstr(&arena, rule), &rules.key);
	d.key = fuzz_until(&rest, '\0');
	d.payload = rest;
	check_key(d.key);
	dead_letter_decode(&arena, &rules, &d, 1, &decoded);
	check_entry_key(&arena, &decoded);
	return 0;
}

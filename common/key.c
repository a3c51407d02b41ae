#include "key.h"

#include "hash.h"
#include "instant.h"
#include "utf8.h"

#define CONTENT_TEXT_BYTES 16
#define SUFFIX_BYTES (1 + CONTENT_TEXT_BYTES)

bool sequence_parse(struct slice text, int64_t *ret)
{
	int64_t v = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, text.p[i] - '0', &v))
			return false;
	}
	*ret = v;
	return text.n > 0;
}

/* Splits s at its last bar. */
static bool split_at_last_bar(struct slice s, struct slice *ret_head, struct slice *ret_tail)
{
	size_t i = s.n;

	while (i && s.p[i - 1] != '|')
		i--;
	if (!i)
		return false;
	*ret_head = slice_of(s.p, i - 1);
	*ret_tail = slice_of(s.p + i, s.n - i);
	return true;
}

bool key_parse(struct slice key, struct key_parts *ret)
{
	struct slice rest, meter_id, instant, sequence;
	struct key_parts parts;

	/* From the right, as a meter may contain bars. */
	if (!split_at_last_bar(key, &rest, &sequence) ||
		!split_at_last_bar(rest, &meter_id, &instant) || !meter_id.n)
		return false;
	if (instant_parse(instant, &parts.read_at_us) || !sequence_parse(sequence, &parts.sequence))
		return false;
	parts.meter_id = meter_id;
	*ret = parts;
	return true;
}

bool key_usable(struct slice key)
{
	return key.n && utf8_text(key);
}

struct slice key_synthetic(struct arena *a, const char *topic, int32_t partition, int64_t offset)
{
	return slice_str(arena_printf(a, "%s-%d-%lld", topic, partition, (long long)offset));
}

struct slice key_of_entry(
	struct arena *a, struct slice idempotency_key, bool suffixed, uint64_t content)
{
	char hex[CONTENT_TEXT_BYTES + 1];
	size_t n = idempotency_key.n;
	uint8_t *p;

	if (!suffixed)
		return idempotency_key;
	hash_content_text(content, hex);
	p = arena_alloc(a, n + SUFFIX_BYTES);
	memcpy(p, idempotency_key.p, n);
	p[n] = '\0';
	memcpy(p + n + 1, hex, CONTENT_TEXT_BYTES);
	return slice_of(p, n + SUFFIX_BYTES);
}

static bool is_suffix(const uint8_t *p)
{
	for (size_t i = 1; i < SUFFIX_BYTES; i++) {
		bool digit = p[i] >= '0' && p[i] <= '9';

		if (!digit && (p[i] < 'a' || p[i] > 'f'))
			return false;
	}
	return p[0] == '\0';
}

bool key_split_entry(struct slice dlq_key, struct slice *ret_idempotency_key, bool *ret_suffixed)
{
	bool suffixed = dlq_key.n > SUFFIX_BYTES && is_suffix(dlq_key.p + dlq_key.n - SUFFIX_BYTES);
	struct slice key = dlq_key;

	if (suffixed)
		key.n -= SUFFIX_BYTES;
	if (!key_usable(key))
		return false;
	*ret_idempotency_key = key;
	*ret_suffixed = suffixed;
	return true;
}

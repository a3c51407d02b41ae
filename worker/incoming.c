#include "incoming.h"

struct dead_letter incoming_dead_letter(
	struct arena *a, char *const *topics, const struct log_message *m, int64_t now_us)
{
	struct dead_letter d = {.at = {slice_str(topics[m->topic]), m->partition, m->offset},
		.seen_us = dead_letter_seen_us(m->timestamp_ms, now_us),
		.key = m->key,
		.payload = m->value};

	d.headers = headers_encode(a, m->headers, m->n_headers, &d.headers_cut);
	return d;
}

/* False: the original is not there yet. */
static bool follow(struct arena *a, const struct decode_rules *rules, struct log *log,
	const struct dead_letter *pointer, int64_t now_us, struct decoded *ret)
{
	struct log_message m;
	struct dead_letter d;
	const char *why;

	switch (log->ops->original(log, &ret->record.origin, &m, &why)) {
	case ORIGINAL_FOUND:
		d = dead_letter_fetched(a, pointer, arena_dup(a, m.key), arena_dup(a, m.value),
			m.headers, m.n_headers);
		dead_letter_decode(a, rules, &d, now_us, ret);
		return true;
	case ORIGINAL_GONE:
		dead_letter_gone(a, why, ret);
		return true;
	case ORIGINAL_AWAY:
		break;
	}
	return false;
}

bool incoming_decode(struct arena *a, const struct decode_rules *rules, struct log *log,
	const struct dead_letter *d, int64_t now_us, struct decoded *ret)
{
	dead_letter_decode(a, rules, d, now_us, ret);
	return !ret->pointer || follow(a, rules, log, d, now_us, ret);
}

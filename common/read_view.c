#include "read_view.h"

#include "key.h"

/* What is malformed has a synthetic key; the dead letter's own may still say which meter it is. */
static bool parts_of(const struct record *r, struct key_parts *ret)
{
	return key_parse(r->idempotency_key, ret) || key_parse(r->record_key, ret);
}

void read_view_of(struct arena *a, const struct decode_rules *rules, const struct record *r,
	struct read_view *ret)
{
	struct key_parts parts;
	bool wait;

	*ret = (struct read_view){0};
	ret->unreadable = record_decode_read(a, rules, r, &ret->read, &wait);
	if (!ret->unreadable) {
		ret->meter = ret->read.meter_id;
		ret->read_at_us = ret->read.read_at_us;
		ret->has_time = true;
	} else if (parts_of(r, &parts)) {
		ret->meter = parts.meter_id;
		ret->read_at_us = parts.read_at_us;
		ret->has_time = true;
	}
}

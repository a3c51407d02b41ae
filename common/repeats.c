#include "repeats.h"

#include "hash.h"

#include <ctype.h>
#include <stdio.h>

static bool in_name(char c)
{
	return isalpha((unsigned char)c) || c == '-' || c == '_';
}

/* Drops numbers that stand alone: durations, counts, ids. Those in a name tell two names apart. */
static void drop_numbers(const char *text, char ret[static REPEATS_TEXT_BYTES])
{
	size_t n = 0;
	char before = ' ';

	while (*text && n < REPEATS_TEXT_BYTES - 1) {
		size_t digits = strspn(text, "0123456789");

		if (digits && !in_name(before) && !in_name(text[digits])) {
			text += digits;
			before = '0';
			continue;
		}
		digits = digits ? digits : 1;
		for (; digits && n < REPEATS_TEXT_BYTES - 1; digits--)
			before = ret[n++] = *text++;
	}
	ret[n] = '\0';
}

/* Information tells of a change, and numbers make a difference there; librdkafka's does not. */
static void kind_of(
	char level, const char *name, const char *text, char ret[static REPEATS_TEXT_BYTES])
{
	if (level == 'I' && strcmp(name, "kafka") != 0)
		snprintf(ret, REPEATS_TEXT_BYTES, "%s", text);
	else
		drop_numbers(text, ret);
}

static struct repeats_slot *slot_of(struct repeats *r, const char *name, const char *kind)
{
	uint32_t h = hash_murmur2(slice_str(name)) ^ hash_murmur2(slice_str(kind));

	return &r->slots[h % REPEATS_SLOTS];
}

bool repeats_admit(struct repeats *r, char level, const char *name, const char *text,
	bool of_record, int64_t now_us, unsigned *ret_left, struct repeats_slot *ret_evicted)
{
	unsigned limit = of_record ? REPEATS_RECORDS : REPEATS_OTHERS;
	char kind[REPEATS_TEXT_BYTES];
	struct repeats_slot *s;

	*ret_left = ret_evicted->left_out = 0;
	kind_of(level, name, text, kind);
	s = slot_of(r, name, kind);
	if (strcmp(s->name, name) != 0 || strcmp(s->kind, kind) != 0) {
		if (s->left_out)
			*ret_evicted = *s;
		*s = (struct repeats_slot){.level = level, .since_us = now_us};
		snprintf(s->name, sizeof(s->name), "%s", name);
		snprintf(s->kind, sizeof(s->kind), "%s", kind);
	}
	if (now_us - s->since_us >= REPEATS_WINDOW_US) {
		s->since_us = now_us;
		s->written = 0;
	}
	if (s->written >= limit) {
		s->left_out++;
		snprintf(s->text, sizeof(s->text), "%s", text);
		return false;
	}
	s->written++;
	*ret_left = s->left_out;
	s->left_out = 0;
	return true;
}

bool repeats_flush(struct repeats *r, int64_t now_us, bool all, struct repeats_slot *ret)
{
	for (size_t i = 0; i < REPEATS_SLOTS; i++) {
		struct repeats_slot *s = &r->slots[i];

		if (!s->left_out || (!all && now_us - s->since_us < REPEATS_WINDOW_US))
			continue;
		*ret = *s;
		s->left_out = 0;
		return true;
	}
	return false;
}

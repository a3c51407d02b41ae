#include "audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK 1000

void findings_add(struct findings *f, const char *fmt, ...)
{
	char text[1500];
	va_list ap;

	if (f->n++ >= FINDINGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(&f->text, "%s\n", text);
}

/* As itself, or as what was parked before it could be understood. */
static enum audit_place place_of(const struct audit *a, const struct audit_read *read)
{
	enum audit_place place = audit_queue_find(a, read->key, read->content);

	if (place == PLACE_NOWHERE &&
		audit_queue_find(a, read->place_key, read->payload_content) == PLACE_PARKED)
		return PLACE_PARKED;
	return place;
}

/* False where it is nowhere. The row is the truth: the live pipeline may have committed a queued or
 * parked read. */
static bool found(const struct audit *a, const struct audit_read *read)
{
	if (read->row == ROW_SAME) {
		read->line->settled++;
		return true;
	}
	switch (place_of(a, read)) {
	case PLACE_QUEUED:
		read->line->queued++;
		return true;
	case PLACE_PARKED:
		read->line->parked++;
		return true;
	case PLACE_NOWHERE:
		break;
	}
	return false;
}

static void condemn(struct audit *a, const struct audit_read *read)
{
	const struct log_range *range = &read->line->range;
	bool different = read->row == ROW_OTHER;

	(*(different ? &read->line->different : &read->line->missing))++;
	findings_add(&a->findings, "%s: %.*s (%s partition %d offset %lld)",
		different ? "different" : "missing", SLICE_FMT(read->key),
		a->in.kafka.topics[range->topic], range->partition, (long long)read->offset);
}

static void suspect(struct audit *a, const struct audit_read *read)
{
	struct audit_read *kept;

	if (a->n_suspects == AUDIT_SUSPECTS_MAX) {
		condemn(a, read);
		return;
	}
	if (a->n_suspects == a->cap_suspects) {
		a->cap_suspects = a->cap_suspects ? 2 * a->cap_suspects : 64;
		a->suspects = mem_realloc(a->suspects, a->cap_suspects * sizeof(*a->suspects));
	}
	kept = &a->suspects[a->n_suspects++];
	*kept = *read;
	kept->key = arena_dup(&a->suspect_keys, read->key);
	kept->place_key = arena_dup(&a->suspect_keys, read->place_key);
}

int audit_judge(struct audit *a, struct audit_read *v, size_t n, struct err *err)
{
	int r = n ? audit_rows_find(a->pg, v, n, err) : 0;

	for (size_t i = 0; i < n && !r; i++) {
		v[i].line->reads++;
		if (found(a, &v[i]))
			continue;
		if (v[i].offset >= v[i].line->committed)
			v[i].line->waiting++;
		else
			suspect(a, &v[i]);
	}
	return r;
}

int audit_judge_again(struct audit *a, struct err *err)
{
	size_t kept = 0;
	int r = 0;

	for (size_t at = 0; at < a->n_suspects && !r; at += CHUNK) {
		size_t n = a->n_suspects - at < CHUNK ? a->n_suspects - at : CHUNK;

		r = audit_rows_find(a->pg, a->suspects + at, n, err);
		for (size_t i = at; i < at + n && !r; i++)
			if (!found(a, &a->suspects[i]))
				a->suspects[kept++] = a->suspects[i];
	}
	if (!r)
		a->n_suspects = kept;
	return r;
}

void audit_condemn(struct audit *a)
{
	for (size_t i = 0; i < a->n_suspects; i++)
		condemn(a, &a->suspects[i]);
	a->n_suspects = 0;
}

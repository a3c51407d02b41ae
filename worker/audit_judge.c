#include "audit.h"

#include <stdlib.h>

void audit_judging_open(struct audit_judging *j, struct audit *a)
{
	*j = (struct audit_judging){.audit = a};
	for (size_t i = 0; i < ARRAY_LEN(j->batches); i++)
		j->batches[i].v = mem_zalloc(AUDIT_BATCH_READS * sizeof(*j->batches[i].v));
}

void audit_judging_close(struct audit_judging *j)
{
	for (size_t i = 0; i < ARRAY_LEN(j->batches); i++) {
		free(j->batches[i].v);
		arena_free(&j->batches[i].arena);
	}
}

static uint64_t *count_of(struct audit_counts *counts, enum audit_place place)
{
	switch (place) {
	case PLACE_QUEUED:
		return &counts->queued;
	case PLACE_PARKED:
		return &counts->parked;
	case PLACE_WRITTEN_OFF:
		return &counts->written_off;
	case PLACE_NOWHERE:
		break;
	}
	return NULL;
}

/* The row is the truth: the live pipeline may have committed a queued or parked read. */
uint64_t *audit_find(const struct audit *a, const struct audit_read *read)
{
	struct audit_counts *counts = &read->line->counts;

	if (read->row == ROW_SAME)
		return &counts->settled;
	return count_of(counts, audit_queue_find(a, read->key, read->content));
}

uint64_t *audit_find_in_place(const struct audit *a, const struct audit_suspect *s)
{
	if (slice_is_null(s->place_key))
		return NULL;
	return count_of(
		&s->read.line->counts, audit_queue_find(a, s->place_key, s->payload_content));
}

/* What is behind the group's offset will still be taken in. */
static uint64_t *count_if_waiting(const struct audit_read *read)
{
	bool waits = audit_counts_read(read) && read->at.offset >= read->line->committed;

	return waits ? &read->line->counts.waiting : NULL;
}

static void judge_one(struct audit *a, struct arena *arena, const struct audit_read *read)
{
	uint64_t *count = audit_find(a, read);
	struct audit_suspect s = {0};

	read->line->counts.reads += audit_counts_read(read);
	if (!count) {
		s = audit_suspect_of(a, arena, read);
		count = audit_find_in_place(a, &s);
	}
	if (!count)
		count = count_if_waiting(read);
	if (count)
		*count += audit_counts_read(read);
	else
		audit_suspects_add(a, &s);
}

static int judge_sent(struct audit *a, struct audit_batch *b, struct err *err)
{
	int r = b->sent ? audit_rows_take(a, b, err) : 0;

	for (size_t i = 0; i < b->n && !r; i++)
		judge_one(a, &b->arena, &b->v[i]);
	b->n = 0;
	arena_reset(&b->arena);
	return r;
}

/* Takes the batch back that was sent, and sends the one that was filled. */
static int turn(struct audit_judging *j, struct err *err)
{
	struct audit_batch *filled = &j->batches[j->filling], *sent = &j->batches[!j->filling];
	int r = judge_sent(j->audit, sent, err);

	if (!r && filled->n)
		r = audit_rows_send(j->audit, filled, err);
	j->filling = !j->filling;
	return r;
}

int audit_judge(struct audit_judging *j, const struct audit_read *read, struct err *err)
{
	struct audit_batch *b = &j->batches[j->filling];
	struct audit_read *kept = &b->v[b->n++];

	*kept = *read;
	kept->key = arena_dup(&b->arena, read->key);
	kept->record_key = arena_dup(&b->arena, read->record_key);
	kept->id_header = arena_dup(&b->arena, read->id_header);
	kept->payload = arena_dup(&b->arena, read->payload);
	return b->n == AUDIT_BATCH_READS || b->arena.used >= AUDIT_BATCH_BYTES ? turn(j, err) : 0;
}

int audit_judge_rest(struct audit_judging *j, struct err *err)
{
	int r = turn(j, err);

	return r ? r : turn(j, err);
}

/* check_record.c: what one record of a decided transaction says, compared with the dead letter. */
#include "check_txn.h"
#include "key.h"

void check_touch(struct txn_check *c, struct read *r)
{
	if (r->touched)
		return;
	r->touched = true;
	r->next_touched = c->touched;
	c->touched = r;
}

/* Only of what is oversize the bytes stay where they are. */
static struct slice kept_payload(const struct letter *l)
{
	return l->read->unfit && l->read->unfit_cause == CAUSE_OVERSIZE ? SLICE_NULL : l->payload;
}

/* Promise 4: the bytes that arrived. */
static void check_verbatim(struct world *w, const struct record *rec, const struct letter *l)
{
	if (!slice_eq(rec->payload, kept_payload(l)) || !slice_eq(rec->record_key, l->record_key) ||
		!slice_eq(rec->headers, l->headers_encoded) || rec->headers_cut)
		violate(w, "P4", "record of %.*s has not the bytes of its dead letter %d/%d@%lld",
			SLICE_FMT(rec->idempotency_key), l->topic, l->partition,
			(long long)l->offset);
	if (!slice_eq(rec->idempotency_key, l->read->key->text))
		violate(w, "P2", "record has key %.*s, its dead letter %.*s",
			SLICE_FMT(rec->idempotency_key), SLICE_FMT(l->read->key->text));
}

/* The worker's content hash tells the contents of a key apart, and only those. */
static void check_content(struct world *w, struct read *r, uint64_t content)
{
	const struct meter_key *k = r->key;

	if (!r->content)
		r->content = content;
	if (r->content != content)
		violate(w, "P2", "%.*s has two content hashes for one content", SLICE_FMT(k->text));
	for (size_t i = 0; i < k->n_contents; i++)
		if (k->contents[i] != r && k->contents[i]->content == content)
			violate(w, "P11", "%.*s has one content hash for two contents",
				SLICE_FMT(k->text));
}

/* Finds the read of a record by the dead letter that it names. NULL: broken. */
static struct read *read_of_record(
	struct txn_check *c, const struct part *part, const struct record *rec, struct held *ret)
{
	struct world *w = c->w;
	struct letter *l = truth_letter(
		w, rec->dead_letter.topic, rec->dead_letter.partition, rec->dead_letter.offset);

	if (!l) {
		violate(w, "P1", "record of %.*s names no dead letter",
			SLICE_FMT(rec->idempotency_key));
		return NULL;
	}
	check_verbatim(w, rec, l);
	check_content(w, l->read, rec->content);
	if (l->read->key->partition != part->number)
		violate(w, "P2", "%.*s is in partition %d, it belongs to %d",
			SLICE_FMT(rec->idempotency_key), part->number, l->read->key->partition);
	*ret = (struct held){.attempts = rec->attempts,
		.replays = rec->replays,
		.first_us = rec->first_seen_us,
		.last_us = rec->last_seen_us,
		.due_us = rec->due_us,
		.reason = rec->reason,
		.letter = l};
	return l->read;
}

static void check_put(struct txn_check *c, const struct part *part, int64_t offset)
{
	const struct entry *e = &part->v[offset];
	struct slice plain;
	struct record rec;
	struct held held;
	struct read *r;
	struct err err;
	bool suffixed;

	if (record_decode(e->value, &rec, &err) != 0 ||
		!key_split_entry(e->key, &plain, &suffixed) ||
		!slice_eq(plain, rec.idempotency_key)) {
		violate(c->w, "P14", "the DLQ has a record that is no entry: %s", err.text);
		return;
	}
	r = read_of_record(c, part, &rec, &held);
	if (!r)
		return;
	check_touch(c, r);
	if (r->wrote_put || r->wrote_tombstone)
		violate(c->w, "P2", "%.*s is written twice in one transaction", SLICE_FMT(plain));
	r->wrote_put = true;
	r->put = held;
	r->put.offset = offset;
	r->put_suffixed = suffixed;
}

/* Which live read has that DLQ key. */
static struct read *read_of_dlq_key(struct world *w, struct slice dlq_key, int32_t partition)
{
	struct slice plain;
	bool suffixed;

	if (!key_split_entry(dlq_key, &plain, &suffixed))
		return NULL;
	for (size_t i = 0; i < w->truth.n_reads; i++) {
		struct read *r = w->truth.reads[i];
		struct arena arena = {0};
		bool same;

		if (!r->live || r->suffixed != suffixed || r->key->partition != partition ||
			!slice_eq(r->key->text, plain))
			continue;
		same = slice_eq(key_of_entry(&arena, r->key->text, suffixed, r->content), dlq_key);
		arena_free(&arena);
		if (same)
			return r;
	}
	return NULL;
}

static void check_tombstone(struct txn_check *c, const struct part *part, int64_t offset)
{
	struct slice key = part->v[offset].key;
	struct read *r = read_of_dlq_key(c->w, key, part->number);

	if (!r) {
		violate(c->w, "P1", "tombstone for %.*s, which is not live", SLICE_FMT(key));
		return;
	}
	check_touch(c, r);
	if (r->wrote_put || r->wrote_tombstone)
		violate(c->w, "P2", "%.*s is written twice in one transaction", SLICE_FMT(key));
	r->wrote_tombstone = true;
}

static void check_event(struct txn_check *c, const struct part *part, int64_t offset)
{
	const struct entry *e = &part->v[offset];
	struct parked parked;
	struct held held;
	struct read *r;
	struct err err;

	if (parked_decode(e->value, &parked, &err) != 0) {
		violate(c->w, "P14", "the parked topic has a record that is none: %s", err.text);
		return;
	}
	r = read_of_record(c, part, &parked.entry, &held);
	if (!r)
		return;
	check_touch(c, r);
	if (parked.event == EVENT_REDRIVEN) {
		r->wrote_redriven = true;
		return;
	}
	if (r->wrote_parked || parked.event != EVENT_PARKED)
		violate(c->w, "P1", "%.*s: event %d", SLICE_FMT(e->key), parked.event);
	if ((parked.cause == CAUSE_CONFLICT) != !slice_is_null(parked.committed))
		violate(c->w, "P11", "%.*s: a conflict is parked with the committed content",
			SLICE_FMT(e->key));
	r->wrote_parked = true;
	r->event = held;
	r->event.offset = offset;
	r->event_cause = parked.cause;
}

static void check_handover(struct txn_check *c, struct part *part, int64_t offset)
{
	struct entry *e = &part->v[offset];
	struct world *w = c->w;
	struct inbox in;
	struct letter *l;
	struct err err;

	if (inbox_decode(e->value, &in, &err) != 0) {
		violate(w, "P14", "the inbox has a record that is none: %s", err.text);
		return;
	}
	l = truth_letter(w, in.dead_letter.topic, in.dead_letter.partition, in.dead_letter.offset);
	if (!l || l->handed) {
		violate(w, "P1", "a hand-over %s", l ? "is written twice" : "names no dead letter");
		return;
	}
	if (!slice_eq(in.payload, kept_payload(l)) || !slice_eq(in.record_key, l->record_key) ||
		!slice_eq(in.headers, l->headers_encoded))
		violate(w, "P4", "a hand-over has not the bytes of its dead letter");
	if (l->read->key->partition != part->number)
		violate(w, "P2", "%.*s is handed to partition %d, it belongs to %d",
			SLICE_FMT(l->read->key->text), part->number, l->read->key->partition);
	e->letter = l;
	l->handed = true;
	l->waiting++;
	c->t->counts.handed_over++;
	world_saw(w, SIM_TAKEN_HANDED);
}

static void check_checkpoint(struct txn_check *c, const struct part *part, int64_t offset)
{
	struct world *w = c->w;
	struct checkpoint cp;
	struct err err;

	if (checkpoint_decode(&c->arena, part->v[offset].value, &cp, &err) != 0 ||
		cp.partitions != w->setup.n) {
		violate(w, "P14", "checkpoint of %d: %s", part->number, err.text);
		return;
	}
	c->checkpoint[part->number].written = true;
	c->checkpoint[part->number].inbox_offset = cp.inbox_offset;
	for (size_t i = 0; i < cp.n_sources; i++)
		for (size_t s = 0; s < w->setup.sources; s++)
			if (slice_eq(cp.sources[i].topic,
				    slice_str(w->setup.topics[TOPIC_SOURCE + s])))
				c->checkpoint[part->number].sources[s][cp.sources[i].partition] =
					cp.sources[i].offset;
}

void check_record(struct txn_check *c, struct part *part, int64_t offset)
{
	const struct entry *e = &part->v[offset];

	if (part->topic == TOPIC_INBOX)
		check_handover(c, part, offset);
	else if (part->topic == TOPIC_PARKED)
		check_event(c, part, offset);
	else if (part->topic != TOPIC_DLQ)
		violate(c->w, "API", "a transaction writes to topic %d", part->topic);
	else if (key_is_checkpoint(e->key))
		check_checkpoint(c, part, offset);
	else if (slice_is_null(e->value))
		check_tombstone(c, part, offset);
	else
		check_put(c, part, offset);
}

#include "schema_cache.h"

#include <stdlib.h>

#define BUCKETS 1024u

enum state {
	STATE_NEW = 0,
	STATE_WANTED,  /* to be fetched */
	STATE_FETCHED, /* being fetched */
	STATE_KNOWN,
};

struct entry {
	struct entry *next; /* in its bucket */
	struct schema_ref ref;
	enum state state;
	bool pinned;
	uint64_t used; /* KNOWN: when it was found last; WANTED: since when it waits */
	/* KNOWN */
	struct schema_answer answer;
	struct avro_schema *schema; /* owned */
	char *why;		    /* owned; else: why it failed last */
	int64_t expires_us;	    /* UNKNOWN */
	/* else */
	bool suspect;
	unsigned failures;
};

struct schema_cache {
	struct entry *buckets[BUCKETS];
	size_t n, n_wanted, bytes;
	uint64_t clock; /* counts what happens */
	int64_t negative_ttl_us;
	bool changed;
};

struct schema_cache *schema_cache_new(int64_t negative_ttl_us)
{
	struct schema_cache *c = mem_zalloc(sizeof(*c));

	c->negative_ttl_us = negative_ttl_us;
	return c;
}

/* FNV-1a. Whoever crafts collisions makes himself slow, and 2,000 entries not very. */
static struct entry **bucket_of(const struct schema_cache *c, const struct schema_ref *ref)
{
	uint64_t h = 14695981039346656037u ^ ref->kind;

	for (size_t i = 0; i < sizeof(ref->number); i++)
		h = (h ^ (ref->number >> (8 * i) & 0xff)) * 1099511628211u;
	for (size_t i = 0; i < sizeof(ref->guid); i++)
		h = (h ^ ref->guid[i]) * 1099511628211u;
	return (struct entry **)&c->buckets[(h ^ h >> 32) % BUCKETS];
}

static struct entry *find(const struct schema_cache *c, const struct schema_ref *ref)
{
	struct entry *e = *bucket_of(c, ref);

	while (e && !schema_ref_same(&e->ref, ref))
		e = e->next;
	return e;
}

static size_t bytes_of(const struct entry *e)
{
	return e->schema ? e->schema->arena.used : 0;
}

static void forget_answer(struct schema_cache *c, struct entry *e)
{
	c->bytes -= bytes_of(e);
	avro_schema_free(e->schema);
	free(e->why);
	e->schema = NULL;
	e->why = NULL;
	e->answer = (struct schema_answer){.state = SCHEMA_AWAY};
}

static void drop(struct schema_cache *c, struct entry *victim)
{
	struct entry **at = bucket_of(c, &victim->ref);

	while (*at != victim)
		at = &(*at)->next;
	*at = victim->next;
	forget_answer(c, victim);
	free(victim);
	c->n--;
}

void schema_cache_free(struct schema_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (c->buckets[i])
			drop(c, c->buckets[i]);
	free(c);
}

/* The one in that state that was used least recently, but for one; NULL: none. */
static struct entry *oldest(
	const struct schema_cache *c, enum state state, const struct entry *but_for)
{
	struct entry *best = NULL;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct entry *e = c->buckets[i]; e; e = e->next)
			if (e->state == state && !e->pinned && e != but_for &&
				(!best || e->used < best->used))
				best = e;
	return best;
}

/* False: all that is there is still to be fetched. */
static bool make_room(struct schema_cache *c, const struct entry *but_for)
{
	struct entry *victim;

	while (c->n >= SCHEMA_CACHE_ENTRIES || c->bytes > SCHEMA_CACHE_BYTES) {
		victim = oldest(c, STATE_KNOWN, but_for);
		if (!victim)
			return c->n < SCHEMA_CACHE_ENTRIES;
		drop(c, victim);
	}
	return true;
}

static struct entry *add(struct schema_cache *c, const struct schema_ref *ref)
{
	struct entry **bucket = bucket_of(c, ref);
	struct entry *e = mem_zalloc(sizeof(*e));

	e->ref = *ref;
	e->answer.state = SCHEMA_AWAY;
	e->next = *bucket;
	*bucket = e;
	c->n++;
	return e;
}

static void want(struct schema_cache *c, struct entry *e)
{
	c->n_wanted += e->state != STATE_WANTED;
	e->state = STATE_WANTED;
	e->used = ++c->clock;
}

static bool expired(const struct entry *e, int64_t now_us)
{
	return e->state == STATE_KNOWN && e->answer.state == SCHEMA_UNKNOWN &&
	       now_us >= e->expires_us;
}

struct schema_answer schema_cache_find(
	struct schema_cache *c, const struct schema_ref *ref, int64_t now_us)
{
	struct entry *e = find(c, ref);

	if (e && expired(e, now_us)) {
		forget_answer(c, e);
		e->failures = 0;
		e->suspect = false;
		want(c, e);
	}
	if (!e && make_room(c, NULL))
		want(c, e = add(c, ref));
	if (!e)
		return (struct schema_answer){.state = SCHEMA_AWAY};
	if (e->state == STATE_KNOWN)
		e->used = ++c->clock;
	return e->answer;
}

bool schema_cache_knows(const struct schema_cache *c, const struct schema_ref *ref, int64_t now_us)
{
	const struct entry *e = find(c, ref);

	return e && e->state == STATE_KNOWN && !expired(e, now_us);
}

bool schema_cache_take_wanted(struct schema_cache *c, struct schema_ref *ret)
{
	struct entry *e = c->n_wanted ? oldest(c, STATE_WANTED, NULL) : NULL;

	if (!e)
		return false;
	c->n_wanted--;
	e->state = STATE_FETCHED;
	*ret = e->ref;
	return true;
}

static void set_known(struct schema_cache *c, struct entry *e, enum schema_state state)
{
	c->n_wanted -= e->state == STATE_WANTED;
	e->state = STATE_KNOWN;
	e->answer = (struct schema_answer){.state = state, .avro = e->schema, .why = e->why};
	e->used = ++c->clock;
	c->bytes += bytes_of(e);
	c->changed = true;
	make_room(c, e);
}

static struct entry *to_answer(struct schema_cache *c, const struct schema_ref *ref)
{
	struct entry *e = find(c, ref);

	if (!e)
		e = add(c, ref);
	forget_answer(c, e);
	return e;
}

void schema_cache_found(
	struct schema_cache *c, const struct schema_ref *ref, struct avro_schema *schema)
{
	struct entry *e = to_answer(c, ref);

	e->schema = schema;
	set_known(c, e, schema ? SCHEMA_FOUND : SCHEMA_IS_JSON);
}

void schema_cache_pin(
	struct schema_cache *c, const struct schema_ref *ref, struct avro_schema *schema)
{
	schema_cache_found(c, ref, schema);
	find(c, ref)->pinned = true;
}

static void set_unknown(struct schema_cache *c, struct entry *e, char *why, int64_t now_us)
{
	e->why = why;
	e->expires_us = now_us + c->negative_ttl_us;
	set_known(c, e, SCHEMA_UNKNOWN);
}

void schema_cache_unknown(
	struct schema_cache *c, const struct schema_ref *ref, const char *why, int64_t now_us)
{
	set_unknown(c, to_answer(c, ref), mem_strdup(why), now_us);
}

void schema_cache_failed(
	struct schema_cache *c, const struct schema_ref *ref, bool suspect, const char *why)
{
	struct entry *e = to_answer(c, ref);

	e->suspect = suspect;
	e->why = mem_strdup(why);
	want(c, e);
}

void schema_cache_answered(struct schema_cache *c, const struct schema_ref *ref, int64_t now_us)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct entry *e = c->buckets[i]; e; e = e->next) {
			if (!e->suspect || e->state == STATE_KNOWN || schema_ref_same(&e->ref, ref))
				continue;
			e->suspect = false;
			e->failures++;
			/* One that is being fetched now may yet come. */
			if (e->failures >= SCHEMA_CACHE_FAILURES && e->state == STATE_WANTED)
				set_unknown(c, e, TAKE_PTR(e->why), now_us);
		}
}

bool schema_cache_take_change(struct schema_cache *c)
{
	bool changed = c->changed;

	c->changed = false;
	return changed;
}

/*
 * schema_cache.h: what is known of schemas: found, unknown for a while, or still to be fetched.
 * What is fetched how, and when, is up to the caller. Pure; one thread. Times are microseconds of
 * one clock that never goes back.
 */
#ifndef COMMON_SCHEMA_CACHE_H
#define COMMON_SCHEMA_CACHE_H

#include "avro_schema.h"
#include "schema_ref.h"

/* Beyond these the least recently used one goes that is neither pinned nor to be fetched. */
#define SCHEMA_CACHE_ENTRIES 2000
#define SCHEMA_CACHE_BYTES ((size_t)64 * 1024 * 1024)
/* So often a schema may fail with others answered in between; then it is unknown. */
#define SCHEMA_CACHE_FAILURES 3

struct schema_cache;

/* negative_ttl_us: how long an unknown schema is not asked for again. */
struct schema_cache *schema_cache_new(int64_t negative_ttl_us);
void schema_cache_free(struct schema_cache *c); /* accepts NULL */

/*
 * SCHEMA_AWAY where nothing is known of it: then it is to be fetched from now on. What the answer
 * points to is valid until the next call.
 */
struct schema_answer schema_cache_find(
	struct schema_cache *c, const struct schema_ref *ref, int64_t now_us);
/* Only looks. */
bool schema_cache_knows(const struct schema_cache *c, const struct schema_ref *ref, int64_t now_us);

/* One that is to be fetched, the longest-waiting first; the caller owes one of the calls below. */
bool schema_cache_take_wanted(struct schema_cache *c, struct schema_ref *ret);
/* It is there. schema is moved; NULL: it is a JSON Schema. */
void schema_cache_found(
	struct schema_cache *c, const struct schema_ref *ref, struct avro_schema *schema);
/* There is none, or none that we can use; why is copied. Others are answered, too. */
void schema_cache_unknown(
	struct schema_cache *c, const struct schema_ref *ref, const char *why, int64_t now_us);
/*
 * Not now. It is to be fetched again. suspect: it may be the schema's own fault, and is charged
 * with it once schema_cache_answered says that another one was answered since.
 */
void schema_cache_failed(
	struct schema_cache *c, const struct schema_ref *ref, bool suspect, const char *why);
/* The registry has said what it has, or that it has nothing, by ref: so it can look things up. */
void schema_cache_answered(struct schema_cache *c, const struct schema_ref *ref, int64_t now_us);

/* Known for ever, whatever a registry says. schema is moved. */
void schema_cache_pin(
	struct schema_cache *c, const struct schema_ref *ref, struct avro_schema *schema);

/* Whether one that find called away has come to be known since this was asked last. */
bool schema_cache_take_change(struct schema_cache *c);

#endif

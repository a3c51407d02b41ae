/*
 * schema_registry.h: schemas from files and from a registry, in memory once they are known. Nothing
 * waits but step and schemas_find_waiting.
 */
#ifndef WORKER_SCHEMA_REGISTRY_H
#define WORKER_SCHEMA_REGISTRY_H

#include "clock.h"
#include "config.h"
#include "schemas.h"

struct report;

/*
 * ERR_CONFIG where an option of the registry or a schema file is wrong. No request is made yet. All
 * is borrowed; the caller frees with schema_registry_free.
 */
MUST_CHECK int schema_registry_new(const struct config *config, struct clock *clock,
	struct report *report, struct schemas **ret, struct err *err);
void schema_registry_free(struct schemas *s); /* accepts NULL */

/*
 * For commands that may wait: a source for struct decode_rules that fetches what it does not know,
 * and says SCHEMA_AWAY only where nobody has answered for ten seconds. s is from
 * schema_registry_new.
 */
struct schema_source schema_registry_waiting(struct schemas *s);

#endif

/*
 * classify.h: whether a read that failed can succeed later, where its dead letter gives no reason:
 * from HTTP status, class of the exception and stage. Pure; any thread.
 */
#ifndef COMMON_CLASSIFY_H
#define COMMON_CLASSIFY_H

#include "dialect.h"
#include "err.h"
#include "mem.h"

/* What the configuration adds: classify. The first rule that fits decides. */
struct classify_rules {
	struct classify_rule {
		struct slice class; /* a pattern, see glob_match_name() */
		enum reason reason;
	} * v;
	size_t n;
};

/*
 * items: "CLASS:REASON", such as "com.acme.Busy:retries_exhausted". *ret borrows from items and
 * arena. ERR_CONFIG where one has another form.
 */
MUST_CHECK int classify_rules_parse(
	struct arena *a, char *const *items, size_t n, struct classify_rules *ret, struct err *err);

/*
 * Sets f->reason where none is given. What decides, in this order: our rules; an HTTP status, in
 * code, class or text (which becomes f->error.code where there is none); the tables of classes,
 * each for the cause before its wrapper; Kafka Connect's stage. Else it is retries_exhausted.
 */
void classify(const struct classify_rules *rules, struct dialect_facts *f);

#endif

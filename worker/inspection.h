/* inspection.h: what list and audit share: the topics as they are, and a reader for them. */
#ifndef WORKER_INSPECTION_H
#define WORKER_INSPECTION_H

#include "schema_registry.h"
#include "topic_reader.h"
#include "topics.h"

struct inspection {
	const struct config *config;
	struct arena arena;
	struct report *report;
	struct kafka_log_config kafka;
	struct topics topics;
	struct log *log;
	struct schemas *schemas;
	struct decode_rules decode; /* with a source of schemas that waits */
	struct topic_reader reader;
	struct fold_rules rules;
};

/* ERR_CONFIG where a topic is missing, or DLQ, inbox and parked topic do not belong together.
 * To be closed regardless. */
MUST_CHECK int inspection_open(
	struct inspection *ret, const struct config *config, struct err *err);
void inspection_close(struct inspection *s);

#endif

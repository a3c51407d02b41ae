/* kafka_setup.h: from the configuration to what the Kafka modules need. */
#ifndef WORKER_KAFKA_SETUP_H
#define WORKER_KAFKA_SETUP_H

#include "config.h"
#include "kafka_log.h"

/* Topics by number as in log.h. Borrows from config; the topics' names are in the arena. */
void kafka_setup(struct arena *arena, const struct config *config, struct kafka_log_config *ret);

/* Whether librdkafka knows every setting; else ERR_CONFIG with the nearest name. */
MUST_CHECK int kafka_setup_check(const struct config *config, struct err *err);

#endif

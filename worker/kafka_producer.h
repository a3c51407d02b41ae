/*
 * kafka_producer.h: writes records outside of transactions, for commands: dead letters into a
 * source, hand-overs into the inbox. DLQ and parked topic are their owner's alone. One thread.
 */
#ifndef WORKER_KAFKA_PRODUCER_H
#define WORKER_KAFKA_PRODUCER_H

#include "kafka_log.h"

struct kafka_producer;

/* config and report are borrowed. */
MUST_CHECK int kafka_producer_new(const struct kafka_log_config *config, struct report *report,
	struct kafka_producer **ret, struct err *err);
/* What was not flushed is lost. NULL is fine. */
void kafka_producer_free(struct kafka_producer *p);
void kafka_producer_freep(struct kafka_producer **p);

/*
 * Copies the record and sends it. partition -1: the key's, as Java's default partitioner chooses,
 * any one without a key. What fails after that kafka_producer_flush tells.
 */
MUST_CHECK int kafka_producer_send(struct kafka_producer *p, const char *topic, int32_t partition,
	struct slice key, struct slice value, const struct header *headers, size_t n_headers,
	struct err *err);

/* Waits until every record is delivered or has failed, half a minute at most. *ret: how many were
 * delivered since the start; an error is that of the first one that was not. */
MUST_CHECK int kafka_producer_flush(struct kafka_producer *p, uint64_t *ret, struct err *err);

/* Whether a delivery has failed so far. */
bool kafka_producer_failed(const struct kafka_producer *p);

#endif

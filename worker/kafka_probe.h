/* kafka_probe.h: whether records of topics may be read: tried, as no client can ask (KIP-430 needs
 * librdkafka 2.3). Blocks for seconds at most. */
#ifndef WORKER_KAFKA_PROBE_H
#define WORKER_KAFKA_PROBE_H

#include "kafka_handle.h"

/*
 * Fetches once at the end of partition 0 of every topic that has partitions[i] > 0, outside of the
 * group. ret[i]: what came of it, NO_ERROR where it may be read; the others are left as they are.
 */
MUST_CHECK int kafka_probe_reading(const struct kafka_log_config *config, struct report *report,
	const int32_t *partitions, rd_kafka_resp_err_t *ret, struct err *err);

#endif

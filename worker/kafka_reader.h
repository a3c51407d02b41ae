/* kafka_reader.h: reads ranges; asks for watermarks; deletes records. */
#ifndef WORKER_KAFKA_READER_H
#define WORKER_KAFKA_READER_H

#include "kafka_fetcher.h"

struct kafka_reader {
	struct kafka_shared *shared;
	struct kafka_fetcher fetcher;
	struct kafka_handle look;  /* read_uncommitted */
	rd_kafka_queue_t *trimmed; /* results of deletions */
};

void kafka_reader_close(struct kafka_reader *r);
void kafka_reader_serve(struct kafka_reader *r);

/* See log.h. */
MUST_CHECK int kafka_reader_start(
	struct kafka_reader *r, const struct log_range *v, size_t n, struct err *err);
MUST_CHECK int kafka_reader_next(struct kafka_reader *r, struct arena *arena, struct log_message *v,
	size_t max, int timeout_ms, size_t *ret_n, bool *ret_done, struct err *err);
MUST_CHECK int kafka_reader_watermarks(struct kafka_reader *r, int topic, int32_t partition,
	int64_t *ret_low, int64_t *ret_high, struct err *err);
MUST_CHECK int kafka_reader_offset_at(struct kafka_reader *r, int topic, int32_t partition,
	int64_t timestamp_ms, int64_t *ret, struct err *err);
void kafka_reader_trim(struct kafka_reader *r, int topic, int32_t partition, int64_t offset);

#endif

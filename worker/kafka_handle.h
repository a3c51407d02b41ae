/*
 * kafka_handle.h: what the librdkafka handles of kafka_log.h share: configuration, the class of an
 * error, and what librdkafka logs. Callbacks run only inside calls of ours, on the loop's thread.
 */
#ifndef WORKER_KAFKA_HANDLE_H
#define WORKER_KAFKA_HANDLE_H

#include "config.h"
#include "kafka_log.h"
#include "kafka_stats.h"

#include <librdkafka/rdkafka.h>

/* A setting of ours. Lists end with a NULL name. */
struct kafka_pair {
	const char *name, *value;
};

/* What a call may wait for the broker before the loop has to serve its group again. */
#define KAFKA_TURN_MS 1500

struct kafka_shared {
	const struct kafka_log_config *config;
	struct report *report;
	int64_t window_us; /* when the present window of the rate limit began */
	unsigned in_window;
	/* Per role; what handles of that role counted that are closed is in the counters too. */
	struct kafka_stats stats[KAFKA_ROLES];
};

/* One librdkafka handle; the first member of what uses it, and the opaque of its callbacks. */
struct kafka_handle {
	rd_kafka_t *rk; /* NULL: closed */
	const char *role;
	struct kafka_shared *shared;
	unsigned errors;	  /* error events since it was opened */
	struct kafka_stats stats; /* the last */
};

/* What the group's heartbeat.interval.ms is unless the user has set it. */
int kafka_heartbeat_ms(const struct kafka_log_config *config);

/* The class of a librdkafka or broker error. */
enum err_class kafka_err_class(rd_kafka_resp_err_t code);

/* Fills *err with the class of error, "what: text"; destroys error. Returns the class. */
__attribute__((format(printf, 3, 4))) int kafka_err_take(
	struct err *err, rd_kafka_error_t *error, const char *what, ...);

/* An event "kafka" for people; what comes too fast is cut. */
__attribute__((format(printf, 3, 4))) void kafka_report(
	struct kafka_shared *s, char level, const char *fmt, ...);

/*
 * The defaults, then the user's settings, then those that are fixed. The caller gives *ret to
 * kafka_handle_open or destroys it.
 */
MUST_CHECK int kafka_conf_new(struct kafka_shared *s, const struct kafka_pair *defaults,
	const struct kafka_pair *fixed, rd_kafka_conf_t **ret, struct err *err);

/* Takes conf in any case. */
MUST_CHECK int kafka_handle_open(struct kafka_handle *h, struct kafka_shared *s, const char *role,
	rd_kafka_type_t type, rd_kafka_conf_t *conf, struct err *err);

/* Destroys the handle without leaving its group. A closed one is fine. */
void kafka_handle_close(struct kafka_handle *h);

/* Serves errors and logs of a handle that is not the group's. A closed one is fine. */
void kafka_handle_serve(struct kafka_handle *h);

/*
 * which: a time in ms, or RD_KAFKA_OFFSET_BEGINNING or RD_KAFKA_OFFSET_END, in ListOffsets the
 * "time" of the first and the next record. *ret: RD_KAFKA_OFFSET_END where no record is that late.
 */
MUST_CHECK rd_kafka_resp_err_t kafka_list_offset(struct kafka_handle *h, const char *topic,
	int32_t partition, int64_t which, int timeout_ms, int64_t *ret);

/* The number of the topic of that name, -1 for none of ours. */
int kafka_topic_number(const struct kafka_log_config *config, const char *name);

#endif

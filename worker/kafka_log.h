/*
 * kafka_log.h: the log of log.h over librdkafka. One owner; all calls from the loop's thread.
 *
 * Six librdkafka handles, each opened when it is first needed, so that a program that only reads
 * or only writes joins no group:
 *
 *   group    the membership, nothing else; it also answers committed offsets
 *   fetch    fetches what the group's owner assigns to itself
 *   read     reads ranges
 *   originals  read_uncommitted: records of other topics, to which dead letters point
 *   look     read_uncommitted: high watermarks; deletes records
 *   produce  the transactions; replaced by every renew_producer
 */
#ifndef WORKER_KAFKA_LOG_H
#define WORKER_KAFKA_LOG_H

#include "log.h"

struct config_setting;
struct kafka_stats;
struct report;

/* The handles' names, in the order of the metrics' label. */
#define KAFKA_ROLES 5
extern const char *const kafka_roles[KAFKA_ROLES];

/* All borrowed for the log's life. */
struct kafka_log_config {
	const char *bootstrap_servers;
	/* The user's, without "kafka."; ours win where the protocol rests on them. */
	const struct config_setting *settings;
	size_t n_settings;
	char **topics; /* names by topic number, see log.h */
	size_t n_topics;
	const char *group_id;
	const char *instance_id; /* NULL: a dynamic member */
	int transaction_timeout_ms;
	int session_timeout_ms;
	int message_max_bytes; /* the largest record to write, key and headers included */
	/* How often librdkafka counts; 0: never, where nobody polls the group in between. */
	int statistics_ms;
};

/*
 * Connects to nothing yet. ERR_CONFIG where librdkafka does not accept a setting. The caller frees
 * *ret with kafka_log_free.
 */
MUST_CHECK int kafka_log_new(const struct kafka_log_config *config, struct report *report,
	struct log **ret, struct err *err);

/* What librdkafka's statistics said last, by kafka_roles. Borrowed; the loop's thread only. */
const struct kafka_stats *kafka_log_stats(const struct log *log);

/* Leaves the group where that was not done. Takes a few seconds at most. NULL is fine. */
void kafka_log_free(struct log *log);

#endif

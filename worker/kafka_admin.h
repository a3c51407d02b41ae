/* kafka_admin.h: describes and creates topics. Each call blocks for seconds at most. */
#ifndef WORKER_KAFKA_ADMIN_H
#define WORKER_KAFKA_ADMIN_H

#include "kafka_handle.h"

struct kafka_admin;

/* config and report are borrowed. */
MUST_CHECK int kafka_admin_new(const struct kafka_log_config *config, struct report *report,
	struct kafka_admin **ret, struct err *err);
void kafka_admin_free(struct kafka_admin *a);
void kafka_admin_freep(struct kafka_admin **a);

/* 0 where the topic does not exist. */
MUST_CHECK int kafka_admin_partitions(
	struct kafka_admin *a, const char *topic, int32_t *ret, struct err *err);

/* A group as its coordinator has it: "Stable", "Empty", ... ; "Dead" where it never was. */
struct kafka_group_state {
	const char *name; /* static */
	size_t members;
};
MUST_CHECK int kafka_admin_group(
	struct kafka_admin *a, const char *group, struct kafka_group_state *ret, struct err *err);

struct kafka_topic_settings {
	struct kafka_pair *v;
	size_t n;
};
/* The settings of an existing topic, defaults included, in the arena. */
MUST_CHECK int kafka_admin_settings(struct kafka_admin *a, struct arena *arena, const char *topic,
	struct kafka_topic_settings *ret, struct err *err);
/* NULL: the broker has no such setting. */
const char *kafka_topic_setting(const struct kafka_topic_settings *s, const char *name);

/* Replication is the broker's default. partitions -1: likewise. It is no error if it exists. */
MUST_CHECK int kafka_admin_create(struct kafka_admin *a, const char *topic, int32_t partitions,
	const struct kafka_pair *v, size_t n, struct err *err);

#endif

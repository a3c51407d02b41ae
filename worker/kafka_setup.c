#include "kafka_setup.h"

#include <librdkafka/rdkafka.h>
#include <stdlib.h>

/* librdkafka's own limit: what is too large the broker says. */
#define MESSAGE_BYTES_MAX 1000000000

void kafka_setup(struct arena *arena, const struct config *config, struct kafka_log_config *ret)
{
	size_t n = TOPIC_SOURCE + config->source_topics.n;
	char **topics = arena_alloc(arena, n * sizeof(*topics));

	topics[TOPIC_DLQ] = arena_cstr(arena, slice_str(config->dlq_topic));
	topics[TOPIC_INBOX] = arena_cstr(arena, slice_str(config->inbox_topic));
	topics[TOPIC_PARKED] = arena_cstr(arena, slice_str(config->parked_topic));
	for (size_t i = 0; i < config->source_topics.n; i++)
		topics[TOPIC_SOURCE + i] = config->source_topics.v[i];
	*ret = (struct kafka_log_config){
		.bootstrap_servers = config->bootstrap_servers,
		.settings = config->kafka,
		.n_settings = config->n_kafka,
		.topics = topics,
		.n_topics = n,
		.group_id = config->group_id,
		.instance_id = config->instance_id[0] ? config->instance_id : NULL,
		.transaction_timeout_ms = (int)config->transaction_timeout_ms,
		.session_timeout_ms = (int)config->session_timeout_ms,
		.message_max_bytes = MESSAGE_BYTES_MAX,
	};
}

static int unknown_setting(rd_kafka_conf_t *conf, const char *name, struct err *err)
{
	size_t n, n_names = 0;
	const char **dump = rd_kafka_conf_dump(conf, &n); /* names and values in turn */
	const char **names = mem_zalloc((n / 2 + 1) * sizeof(*names));

	for (size_t i = 0; i + 1 < n; i += 2)
		names[n_names++] = dump[i];
	err_set(err, ERR_CONFIG,
		"kafka.%.100s: librdkafka %s has no such setting; the nearest is %s", name,
		rd_kafka_version_str(), config_nearest(name, names, n_names));
	free(names);
	rd_kafka_conf_dump_free(dump, n);
	return ERR_CONFIG;
}

int kafka_setup_check(const struct config *config, struct err *err)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	int r = 0;

	for (size_t i = 0; i < config->n_kafka && !r; i++) {
		const struct config_setting *s = &config->kafka[i];
		char why[256];

		switch (rd_kafka_conf_set(conf, s->name, s->value, why, sizeof(why))) {
		case RD_KAFKA_CONF_OK:
			break;
		case RD_KAFKA_CONF_UNKNOWN:
			r = unknown_setting(conf, s->name, err);
			break;
		case RD_KAFKA_CONF_INVALID:
			r = err_set(err, ERR_CONFIG, "kafka.%s: %s", s->name, why);
			break;
		}
	}
	rd_kafka_conf_destroy(conf);
	return r;
}

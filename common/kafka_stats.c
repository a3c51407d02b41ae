#include "kafka_stats.h"

#include <jansson.h>
#include <string.h>

static uint64_t number(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));

	return n > 0 ? (uint64_t)n : 0;
}

static void add_broker(struct kafka_stats *s, const json_t *broker)
{
	const char *state = json_string_value(json_object_get(broker, "state"));
	const char *source = json_string_value(json_object_get(broker, "source"));
	uint64_t rtt_us = number(json_object_get(broker, "rtt"), "avg");

	s->waiting += number(broker, "outbuf_cnt") + number(broker, "waitresp_cnt");
	s->timeouts += number(broker, "req_timeouts");
	s->retries += number(broker, "txretries");
	if (rtt_us > s->rtt_us)
		s->rtt_us = rtt_us;
	/* A coordinator's alias, or an address not yet known to be a broker's, is listed by itself.
	 */
	if (state && strcmp(state, "UP") == 0 && source && strcmp(source, "logical") != 0 &&
		json_integer_value(json_object_get(broker, "nodeid")) >= 0)
		s->brokers_up++;
}

int kafka_stats_parse(const char *json, size_t n, struct kafka_stats *ret, struct err *err)
{
	json_error_t why;
	json_auto_t *root = json_loadb(json, n, 0, &why);
	json_t *brokers = json_object_get(root, "brokers"), *broker;
	const char *name;

	*ret = (struct kafka_stats){0};
	if (!root)
		return err_set(err, ERR_DATA, "librdkafka's statistics: %s", why.text);
	if (!json_is_object(brokers))
		return err_set(err, ERR_DATA, "librdkafka's statistics have no brokers");
	json_object_foreach(brokers, name, broker) add_broker(ret, broker);
	return 0;
}

#include "kafka_handle.h"

#include "clock.h"
#include "loop.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#define REPORT_WINDOW_US 10000000
#define REPORTS_PER_WINDOW 20
#define HEARTBEAT_MAX_MS 3000

const char *const kafka_roles[KAFKA_ROLES] = {"group", "fetch", "read", "look", "produce"};

static const struct {
	rd_kafka_resp_err_t code;
	enum err_class class;
} classes[] = {
	{RD_KAFKA_RESP_ERR__FENCED, ERR_FENCED},
	{RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, ERR_FENCED},
	{RD_KAFKA_RESP_ERR_PRODUCER_FENCED, ERR_FENCED},
	{RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, ERR_FENCED},

	{RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, ERR_INTERRUPTED},
	{RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, ERR_INTERRUPTED},
	{RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, ERR_INTERRUPTED},
	{RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST, ERR_INTERRUPTED},

	{RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, ERR_RANGE},
	{RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, ERR_RANGE},

	/* librdkafka skips what it cannot read; nobody else may. */
	{RD_KAFKA_RESP_ERR__BAD_MSG, ERR_DATA},
	{RD_KAFKA_RESP_ERR__BAD_COMPRESSION, ERR_DATA},
	{RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED, ERR_DATA},
	{RD_KAFKA_RESP_ERR_INVALID_MSG, ERR_DATA},

	{RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, ERR_CONFIG},
	{RD_KAFKA_RESP_ERR__INVALID_ARG, ERR_INTERNAL},
};

enum err_class kafka_err_class(rd_kafka_resp_err_t code)
{
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (classes[i].code == code)
			return classes[i].class;
	return ERR_UNREACHABLE;
}

int kafka_err_take(struct err *err, rd_kafka_error_t *error, const char *what, ...)
{
	enum err_class class = kafka_err_class(rd_kafka_error_code(error));
	char text[256];
	va_list ap;

	va_start(ap, what);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	err_set(err, class, "%s: %s (%s)", text, rd_kafka_error_string(error),
		rd_kafka_error_name(error));
	rd_kafka_error_destroy(error);
	return class;
}

static void send_event(struct kafka_shared *s, char level, const char *text)
{
	struct notice event = {.level = level, .name = "kafka", .text = text};

	s->report->ops->event(s->report, &event);
}

/* Whether one more may be said now; an outage makes librdkafka say the same over and over. */
static bool within_rate(struct kafka_shared *s)
{
	int64_t now_us = clock_steady_us(clock_system());
	unsigned cut;
	char text[96];

	if (now_us - s->window_us >= REPORT_WINDOW_US) {
		cut = s->in_window > REPORTS_PER_WINDOW ? s->in_window - REPORTS_PER_WINDOW : 0;
		s->window_us = now_us;
		s->in_window = 0;
		if (cut) {
			snprintf(text, sizeof(text), "%u more were not logged", cut);
			send_event(s, 'W', text);
		}
	}
	return ++s->in_window <= REPORTS_PER_WINDOW;
}

void kafka_report(struct kafka_shared *s, char level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!within_rate(s))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	send_event(s, level, text);
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque)
{
	struct kafka_handle *h = opaque;

	(void)rk;
	h->errors++;
	kafka_report(h->shared, 'W', "%s: %s (%s)", h->role, reason,
		rd_kafka_err2name((rd_kafka_resp_err_t)code));
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	struct kafka_handle *h = rk ? rd_kafka_opaque(rk) : NULL;
	char ours = level <= LOG_ERR ? 'E' : level == LOG_WARNING ? 'W' : 'I';

	/* FAIL comes as an error event too. CONFWARN complains that a consumer is given a
	 * producer's setting, or the reverse: the user's settings are for all handles. */
	if (!h || strcmp(facility, "FAIL") == 0 || strcmp(facility, "CONFWARN") == 0)
		return;
	if (level == LOG_DEBUG) /* asked for by kafka.debug */
		send_event(h->shared, ours, text);
	else
		kafka_report(h->shared, ours, "%s: %s %s", h->role, facility, text);
}

static struct kafka_stats *stats_of_role(struct kafka_handle *h)
{
	for (size_t i = 0; i < KAFKA_ROLES; i++)
		if (strcmp(h->role, kafka_roles[i]) == 0)
			return &h->shared->stats[i];
	return NULL;
}

/* Counters go on where a handle is replaced, as the producer's is. */
static int on_stats(rd_kafka_t *rk, char *json, size_t n, void *opaque)
{
	struct kafka_handle *h = opaque;
	struct kafka_stats *total = stats_of_role(h), now;
	struct err err;

	(void)rk;
	if (!total)
		return 0;
	if (kafka_stats_parse(json, n, &now, &err)) {
		kafka_report(h->shared, 'W', "%s: %s", h->role, err.text);
		return 0;
	}
	total->brokers_up = now.brokers_up;
	total->rtt_us = now.rtt_us;
	total->waiting = now.waiting;
	total->timeouts += now.timeouts - h->stats.timeouts;
	total->retries += now.retries - h->stats.retries;
	h->stats = now;
	return 0;
}

static int set(rd_kafka_conf_t *conf, const char *name, const char *value, struct err *err)
{
	char text[256];

	if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK)
		return err_set(err, ERR_CONFIG, "kafka.%s: %s", name, text);
	return 0;
}

static int set_all(rd_kafka_conf_t *conf, const struct kafka_pair *v, struct err *err)
{
	int r = 0;

	for (; !r && v->name; v++)
		r = set(conf, v->name, v->value, err);
	return r;
}

int kafka_conf_new(struct kafka_shared *s, const struct kafka_pair *defaults,
	const struct kafka_pair *fixed, rd_kafka_conf_t **ret, struct err *err)
{
	char session[16], bytes[16], statistics[16];
	const struct kafka_pair common[] = {
		{"log.queue", "true"},
		/* For all handles: librdkafka compares these with other settings of the user. */
		{"session.timeout.ms", session},
		{"message.max.bytes", bytes},
		/* Else a connection lost with a request in flight makes no error event. */
		{"log.connection.close", "true"},
		{"allow.auto.create.topics", "false"},
		{NULL, NULL},
	};
	const struct kafka_pair basic[] = {
		{"client.id", "meter-dlq"},
		{"bootstrap.servers", s->config->bootstrap_servers},
		{"socket.timeout.ms", "10000"},
		{"statistics.interval.ms", statistics},
		{NULL, NULL},
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	int r;

	snprintf(statistics, sizeof(statistics), "%d", s->config->statistics_ms);
	r = set_all(conf, basic, err);
	snprintf(session, sizeof(session), "%d", s->config->session_timeout_ms);
	snprintf(bytes, sizeof(bytes), "%d", s->config->message_max_bytes);
	if (!r)
		r = set_all(conf, defaults, err);
	for (size_t i = 0; !r && i < s->config->n_settings; i++)
		r = set(conf, s->config->settings[i].name, s->config->settings[i].value, err);
	if (!r)
		r = set_all(conf, common, err);
	if (!r)
		r = set_all(conf, fixed, err);
	if (r) {
		rd_kafka_conf_destroy(conf);
		return r;
	}
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_log_cb(conf, on_log);
	rd_kafka_conf_set_stats_cb(conf, on_stats);
	*ret = conf;
	return 0;
}

int kafka_handle_open(struct kafka_handle *h, struct kafka_shared *s, const char *role,
	rd_kafka_type_t type, rd_kafka_conf_t *conf, struct err *err)
{
	char text[256];

	*h = (struct kafka_handle){.role = role, .shared = s};
	rd_kafka_conf_set_opaque(conf, h);
	h->rk = rd_kafka_new(type, conf, text, sizeof(text));
	if (!h->rk) {
		rd_kafka_conf_destroy(conf);
		return err_set(err, ERR_CONFIG, "librdkafka's configuration: %s", text);
	}
	rd_kafka_set_log_queue(h->rk, NULL);
	return 0;
}

void kafka_handle_close(struct kafka_handle *h)
{
	if (h->rk)
		rd_kafka_destroy_flags(h->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	h->rk = NULL;
}

void kafka_handle_serve(struct kafka_handle *h)
{
	if (h->rk)
		rd_kafka_poll(h->rk, 0);
}

/* rd_kafka_query_watermark_offsets does the same, but heeds no time-out once its requests are sent
 * (rdkafka.c). */
rd_kafka_resp_err_t kafka_list_offset(struct kafka_handle *h, const char *topic, int32_t partition,
	int64_t which, int timeout_ms, int64_t *ret)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *place =
		rd_kafka_topic_partition_list_add(list, topic, partition);
	rd_kafka_resp_err_t code;

	place->offset = which;
	code = rd_kafka_offsets_for_times(h->rk, list, timeout_ms > 1 ? timeout_ms : 1);
	if (!code)
		code = place->err;
	*ret = place->offset;
	rd_kafka_topic_partition_list_destroy(list);
	if (!code && *ret < 0 && *ret != RD_KAFKA_OFFSET_END)
		code = RD_KAFKA_RESP_ERR__NO_OFFSET;
	return code;
}

int kafka_heartbeat_ms(const struct kafka_log_config *config)
{
	int ms = config->session_timeout_ms / 5;

	return ms < HEARTBEAT_MAX_MS ? ms : HEARTBEAT_MAX_MS;
}

int kafka_topic_number(const struct kafka_log_config *config, const char *name)
{
	for (size_t i = 0; i < config->n_topics; i++)
		if (strcmp(config->topics[i], name) == 0)
			return (int)i;
	return -1;
}

/* run: the worker. Looks at the topics, puts the loop on its seams and turns it. */
#include "command.h"
#include "http.h"
#include "publish.h"
#include "report.h"
#include "schema_registry.h"
#include "signals.h"
#include "sink_pg.h"
#include "topics.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNTIL_IDLE_PATIENCE_US (30LL * 1000 * 1000)
/* A turn of the loop ticks all along, but not inside a transaction. */
#define STALE_US (60LL * 1000 * 1000)
#define KAFKA_STATISTICS_MS 5000

struct worker {
	const struct config *config;
	int64_t started_us;
	struct arena arena;
	struct report *report;
	struct signals *signals;
	struct kafka_log_config kafka;
	struct loop_config rules;
	struct log *log;
	struct sink *sink;
	struct schemas *schemas;
	struct loop *loop;
	struct metrics metrics;
	struct publisher publisher;
	struct http *http;
};

static void worker_close(struct worker *w)
{
	signals_on_stop(w->signals, NULL, NULL);
	http_stop(w->http);
	publisher_free(&w->publisher);
	metrics_free(&w->metrics);
	loop_free(w->loop);
	kafka_log_free(w->log);
	sink_pg_free(w->sink);
	schema_registry_free(w->schemas);
	signals_freep(&w->signals);
	report_free(w->report);
	arena_free(&w->arena);
}

/* --- before the start --- */

static void tell(void *arg, bool breaks, const char *text)
{
	struct worker *w = arg;

	report_event(w->report, breaks ? 'E' : 'W', "topics", "%s", text);
}

static void set_rules(struct worker *w, const struct topics *t)
{
	const struct config *c = w->config;

	w->kafka.message_max_bytes = (int)topics_record_bytes(t);
	w->rules = (struct loop_config){.topics = w->kafka.topics,
		.n_topics = w->kafka.n_topics,
		.partitions = t->partitions[TOPIC_DLQ],
		.group_id = c->group_id,
		.key_rule_text = c->key_from,
		.decode = topics_decode_rules(t, c),
		.replay = {.poison_cap = (uint32_t)c->poison_cap,
			.backoff_initial_us = c->backoff_initial,
			.backoff_max_us = c->backoff_max,
			.backoff_factor = (uint32_t)c->backoff_factor,
			.expire_after_us = c->expire_after},
		.replay_auto = c->replay_auto,
		.replay_max_rate = (uint64_t)c->replay_max_rate,
		.live_max = (size_t)c->live_max,
		.batch_max_records = (size_t)c->batch_records,
		.batch_max_bytes = (size_t)c->batch_bytes,
		.batch_wait_ms = (int)(c->batch_wait / 1000),
		.until_idle = c->until_idle,
		.until_idle_patience_us = UNTIL_IDLE_PATIENCE_US};
}

/* On wrong topics the worker would lose reads, so it does not start. */
static int look_at_topics(struct worker *w, struct err *err)
{
	CLEANUP(kafka_admin_freep) struct kafka_admin *admin = NULL;
	struct topics topics;
	unsigned breaks;
	int r = kafka_admin_new(&w->kafka, w->report, &admin, err);

	if (!r)
		r = topics_describe(admin, &w->kafka, &w->arena, &topics, err);
	if (r)
		return r;
	breaks = topics_check(&topics, tell, w);
	if (breaks)
		return err_set(err, ERR_CONFIG,
			"refusing to start on these topics: %u faults that would lose reads; the "
			"events \"topics\" before this one say how to mend them",
			breaks);
	set_rules(w, &topics);
	return 0;
}

/* A worker without metrics still does its work: a second one on a machine finds the port taken. */
static int start_http(struct worker *w, struct err *err)
{
	const char *listen = w->config->http_listen;
	const struct http_config http = {.listen = listen,
		.version = METER_DLQ_VERSION,
		.metrics = &w->metrics,
		.loop = w->loop,
		.clock = clock_system(),
		.stale_us = STALE_US + w->config->transaction_timeout_ms * 1000};
	int r = http_start(&http, &w->http, err);

	if (r == ERR_UNREACHABLE) {
		report_event(w->report, 'W', "http", "%s; going on without", err->text);
		return 0;
	}
	if (!r && w->http)
		report_event(w->report, 'I', "http", "listening on %.*s:%d",
			(int)(strrchr(listen, ':') - listen), listen, http_port(w->http));
	return r;
}

static int open_seams(struct worker *w, struct err *err)
{
	const struct config *c = w->config;
	const struct sink_pg_config sink = {.conninfo = c->sink_conninfo,
		.function = c->sink_function,
		.application_name = "meter-dlq",
		.connections = (size_t)c->sink_connections,
		.statement_records = (size_t)c->sink_statement_records,
		.statement_timeout_ms = (int)(c->sink_statement_timeout / 1000),
		.lock_timeout_ms = (int)(c->sink_lock_timeout / 1000)};
	int r = sink_pg_check(&sink, err);

	if (!r)
		r = schema_registry_new(c, clock_system(), w->report, &w->schemas, err);
	if (!r)
		r = look_at_topics(w, err);
	if (!r)
		r = kafka_log_new(&w->kafka, w->report, &w->log, err);
	if (!r)
		w->sink = sink_pg_new(&sink);
	return r;
}

static int start_loop(struct worker *w, struct err *err)
{
	w->loop = loop_new(&w->rules, w->log, w->sink, w->schemas, clock_system(), w->report);
	metrics_init(&w->metrics, (size_t)w->rules.partitions);
	metrics_set(&w->metrics, METRIC_PROCESS_START, 0, (uint64_t)w->started_us);
	publisher_init(&w->publisher, &w->metrics, clock_system());
	publish(&w->publisher, w->loop, w->log);
	return start_http(w, err);
}

/* --- working --- */

static void stop_loop(void *loop)
{
	loop_stop(loop);
}

static int turn(struct worker *w, struct err *err)
{
	int r = 0;

	signals_on_stop(w->signals, stop_loop, w->loop);
	report_event(w->report, 'I', "started",
		"meter-dlq %s with librdkafka %s: group %s, %d partitions of %s", METER_DLQ_VERSION,
		rd_kafka_version_str(), w->config->group_id, w->rules.partitions,
		w->config->dlq_topic);
	while (!r && !loop_done(w->loop)) {
		r = loop_step(w->loop, err);
		publish(&w->publisher, w->loop, w->log);
		http_set_ready(w->http, loop_view(w->loop).not_ready);
		report_flush(w->report);
	}
	return r;
}

static void print_stats(const struct loop_stats *s)
{
	printf("{\"committed\":%" PRIu64 ",\"duplicate\":%" PRIu64 ",\"requeued\":%" PRIu64
	       ",\"parked\":%" PRIu64 ",\"merged\":%" PRIu64 ",\"seen\":%" PRIu64
	       ",\"intake\":%" PRIu64 "}\n",
		s->committed, s->duplicate, s->requeued, s->parked, s->merged, s->seen, s->intake);
	fflush(stdout);
}

static int finish(struct worker *w, int r, const struct err *err)
{
	const struct loop_stats *stats =
		w->config->until_idle && w->loop ? loop_stats(w->loop) : NULL;

	if (stats)
		print_stats(stats);
	if (r) {
		report_event(w->report, 'E', "ended", "%s", err->text);
		return status_of_error(r);
	}
	report_event(w->report, 'I', "ended", "as asked");
	return stats && stats->requeued + stats->parked ? STATUS_SOME_FAILED : STATUS_OK;
}

/*
 * Batches take and give back some MiB each. glibc would return that to the kernel every time and
 * fault it in anew (mallopt(3)): measured, an eighth of the worker's CPU.
 */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 128 << 20);
	mallopt(M_TOP_PAD, 16 << 20);
}

static enum report_form log_form(const struct config *config)
{
	bool text = strcmp(config->log_format, "text") == 0 ||
		    (strcmp(config->log_format, "auto") == 0 && isatty(STDERR_FILENO));

	return text ? REPORT_TEXT : REPORT_JSON;
}

int cmd_run(const struct config *config, struct err *err)
{
	CLEANUP(worker_close)
	struct worker w = {.config = config,
		.started_us = clock_now_us(clock_system()),
		.report = report_new(clock_system(), log_form(config))};
	int r;

	keep_memory();
	w.signals = signals_new(w.report);
	kafka_setup(&w.arena, config, &w.kafka);
	w.kafka.statistics_ms = KAFKA_STATISTICS_MS;
	r = open_seams(&w, err);
	if (!r)
		r = start_loop(&w, err);
	if (!r)
		r = turn(&w, err);
	return finish(&w, r, err);
}

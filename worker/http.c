#include "http.h"

#include "fold.h"
#include "metrics.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>

/* A turn of the loop takes longer than this only if it hangs. */
#define TICK_LIMIT_US (120ll * 1000 * 1000)
/* The oldest entry is looked for this often: it reads every ticket. */
#define OLDEST_PAUSE_US (10ll * 1000 * 1000)

struct http {
	struct MHD_Daemon *daemon;
	struct metrics metrics;
	struct clock *clock;
	const char *version;
	int64_t oldest_us; /* steady: when the oldest was looked for */
	_Atomic int64_t ticked_us;
	_Atomic bool ready;
};

static enum MHD_Result respond(
	struct MHD_Connection *c, unsigned status, const char *type, const char *body)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(body), (void *)body, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result respond_text(struct MHD_Connection *c, bool ok, const char *text)
{
	return respond(c, ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain", text);
}

static enum MHD_Result respond_metrics(struct http *h, struct MHD_Connection *c)
{
	CLEANUP(buf_free) struct buf out = {0};

	metrics_render(&h->metrics, h->version, &out);
	buf_add_byte(&out, '\0');
	return respond(c, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", (char *)out.p);
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_n, void **state)
{
	struct http *h = arg;

	(void)version, (void)upload, (void)upload_n, (void)state;
	if (strcmp(method, "GET") != 0)
		return respond(c, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", "GET only\n");
	if (strcmp(url, "/metrics") == 0)
		return respond_metrics(h, c);
	if (strcmp(url, "/healthz") == 0)
		return clock_steady_us(h->clock) - h->ticked_us < TICK_LIMIT_US
			       ? respond_text(c, true, "ok\n")
			       : respond_text(c, false, "the loop hangs\n");
	if (strcmp(url, "/readyz") == 0)
		return h->ready ? respond_text(c, true, "ready\n")
				: respond_text(c, false,
					  "not joined, not restored, or Postgres lacks the "
					  "functions: see the log\n");
	return respond(c, MHD_HTTP_NOT_FOUND, "text/plain", "see /metrics, /healthz, /readyz\n");
}

static void free_addrinfo(struct addrinfo **a)
{
	if (*a)
		freeaddrinfo(*a);
}

/* NULL: *err says why. */
static struct addrinfo *resolve(const char *listen, struct err *err)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	const char *colon = strrchr(listen, ':');
	struct addrinfo *address = NULL;
	char host[256];
	int r;

	if (!colon || (size_t)(colon - listen) >= sizeof(host)) {
		err_set(err, ERR_CONFIG, "http.listen=%s is not host:port", listen);
		return NULL;
	}
	memcpy(host, listen, (size_t)(colon - listen));
	host[colon - listen] = '\0';
	r = getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &address);
	if (r)
		err_set(err, ERR_CONFIG, "http.listen=%s: %s", listen, gai_strerror(r));
	return r ? NULL : address;
}

int http_start(const char *listen, int32_t partitions, const char *version, struct clock *clock,
	struct http **ret, struct err *err)
{
	CLEANUP(free_addrinfo) struct addrinfo *address = NULL;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD;
	struct http *h;

	*ret = NULL;
	if (!listen[0])
		return 0;
	address = resolve(listen, err);
	if (!address)
		return ERR_CONFIG;
	h = mem_zalloc(sizeof(*h));
	h->clock = clock;
	h->version = version;
	h->ticked_us = clock_steady_us(clock);
	metrics_init(&h->metrics, (size_t)partitions);
	if (address->ai_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	h->daemon = MHD_start_daemon(flags, 0, NULL, NULL, answer, h, MHD_OPTION_SOCK_ADDR,
		address->ai_addr, MHD_OPTION_CONNECTION_LIMIT, 64u, MHD_OPTION_CONNECTION_TIMEOUT,
		10u, MHD_OPTION_END);
	if (!h->daemon) {
		http_stop(h);
		return err_set(err, ERR_UNREACHABLE,
			"http.listen=%s: cannot listen there; is the port taken?", listen);
	}
	*ret = h;
	return 0;
}

int http_port(const struct http *h)
{
	return MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

static void publish_counters(struct metrics *m, const struct loop_stats *s)
{
	const uint64_t intake[] = {
		s->queued, s->merged, s->seen, s->redriven, s->parked_at_intake, s->handed_over};
	const uint64_t outcomes[] = {
		s->committed, s->duplicate, s->requeued, s->parked - s->parked_at_intake};

	for (size_t i = 0; i < ARRAY_LEN(intake); i++)
		metrics_set(m, METRIC_INTAKE, i, intake[i]);
	for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
		metrics_set(m, METRIC_OUTCOMES, i, outcomes[i]);
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		metrics_set(m, METRIC_PARKED, i, s->parked_by_cause[i]);
	metrics_set(m, METRIC_GAPS, 0, s->gaps);
}

static uint64_t oldest_us(const struct tickets *t)
{
	uint64_t oldest = METRIC_ABSENT;
	const struct ticket *k;
	size_t pos = 0;

	while ((k = tickets_next(t, &pos)))
		if (k->state == TICKET_LIVE && (uint64_t)k->first_us < oldest)
			oldest = (uint64_t)k->first_us;
	return oldest;
}

static size_t publish_partitions(struct metrics *m, const struct loop *l, bool look_for_oldest)
{
	size_t bytes = 0;

	for (size_t p = 0; p < m->partitions; p++) {
		const struct partition *part = loop_partition(l, (int32_t)p);
		const struct tickets *t = part ? &part->tickets : NULL;

		metrics_set(m, METRIC_ENTRIES, p, t ? t->live : METRIC_ABSENT);
		metrics_set(m, METRIC_PARKED_READS, p, t ? t->parked : METRIC_ABSENT);
		if (!t || !t->live)
			metrics_set(m, METRIC_OLDEST, p, METRIC_ABSENT);
		else if (look_for_oldest)
			metrics_set(m, METRIC_OLDEST, p, oldest_us(t));
		bytes += t ? tickets_bytes(t) : 0;
	}
	return bytes;
}

void http_publish(struct http *h, const struct loop *l)
{
	int64_t now_us;
	bool look;

	if (!h)
		return;
	now_us = clock_steady_us(h->clock);
	look = now_us - h->oldest_us >= OLDEST_PAUSE_US;
	if (look)
		h->oldest_us = now_us;
	publish_counters(&h->metrics, loop_stats(l));
	metrics_set(&h->metrics, METRIC_TICKET_BYTES, 0, publish_partitions(&h->metrics, l, look));
	metrics_set(&h->metrics, METRIC_SINK_UP, 0, loop_breaker(l) == BREAKER_CLOSED);
	metrics_set(&h->metrics, METRIC_BREAKER_OPEN, 0, loop_breaker(l) != BREAKER_CLOSED);
	metrics_set(&h->metrics, METRIC_READY, 0, loop_ready(l));
	h->ready = loop_ready(l);
	h->ticked_us = now_us;
}

void http_stop(struct http *h)
{
	if (!h)
		return;
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	metrics_free(&h->metrics);
	free(h);
}

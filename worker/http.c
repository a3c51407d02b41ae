#include "http.h"

#include "process_stats.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <jansson.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>

struct http {
	struct MHD_Daemon *daemon;
	struct http_config config;
	_Atomic unsigned not_ready;
};

/* By the bits of struct loop_view's not_ready. */
static const char *const reasons[NOT_READY_BITS] = {
	"not joined: the group has given this worker no partitions yet",
	"not restored: the tickets of its partitions are not all read yet",
	"contract not verified: Postgres has not answered yet",
	"contract missing: Postgres lacks the functions, or the right to call them; run meter-dlq "
	"init",
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
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static int64_t silent_us(const struct http *h)
{
	return clock_steady_us(h->config.clock) - loop_ticked_us(h->config.loop);
}

static enum MHD_Result respond_metrics(struct http *h, struct MHD_Connection *c)
{
	const char *accept =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	enum metrics_form form = metrics_form_accepted(accept);
	CLEANUP(buf_free) struct buf out = {0};

	process_stats_publish(h->config.metrics);
	metrics_set(h->config.metrics, METRIC_LAST_TURN, 0,
		(uint64_t)(clock_now_us(h->config.clock) - silent_us(h)));
	metrics_render(h->config.metrics, h->config.version, form, &out);
	buf_add_byte(&out, '\0');
	return respond(c, MHD_HTTP_OK, metrics_content_type(form), (char *)out.p);
}

static enum MHD_Result respond_health(struct http *h, struct MHD_Connection *c)
{
	int64_t silent = silent_us(h);
	char text[96] = "ok\n";
	bool stale = silent >= h->config.stale_us;

	if (stale)
		snprintf(text, sizeof(text), "the loop has not moved for %" PRId64 " s\n",
			silent / 1000000);
	return respond(c, stale ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, "text/plain", text);
}

static enum MHD_Result respond_ready(struct http *h, struct MHD_Connection *c)
{
	unsigned not_ready = h->not_ready;
	json_t *body = json_pack("{s:b, s:[]}", "ready", !not_ready, "reasons");
	enum MHD_Result result;
	char *dump;

	for (unsigned i = 0; i < NOT_READY_BITS; i++)
		if (not_ready & 1u << i)
			json_array_append_new(
				json_object_get(body, "reasons"), json_string(reasons[i]));
	dump = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	result = dump ? respond(c, not_ready ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
				"application/json", dump)
		      : MHD_NO;
	free(dump);
	return result;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_n, void **state)
{
	struct http *h = arg;

	(void)version, (void)upload, (void)upload_n, (void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return respond(c, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", "GET only\n");
	if (strcmp(url, "/metrics") == 0)
		return respond_metrics(h, c);
	if (strcmp(url, "/healthz") == 0)
		return respond_health(h, c);
	if (strcmp(url, "/readyz") == 0)
		return respond_ready(h, c);
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

int http_start(const struct http_config *config, struct http **ret, struct err *err)
{
	CLEANUP(free_addrinfo) struct addrinfo *address = NULL;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD;
	struct http *h;

	*ret = NULL;
	if (!config->listen[0])
		return 0;
	address = resolve(config->listen, err);
	if (!address)
		return ERR_CONFIG;
	h = mem_zalloc(sizeof(*h));
	h->config = *config;
	h->not_ready = NOT_JOINED | NOT_RESTORED | NOT_VERIFIED;
	if (address->ai_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	h->daemon = MHD_start_daemon(flags, 0, NULL, NULL, answer, h, MHD_OPTION_SOCK_ADDR,
		address->ai_addr, MHD_OPTION_CONNECTION_LIMIT, 64u, MHD_OPTION_CONNECTION_TIMEOUT,
		10u, MHD_OPTION_END);
	if (!h->daemon) {
		http_stop(h);
		return err_set(err, ERR_UNREACHABLE,
			"http.listen=%s: cannot listen there; is the port taken?", config->listen);
	}
	*ret = h;
	return 0;
}

int http_port(const struct http *h)
{
	return MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void http_set_ready(struct http *h, unsigned not_ready)
{
	if (h)
		h->not_ready = not_ready;
}

void http_stop(struct http *h)
{
	if (!h)
		return;
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	free(h);
}

/*
 * http.h: /metrics, /healthz and /readyz, served by libmicrohttpd's one thread, which reads atomics
 * only. Start and stop from the main thread.
 */
#ifndef WORKER_HTTP_H
#define WORKER_HTTP_H

#include "clock.h"
#include "err.h"
#include "loop.h"
#include "metrics.h"

struct http;

/* Everything is borrowed until http_stop. */
struct http_config {
	const char *listen; /* "host:port", port 0 for any free one; "" for none */
	const char *version;
	struct metrics *metrics;
	const struct loop *loop; /* for its ticks */
	struct clock *clock;	 /* the loop's */
	int64_t stale_us;	 /* /healthz fails where the loop has not ticked for so long */
};

/*
 * *ret is NULL where it is to listen nowhere. ERR_CONFIG where that is no address, ERR_UNREACHABLE
 * where it cannot listen there. Until the first http_set_ready it is not ready.
 */
MUST_CHECK int http_start(const struct http_config *config, struct http **ret, struct err *err);
/* The port it listens on. */
int http_port(const struct http *h);
/* What /readyz says: struct loop_view's not_ready. The loop's thread. h may be NULL. */
void http_set_ready(struct http *h, unsigned not_ready);
void http_stop(struct http *h); /* accepts NULL */

#endif

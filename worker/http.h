/*
 * http.h: /metrics, /healthz and /readyz, served by libmicrohttpd's one thread, which reads atomics
 * only. Start and stop from the main thread; publish from the loop's.
 */
#ifndef WORKER_HTTP_H
#define WORKER_HTTP_H

#include "clock.h"
#include "err.h"
#include "loop.h"

struct http;

/*
 * listen: "host:port", port 0 for any free one, or "" for none (*ret is then NULL). clock is
 * borrowed. ERR_CONFIG where that is no address, ERR_UNREACHABLE where it cannot listen there.
 */
MUST_CHECK int http_start(const char *listen, int32_t partitions, const char *version,
	struct clock *clock, struct http **ret, struct err *err);
/* The port it listens on. */
int http_port(const struct http *h);
/* Stores the loop's numbers; call after every turn. h may be NULL. */
void http_publish(struct http *h, const struct loop *l);
void http_stop(struct http *h); /* accepts NULL */

#endif

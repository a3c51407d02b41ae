/* proxy.h: a TCP proxy before the server, on a thread of its own, that misbehaves on demand. */
#ifndef TESTS_PG_PROXY_H
#define TESTS_PG_PROXY_H

#include <stdatomic.h>

enum proxy_mode {
	PROXY_PASS,
	PROXY_HOLD_REPLIES, /* what clients send arrives, they hear nothing */
	PROXY_SILENT,	    /* connections are accepted, and nothing goes either way */
	PROXY_CUT,	    /* connections are closed, new ones too */
};

struct proxy;
/* To the server on 127.0.0.1. */
struct proxy *proxy_new(int server_port);
int proxy_port(const struct proxy *p);
/* Returns when it behaves so. */
void proxy_set(struct proxy *p, enum proxy_mode mode);
void proxy_free(struct proxy *p);

#endif

/*
 * registry_http.h: requests to a schema registry over libcurl, bounded in size, time and redirects.
 * Where it has several addresses, a request that fails at one of them goes to the next.
 */
#ifndef WORKER_REGISTRY_HTTP_H
#define WORKER_REGISTRY_HTTP_H

#include "config.h"
#include "registry_answer.h"

#include <curl/curl.h>

/* What a registry answers without looking for any schema: it says nothing of its storage. */
#define REGISTRY_PROBE "/schemas/types"

struct registry_http {
	const struct config *config;
	size_t address; /* of registry.url: the one that answered last */
	struct curl_slist *headers;
};

/* Checks the options registry.*: ERR_CONFIG. config is borrowed. To be closed regardless. */
MUST_CHECK int registry_http_open(
	struct registry_http *ret, const struct config *config, struct err *err);
void registry_http_close(struct registry_http *h);

/* One request, on one address after the other. */
struct registry_call {
	struct registry_http *http;
	CURL *easy;
	char *path;			/* "/schemas/ids/7" */
	size_t tried;			/* addresses */
	size_t address;			/* the one that is asked now */
	struct registry_answer failure; /* so far */
	struct buf body;
	char error[CURL_ERROR_SIZE];
};

/* Prepares a GET, or a POST of that JSON (borrowed), of the first address to ask. */
void registry_call_open(
	struct registry_call *c, struct registry_http *h, const char *path, const char *post);
void registry_call_close(struct registry_call *c);
/*
 * What came of easy, which has ended with result. False: it is to be performed once more, of the
 * next address. True: *ret is the answer, to be freed.
 */
bool registry_call_end(struct registry_call *c, CURLcode result, struct registry_answer *ret);

/* The whole of it, waiting. *ret is to be freed. */
void registry_ask(
	struct registry_http *h, const char *path, const char *post, struct registry_answer *ret);

/* The address that is asked now, for people. */
const char *registry_http_address(const struct registry_http *h);

#endif

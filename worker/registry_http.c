#include "registry_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define REDIRECTS 3L
#define ACCEPT "Accept: application/vnd.schemaregistry.v1+json, application/json;q=0.9"
#define CONTENT_TYPE "Content-Type: application/vnd.schemaregistry.v1+json"

static int check_address(const char *url, struct err *err)
{
	CURLU *parts = curl_url();
	char *scheme = NULL, *user = NULL;
	int r = 0;

	if (curl_url_set(parts, CURLUPART_URL, url, 0) ||
		curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) ||
		(strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		r = err_set(err, ERR_CONFIG,
			"registry.url: \"%.200s\" is not an address such as "
			"https://registry:8081",
			url);
	else if (curl_url_get(parts, CURLUPART_USER, &user, 0) == CURLUE_OK)
		r = err_set(err, ERR_CONFIG,
			"registry.url has a user in it: set registry.user and registry.password "
			"instead, so that it is never logged");
	curl_free(scheme);
	curl_free(user);
	curl_url_cleanup(parts);
	return r;
}

static int check_file(const char *option, const char *path, struct err *err)
{
	FILE *f = *path ? fopen(path, "re") : NULL;

	if (f)
		fclose(f);
	return *path && !f
		       ? err_set(err, ERR_CONFIG, "%s: %.200s: %s", option, path, strerror(errno))
		       : 0;
}

static int check(const struct config *c, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < c->registry_url.n; i++)
		r = check_address(c->registry_url.v[i], err);
	if (!r && *c->registry_password && !*c->registry_user)
		r = err_set(err, ERR_CONFIG, "registry.password is set without registry.user");
	if (!r && *c->registry_key && !*c->registry_cert)
		r = err_set(err, ERR_CONFIG, "registry.key is set without registry.cert");
	if (!r)
		r = check_file("registry.ca", c->registry_ca, err);
	if (!r)
		r = check_file("registry.cert", c->registry_cert, err);
	if (!r)
		r = check_file("registry.key", c->registry_key, err);
	return r;
}

int registry_http_open(struct registry_http *ret, const struct config *config, struct err *err)
{
	*ret = (struct registry_http){.config = config};
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(err, ERR_INTERNAL, "libcurl does not start");
	ret->headers = curl_slist_append(curl_slist_append(NULL, ACCEPT), CONTENT_TYPE);
	return check(config, err);
}

void registry_http_close(struct registry_http *h)
{
	curl_slist_free_all(h->headers);
	h->headers = NULL;
}

const char *registry_http_address(const struct registry_http *h)
{
	return h->config->registry_url.v[h->address];
}

/* --- one request --- */

static size_t receive(char *data, size_t size, size_t n, void *arg)
{
	struct registry_call *c = arg;

	if (c->body.n + size * n > REGISTRY_ANSWER_BYTES)
		return CURL_WRITEFUNC_ERROR;
	buf_add(&c->body, data, size * n);
	return size * n;
}

static void set_text(CURL *easy, CURLoption option, const char *text)
{
	if (*text)
		curl_easy_setopt(easy, option, text);
}

static void secure(CURL *easy, const struct config *c)
{
	set_text(easy, CURLOPT_CAINFO, c->registry_ca);
	set_text(easy, CURLOPT_SSLCERT, c->registry_cert);
	set_text(easy, CURLOPT_SSLKEY, c->registry_key);
	if (!*c->registry_user)
		return;
	curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	curl_easy_setopt(easy, CURLOPT_USERNAME, c->registry_user);
	curl_easy_setopt(easy, CURLOPT_PASSWORD, c->registry_password);
}

static void bound(CURL *easy, const struct config *c)
{
	long ms = (long)(c->registry_timeout / 1000);

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, ms);
	curl_easy_setopt(easy, CURLOPT_MAXFILESIZE, (long)REGISTRY_ANSWER_BYTES);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTS);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	/* Neither http_proxy nor ~/.netrc of whoever started us. */
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
}

/* registry.url may end in a slash. */
static void set_url(struct registry_call *c)
{
	const struct config_list *urls = &c->http->config->registry_url;
	CLEANUP(buf_free) struct buf url = {0};
	size_t n = strlen(urls->v[c->address]);

	while (n && urls->v[c->address][n - 1] == '/')
		n--;
	buf_printf(&url, "%.*s%s", (int)n, urls->v[c->address], c->path);
	curl_easy_setopt(c->easy, CURLOPT_URL, (const char *)url.p);
	curl_easy_setopt(c->easy, CURLOPT_REDIR_PROTOCOLS_STR,
		strncasecmp((const char *)url.p, "https:", 6) == 0 ? "https" : "http,https");
}

void registry_call_open(
	struct registry_call *c, struct registry_http *h, const char *path, const char *post)
{
	*c = (struct registry_call){.http = h,
		.easy = curl_easy_init(),
		.path = mem_strdup(path),
		.address = h->address};
	if (!c->easy)
		mem_exhausted("libcurl");
	bound(c->easy, h->config);
	secure(c->easy, h->config);
	curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, h->headers);
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
	if (post)
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, post);
	set_url(c);
}

void registry_call_close(struct registry_call *c)
{
	curl_easy_cleanup(c->easy);
	free(c->path);
	buf_free(&c->body);
	*c = (struct registry_call){0};
}

/* A server that was reached and is slow, or sends too much, may be so for this request alone. */
static enum registry_verdict verdict_of(const struct registry_call *c, CURLcode result)
{
	curl_off_t connected = 0;

	curl_easy_getinfo(c->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
	return connected && (result == CURLE_OPERATION_TIMEDOUT || result == CURLE_WRITE_ERROR ||
				    result == CURLE_FILESIZE_EXCEEDED)
		       ? REGISTRY_ODD
		       : REGISTRY_TROUBLE;
}

static void read_answer(const struct registry_call *c, CURLcode result, struct registry_answer *ret)
{
	long status = 0;

	if (result == CURLE_OK) {
		curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
		registry_answer_read(status, slice_of(c->body.p, c->body.n), ret);
		return;
	}
	*ret = (struct registry_answer){.verdict = verdict_of(c, result)};
	if (result == CURLE_WRITE_ERROR || result == CURLE_FILESIZE_EXCEEDED)
		snprintf(ret->why, sizeof(ret->why), "an answer of more than 1 MiB");
	else
		snprintf(ret->why, sizeof(ret->why), "%s",
			*c->error ? c->error : curl_easy_strerror(result));
}

bool registry_call_end(struct registry_call *c, CURLcode result, struct registry_answer *ret)
{
	size_t n = c->http->config->registry_url.n;

	read_answer(c, result, ret);
	c->body.n = 0;
	c->error[0] = '\0';
	if (ret->verdict < REGISTRY_TROUBLE) {
		c->http->address = c->address;
		return true;
	}
	if (ret->verdict >= c->failure.verdict)
		c->failure = *ret;
	*ret = c->failure;
	if (++c->tried == n)
		return true;
	c->address = (c->address + 1) % n;
	set_url(c);
	return false;
}

void registry_ask(
	struct registry_http *h, const char *path, const char *post, struct registry_answer *ret)
{
	struct registry_call call;

	registry_call_open(&call, h, path, post);
	while (!registry_call_end(&call, curl_easy_perform(call.easy), ret))
		;
	registry_call_close(&call);
}

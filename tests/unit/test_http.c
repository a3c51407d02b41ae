/* Over a real socket, with a clock that stands still. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"

#define SECOND 1000000ll
#define STALE_US (75 * SECOND)

static _Atomic int64_t now_us;

static int64_t fake_now(struct clock *c)
{
	(void)c;
	return now_us;
}

static uint64_t fake_random(struct clock *c)
{
	(void)c;
	return 4;
}

static void fake_event(struct report *r, const struct notice *n)
{
	(void)r, (void)n;
}

static const struct clock_ops clock_ops = {fake_now, fake_now, fake_random};
static struct clock clock_still = {&clock_ops};
static const struct report_ops report_ops = {.event = fake_event};
static struct report report = {&report_ops};
static struct log no_log;
static struct sink no_sink;
static struct schemas no_schemas;
static const struct loop_config rules = {.partitions = 2};
static struct loop *loop;
static struct metrics metrics;
static struct http *http;

static void set_up(void)
{
	struct http_config config = {.listen = "127.0.0.1:0",
		.version = "1.2.3",
		.metrics = &metrics,
		.clock = &clock_still,
		.stale_us = STALE_US};
	struct err err;

	now_us = 1000 * SECOND;
	loop = loop_new(&rules, &no_log, &no_sink, &no_schemas, &clock_still, &report);
	config.loop = loop;
	metrics_init(&metrics, 2);
	cr_assert_eq(http_start(&config, &http, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
	http_stop(http);
	metrics_free(&metrics);
	loop_free(loop);
}

TestSuite(http, .init = set_up, .fini = tear_down);

/* Sends a request and returns the answer, head and body. */
static const char *ask(const char *request)
{
	static char answer[65536];
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)http_port(http)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	size_t n = 0;
	ssize_t got;

	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	cr_assert_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	while ((got = read(fd, answer + n, sizeof(answer) - 1 - n)) > 0)
		n += (size_t)got;
	answer[n] = '\0';
	close(fd);
	return answer;
}

static const char *get(const char *path)
{
	char request[128];

	snprintf(request, sizeof(request),
		"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
	return ask(request);
}

Test(http, health_fails_once_the_loop_has_not_ticked_for_the_limit_and_not_before)
{
	now_us += STALE_US - 1;
	cr_expect(strstr(get("/healthz"), " 200 "));
	now_us += 1;
	cr_expect(strstr(get("/healthz"), " 503 "));
	cr_expect(strstr(get("/healthz"), "\r\n\r\nthe loop has not moved for 75 s\n"));
}

Test(http, readiness_gives_a_reason_for_each_bit_and_none_when_ready)
{
	const char *answer = get("/readyz");

	cr_expect(strstr(answer, " 503 "));
	cr_expect(strstr(answer, "{\"ready\":false,\"reasons\":[\"not joined: "));
	cr_expect(strstr(answer, "\"not restored: "));
	cr_expect(strstr(answer, "\"contract not verified: "));
	http_set_ready(http, CONTRACT_MISSING);
	answer = get("/readyz");
	cr_expect(strstr(answer, "{\"ready\":false,\"reasons\":[\"contract missing: "));
	cr_expect_null(strstr(answer, "not restored"));
	http_set_ready(http, 0);
	answer = get("/readyz");
	cr_expect(strstr(answer, " 200 "));
	cr_expect(strstr(answer, "\r\n\r\n{\"ready\":true,\"reasons\":[]}"));
}

Test(http, metrics_tell_when_the_loop_last_ticked)
{
	now_us += 30 * SECOND;
	cr_expect(strstr(get("/metrics"), "\nmeter_dlq_last_turn_timestamp_seconds 1000.000000\n"));
}

Test(http, another_method_or_path_is_refused)
{
	const char *answer =
		ask("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: "
		    "close\r\n\r\n");

	cr_expect(strstr(answer, " 405 "));
	cr_expect(strstr(answer, "Allow: GET, HEAD"));
	cr_expect(strstr(get("/metrics/x"), " 404 "));
}

Test(http, an_address_that_is_none_is_an_error_that_names_the_option)
{
	struct http_config config = {.metrics = &metrics, .loop = loop, .clock = &clock_still};
	struct http *second = NULL;
	char taken[32];
	struct err err;

	config.listen = "9464";
	cr_expect_eq(http_start(&config, &second, &err), ERR_CONFIG);
	cr_expect(strstr(err.text, "http.listen=9464"));
	snprintf(taken, sizeof(taken), "127.0.0.1:%d", http_port(http));
	config.listen = taken;
	cr_expect_eq(http_start(&config, &second, &err), ERR_UNREACHABLE);
	config.listen = "";
	cr_expect_eq(http_start(&config, &second, &err), 0);
	cr_expect_null(second);
}

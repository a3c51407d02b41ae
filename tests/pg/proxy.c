#include "proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>

#define PAIRS_MAX 16
#define TURN_MS 1

struct pair {
	int client, server; /* -1: free */
};

struct proxy {
	pthread_t thread;
	int listener, server_port;
	_Atomic enum proxy_mode mode, served; /* served: of the last turn */
	atomic_bool stop;
	struct pair pairs[PAIRS_MAX];
};

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void close_pair(struct pair *p)
{
	if (p->client >= 0)
		close(p->client);
	if (p->server >= 0)
		close(p->server);
	*p = (struct pair){-1, -1};
}

static void accept_client(struct proxy *p, enum proxy_mode mode)
{
	struct sockaddr_in server = loopback(p->server_port);
	struct pollfd ready = {.fd = p->listener, .events = POLLIN};
	struct pair *free_one = p->pairs;

	if (poll(&ready, 1, TURN_MS) <= 0)
		return;
	while (free_one->client >= 0)
		free_one++;
	free_one->client = accept(p->listener, NULL, NULL);
	if (mode == PROXY_SILENT)
		return;
	free_one->server = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(free_one->server, (struct sockaddr *)&server, sizeof(server)) != 0)
		close_pair(free_one);
}

/* False: one side has closed. */
static bool forward(int from, int to)
{
	struct pollfd ready = {.fd = from, .events = POLLIN};
	char bytes[65536];
	ssize_t n;

	if (poll(&ready, 1, 0) <= 0)
		return true;
	n = recv(from, bytes, sizeof(bytes), 0);
	for (ssize_t sent = 0, k; sent < n; sent += k) {
		k = send(to, bytes + sent, (size_t)(n - sent), MSG_NOSIGNAL);
		if (k < 0)
			return false;
	}
	return n > 0;
}

static void serve_pair(struct pair *p, enum proxy_mode mode)
{
	if (mode == PROXY_CUT)
		close_pair(p);
	if (mode == PROXY_SILENT || p->client < 0 || p->server < 0)
		return;
	if (!forward(p->client, p->server))
		close_pair(p);
	else if (mode == PROXY_PASS && !forward(p->server, p->client))
		close_pair(p);
}

static void *serve(void *arg)
{
	struct proxy *p = arg;

	while (!atomic_load(&p->stop)) {
		enum proxy_mode mode = atomic_load(&p->mode);

		accept_client(p, mode);
		for (int i = 0; i < PAIRS_MAX; i++)
			serve_pair(&p->pairs[i], mode);
		atomic_store(&p->served, mode);
	}
	return NULL;
}

struct proxy *proxy_new(int server_port)
{
	struct proxy *p = calloc(1, sizeof(*p));
	struct sockaddr_in any = loopback(0);

	cr_assert_not_null(p);
	for (int i = 0; i < PAIRS_MAX; i++)
		p->pairs[i] = (struct pair){-1, -1};
	p->server_port = server_port;
	p->listener = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(bind(p->listener, (struct sockaddr *)&any, sizeof(any)), 0);
	cr_assert_eq(listen(p->listener, PAIRS_MAX), 0);
	cr_assert_eq(pthread_create(&p->thread, NULL, serve, p), 0);
	return p;
}

int proxy_port(const struct proxy *p)
{
	struct sockaddr_in address;
	socklen_t n = sizeof(address);

	cr_assert_eq(getsockname(p->listener, (struct sockaddr *)&address, &n), 0);
	return ntohs(address.sin_port);
}

void proxy_set(struct proxy *p, enum proxy_mode mode)
{
	atomic_store(&p->mode, mode);
	while (atomic_load(&p->served) != mode)
		sched_yield();
}

void proxy_free(struct proxy *p)
{
	atomic_store(&p->stop, true);
	pthread_join(p->thread, NULL);
	for (int i = 0; i < PAIRS_MAX; i++)
		close_pair(&p->pairs[i]);
	close(p->listener);
	free(p);
}

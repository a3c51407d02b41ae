#include "kafka_producer.h"

#include "kafka_handle.h"

#include <stdlib.h>

#define POLL_MS 200

struct kafka_producer {
	struct kafka_shared shared;
	struct kafka_handle handle;
	uint64_t delivered, failed;
	struct err first; /* what the first failed delivery said */
};

static void on_delivered(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct kafka_producer *p = m->_private;

	(void)rk;
	(void)opaque;
	if (!m->err) {
		p->delivered++;
		return;
	}
	if (p->failed++ == 0)
		err_set(&p->first, kafka_err_class(m->err), "not delivered to %s: %s",
			rd_kafka_topic_name(m->rkt), rd_kafka_err2str(m->err));
}

int kafka_producer_new(const struct kafka_log_config *config, struct report *report,
	struct kafka_producer **ret, struct err *err)
{
	static const struct kafka_pair defaults[] = {
		{"linger.ms", "20"},
		{"message.timeout.ms", "30000"},
		/* The broker's limit is one of whole batches, and lower on some topics. */
		{"batch.size", "65536"},
		{NULL, NULL},
	};
	static const struct kafka_pair fixed[] = {
		{"enable.idempotence", "true"},
		{"acks", "all"},
		{"partitioner", "murmur2_random"},
		{NULL, NULL},
	};
	CLEANUP(kafka_producer_freep) struct kafka_producer *p = mem_zalloc(sizeof(*p));
	rd_kafka_conf_t *conf;
	int r;

	p->shared = (struct kafka_shared){.config = config, .report = report};
	r = kafka_conf_new(&p->shared, defaults, fixed, &conf, err);
	if (r)
		return r;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivered);
	r = kafka_handle_open(&p->handle, &p->shared, "put", RD_KAFKA_PRODUCER, conf, err);
	if (!r)
		*ret = TAKE_PTR(p);
	return r;
}

void kafka_producer_free(struct kafka_producer *p)
{
	if (p)
		kafka_handle_close(&p->handle);
	free(p);
}

void kafka_producer_freep(struct kafka_producer **p)
{
	kafka_producer_free(*p);
}

static rd_kafka_headers_t *headers_new(const struct header *v, size_t n)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(n);

	for (size_t i = 0; i < n; i++)
		rd_kafka_header_add(headers, (const char *)v[i].key.p, (ssize_t)v[i].key.n,
			v[i].value.p, (ssize_t)v[i].value.n);
	return headers;
}

int kafka_producer_send(struct kafka_producer *p, const char *topic, int32_t partition,
	struct slice key, struct slice value, const struct header *headers, size_t n_headers,
	struct err *err)
{
	rd_kafka_headers_t *own = headers_new(headers, n_headers);
	rd_kafka_resp_err_t e;

	do {
		e = rd_kafka_producev(p->handle.rk, RD_KAFKA_V_TOPIC(topic),
			RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
			RD_KAFKA_V_KEY(key.n ? key.p : NULL, key.n),
			RD_KAFKA_V_VALUE((void *)(uintptr_t)value.p, value.n),
			RD_KAFKA_V_HEADERS(own), RD_KAFKA_V_OPAQUE(p), RD_KAFKA_V_END);
		rd_kafka_poll(p->handle.rk, e == RD_KAFKA_RESP_ERR__QUEUE_FULL ? POLL_MS : 0);
	} while (e == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	if (!e)
		return 0;
	rd_kafka_headers_destroy(own);
	return err_set(err, kafka_err_class(e), "writing to %s: %s", topic, rd_kafka_err2str(e));
}

int kafka_producer_flush(struct kafka_producer *p, uint64_t *ret, struct err *err)
{
	/* Each message is delivered or fails within message.timeout.ms, so this ends. */
	while (rd_kafka_outq_len(p->handle.rk) > 0)
		rd_kafka_poll(p->handle.rk, POLL_MS);
	*ret = p->delivered;
	if (!p->failed)
		return 0;
	return err_set(err, p->first.class, "%s (%llu in all)", p->first.text,
		(unsigned long long)p->failed);
}

bool kafka_producer_failed(const struct kafka_producer *p)
{
	return p->failed > 0;
}

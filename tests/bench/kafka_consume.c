/*
 * kafka_consume: reads a topic from its beginning to its end, as restore does with the DLQ, and
 * does nothing with what it reads: librdkafka's defaults but for read_committed and a short wait at
 * the end. Prints one line of JSON.
 * usage: kafka_consume BOOTSTRAP TOPIC
 */
#include "mem.h"

#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK 2048
#define TIMEOUT_MS 30000

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
	fprintf(stderr, "kafka_consume: %s: %s\n", what, why);
	exit(2);
}

static rd_kafka_t *open_consumer(const char *bootstrap)
{
	static const char *const settings[][2] = {
		{"isolation.level", "read_committed"},
		{"enable.partition.eof", "true"},
		/* The end is known only once a fetch behind the last control record has come back
		   empty. */
		{"fetch.wait.max.ms", "5"},
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char why[256];
	rd_kafka_t *rk;

	if (rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, why, sizeof(why)))
		die("bootstrap.servers", why);
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], why, sizeof(why)))
			die(settings[i][0], why);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	if (!rk)
		die("librdkafka", why);
	return rk;
}

/* The simple consumer: assign() takes half a second to find the leaders. Returns how many
 * partitions there are to read. */
static int start_all(rd_kafka_t *rk, rd_kafka_topic_t *topic, rd_kafka_queue_t *queue)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 0, topic, &metadata, TIMEOUT_MS);
	int n;

	if (code)
		die("metadata", rd_kafka_err2str(code));
	n = metadata->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(metadata);
	if (n == 0)
		die(rd_kafka_topic_name(topic), "no such topic");
	for (int32_t p = 0; p < n; p++)
		if (rd_kafka_consume_start_queue(topic, p, RD_KAFKA_OFFSET_BEGINNING, queue))
			die("starting", rd_kafka_err2str(rd_kafka_last_error()));
	return n;
}

struct figures {
	uint64_t records, bytes;
	int ends; /* of partitions */
};

static void take(rd_kafka_message_t *m, struct figures *f)
{
	if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		f->ends++;
	} else if (m->err) {
		die("reading", rd_kafka_message_errstr(m));
	} else {
		f->records++;
		f->bytes += m->key_len + m->len;
	}
	rd_kafka_message_destroy(m);
}

int main(int argc, char **argv)
{
	static rd_kafka_message_t *chunk[CHUNK];
	struct figures f = {0};
	rd_kafka_topic_t *topic;
	rd_kafka_queue_t *queue;
	rd_kafka_t *rk;
	int partitions;

	if (argc != 3) {
		fprintf(stderr, "usage: kafka_consume BOOTSTRAP TOPIC\n");
		return 2;
	}
	rk = open_consumer(argv[1]);
	topic = rd_kafka_topic_new(rk, argv[2], NULL);
	queue = rd_kafka_queue_new(rk);
	partitions = start_all(rk, topic, queue);
	while (f.ends < partitions) {
		/* It returns when the chunk is full or the time is up: so the time is short. */
		ssize_t n = rd_kafka_consume_batch_queue(queue, 10, chunk, CHUNK);

		for (ssize_t i = 0; i < n; i++)
			take(chunk[i], &f);
	}
	printf("{\"records\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", f.records, f.bytes);
	fflush(stdout);
	_exit(0); /* stopping and destroying is no part of a consume */
}

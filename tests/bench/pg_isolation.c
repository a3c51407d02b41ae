/*
 * pg_isolation: what bad reads cost their neighbours. Brings batches of 5000 reads to Postgres as
 * the worker does (commit.h over sink_pg.h), one read in EVERY of the meter BAD, which a constraint
 * of the table is to refuse. Prints one line of JSON. usage: pg_isolation CONNINFO EVERY BATCHES
 */
#include "sink_pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH_READS 5000

static const struct meter_read READ = {
	.read_at_us = INT64_C(1784246400000000), /* 2026-07-17T00:00:00Z */
	.sequence = 1,
	.kwh = {(const uint8_t *)"1234.567", 8},
	.reading_type = {(const uint8_t *)"1-0:1.8.0*255", 13},
	.quality = {(const uint8_t *)"MEASURED", 8},
};

struct batch {
	struct arena texts, answers;
	struct meter_read reads[BATCH_READS];
	const struct meter_read *pointers[BATCH_READS];
	struct outcome outcomes[BATCH_READS];
	size_t bad;
};

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
	fprintf(stderr, "pg_isolation: %s: %s\n", what, why);
	exit(2);
}

/* In every so many reads one is bad, at a place that differs from batch to batch. */
static void fill(struct batch *b, size_t number, size_t every)
{
	arena_reset(&b->texts);
	b->bad = every ? BATCH_READS / every : 0;
	for (size_t i = 0; i < BATCH_READS; i++) {
		struct meter_read *r = &b->reads[i];
		size_t meter = number * BATCH_READS + i;
		size_t block = every ? i / every : 0;
		size_t odd = (number * 7919 + block * 104729) % (every ? every : 1);

		*r = READ;
		r->meter_id = every && i % every == odd
				      ? SLICE_LIT("BAD")
				      : slice_str(arena_printf(&b->texts, "MTR-%08zu", meter));
		r->idempotency_key = slice_str(
			arena_printf(&b->texts, "MTR-%08zu|2026-07-17T00:00:00+00:00|1", meter));
		b->pointers[i] = r;
	}
}

static struct sink_result call(struct sink *s, struct batch *b, struct sink_call c)
{
	struct sink_result r = {0};
	bool done = false;
	struct err err;

	s->ops->send(s, c.kind, b->pointers + c.from, c.n);
	while (!done)
		if (s->ops->result(s, 1000, &b->answers, b->outcomes + c.from, &done, &r, &err))
			die("result", err.text);
	return r;
}

static void check(const struct batch *b, const struct commit *c)
{
	size_t failed = 0;

	if (c->verdict != COMMIT_DONE)
		die("outage", c->last.message);
	for (size_t i = 0; i < BATCH_READS; i++) {
		bool bad = slice_eq(b->reads[i].meter_id, SLICE_LIT("BAD"));

		if (b->outcomes[i].kind != (bad ? OUTCOME_FAILED : OUTCOME_COMMITTED))
			die("a read has the wrong outcome", b->outcomes[i].code);
		failed += bad;
	}
	if (failed != b->bad)
		die("making batches", "another number of bad reads");
}

static void deliver(struct sink *s, struct batch *b)
{
	struct sink_call next;
	struct commit c;

	arena_reset(&b->answers);
	commit_init(&c, &b->answers, b->outcomes, BATCH_READS);
	while (commit_next(&c, &next)) {
		struct sink_result r = call(s, b, next);

		commit_result(&c, &r);
	}
	commit_free(&c);
	check(b, &c);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct sink_pg_config config = {.conninfo = argv[1],
		.function = "commit_meter_reads",
		.application_name = "pg_isolation",
		.connections = 1,
		.statement_records = 1000,
		.statement_timeout_ms = 5000,
		.lock_timeout_ms = 2000};
	size_t every = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	size_t batches = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	struct batch *b = mem_zalloc(sizeof(*b));
	double seconds = 0;
	struct sink *s;

	if (!batches) {
		fprintf(stderr, "usage: pg_isolation CONNINFO EVERY BATCHES\n");
		return 2;
	}
	s = sink_pg_new(&config);
	call(s, b, (struct sink_call){.kind = SINK_PROBE});
	for (size_t i = 0; i < batches; i++) {
		double begin;

		fill(b, i, every);
		begin = now();
		deliver(s, b);
		seconds += now() - begin;
	}
	printf("{\"reads\": %zu, \"seconds\": %.4f}\n", batches * BATCH_READS, seconds);
	sink_pg_free(s);
	arena_free(&b->texts);
	arena_free(&b->answers);
	free(b);
	return 0;
}

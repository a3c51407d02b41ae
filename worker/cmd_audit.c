/* audit: every dead letter is settled, queued or parked; else it is named, and the exit status 4.
 */
#include "audit.h"
#include "command.h"
#include "pg_blocking.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* While the worker runs, what looks wrong may have moved while it was looked for. */
#define TRIES 3

struct result {
	struct log_position *committed; /* of every source partition */
	struct audit_line *lines;	/* likewise */
	size_t n;
	struct audit_line total;
};

static void audit_close(struct audit *a)
{
	audit_queue_free(&a->queue);
	buf_free(&a->findings.text);
	PQfinish(a->pg);
	inspection_close(&a->in);
}

static void result_free(struct result *r)
{
	free(r->committed);
	free(r->lines);
}

static void prepare(const struct audit *a, struct result *ret)
{
	const struct topics *t = &a->in.topics;

	for (size_t i = TOPIC_SOURCE; i < t->kafka->n_topics; i++)
		ret->n += (size_t)t->partitions[i];
	ret->committed = mem_zalloc(ret->n * sizeof(*ret->committed));
	ret->lines = mem_zalloc(ret->n * sizeof(*ret->lines));
	for (size_t i = TOPIC_SOURCE, at = 0; i < t->kafka->n_topics; i++)
		for (int32_t p = 0; p < t->partitions[i]; p++)
			ret->committed[at++] = (struct log_position){(int)i, p, -1};
}

static void add_up(struct result *result)
{
	struct audit_line *sum = &result->total;

	*sum = (struct audit_line){0};
	for (size_t i = 0; i < result->n; i++) {
		const struct audit_line *l = &result->lines[i];

		sum->dead_letters += l->dead_letters;
		sum->reads += l->reads;
		sum->settled += l->settled;
		sum->queued += l->queued;
		sum->parked += l->parked;
		sum->missing += l->missing;
		sum->different += l->different;
		sum->waiting += l->waiting;
		sum->gap += l->gap;
	}
}

static bool is_clean(const struct audit *a, const struct result *result)
{
	return !a->doubled && !result->total.missing && !result->total.different;
}

/*
 * The order matters beside a running worker: what lies below the committed offsets is in the queue
 * when that is read afterwards, and what leaves it after that is in Postgres, which is read last.
 */
static int audit_once(struct audit *a, struct result *result, struct err *err)
{
	int r;

	audit_queue_free(&a->queue);
	a->findings.n = 0;
	a->findings.text.n = 0;
	a->doubled = 0;
	if ((r = topic_reader_committed(&a->in.reader, result->committed, result->n, err)) ||
		(r = audit_queue_read(a, err)) || (r = audit_queue_doubles(a, err)))
		return r;
	for (size_t i = 0; i < result->n && !r; i++) {
		const struct log_position *c = &result->committed[i];

		r = audit_source(a, c->topic, c->partition, c->offset, &result->lines[i], err);
	}
	add_up(result);
	return r;
}

static int audit(struct audit *a, struct result *result, struct err *err)
{
	bool moved = true;
	int r = 0;

	for (int try = 0; try < TRIES && moved && !r; try++) {
		r = audit_once(a, result, err);
		moved = false;
		if (!r && !is_clean(a, result))
			r = audit_queue_moved(a, &moved, err);
	}
	return r;
}

/* --- output --- */

static void print_counts(const struct audit_line *l, uint64_t doubled)
{
	printf("%llu dead letters, %llu reads: %llu settled, %llu queued, %llu parked, %llu "
	       "missing, "
	       "%llu different",
		(unsigned long long)l->dead_letters, (unsigned long long)l->reads,
		(unsigned long long)l->settled, (unsigned long long)l->queued,
		(unsigned long long)l->parked, (unsigned long long)l->missing,
		(unsigned long long)l->different);
	if (l->waiting)
		printf(", %llu waiting", (unsigned long long)l->waiting);
	if (doubled)
		printf(", %llu doubled", (unsigned long long)doubled);
	putchar('\n');
}

/* The last offset; of an empty partition the first. */
static long long last_offset(const struct log_range *range)
{
	return (long long)(range->to > range->from ? range->to - 1 : range->from);
}

static void print_text(const struct audit *a, const struct result *result)
{
	for (size_t i = 0; i < result->n; i++) {
		const struct log_range *range = &result->lines[i].range;

		printf("%s-%d %lld..%lld: ", a->in.kafka.topics[range->topic], range->partition,
			(long long)range->from, last_offset(range));
		print_counts(&result->lines[i], 0);
	}
	printf("total: ");
	print_counts(&result->total, a->doubled);
}

static void print_object(json_t *o, const struct audit_line *l)
{
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {{"dead_letters", l->dead_letters}, {"reads", l->reads},
		{"settled", l->settled}, {"queued", l->queued}, {"parked", l->parked},
		{"missing", l->missing}, {"different", l->different}, {"waiting", l->waiting},
		{"gap", (uint64_t)l->gap}};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		json_object_set_new(o, counts[i].name, json_integer((json_int_t)counts[i].n));
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static void print_json(const struct audit *a, const struct result *result)
{
	for (size_t i = 0; i < result->n; i++) {
		const struct log_range *range = &result->lines[i].range;

		print_object(
			json_pack("{s:s, s:i, s:I, s:I}", "topic", a->in.kafka.topics[range->topic],
				"partition", (int)range->partition, "from", (json_int_t)range->from,
				"to", (json_int_t)last_offset(range)),
			&result->lines[i]);
	}
	print_object(json_pack("{s:b, s:I}", "total", 1, "doubled", (json_int_t)a->doubled),
		&result->total);
}

static void print_findings(const struct audit *a)
{
	const struct findings *f = &a->findings;

	if (f->text.n)
		fwrite(f->text.p, 1, f->text.n, stderr);
	if (f->n > FINDINGS_MAX)
		fprintf(stderr, "... and %u more\n", f->n - FINDINGS_MAX);
}

int cmd_audit(const struct config *config, struct err *err)
{
	CLEANUP(audit_close) struct audit a = {0};
	CLEANUP(result_free) struct result result = {0};
	int r;

	if ((r = inspection_open(&a.in, config, err)) ||
		(r = pg_connect(config->sink_conninfo, &a.pg, err)))
		return r;
	a.decode = topics_decode_rules(&a.in.topics, config);
	prepare(&a, &result);
	r = audit(&a, &result, err);
	if (r)
		return r;
	print_findings(&a);
	(config->json ? print_json : print_text)(&a, &result);
	return is_clean(&a, &result) ? STATUS_OK : STATUS_MISMATCH;
}

/* audit: every dead letter is settled, queued or parked; else it is named, and the exit status 4.
 */
#include "audit.h"
#include "command.h"
#include "pg_blocking.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How often a suspect is looked for again, and the pause before it. */
#define ROUNDS 5
#define PAUSE_NS (200L * 1000 * 1000)

struct result {
	struct audit_line *lines; /* one for every source partition */
	size_t n;
	struct audit_line total;
};

static void audit_close(struct audit *a)
{
	audit_queue_free(&a->queue);
	buf_free(&a->findings.text);
	free(a->suspects);
	arena_free(&a->suspect_keys);
	read_set_free(&a->doubled);
	PQfinish(a->pg);
	inspection_close(&a->in);
}

static void result_free(struct result *r)
{
	free(r->lines);
}

/* A line for every source partition, with the group's offset. */
static int prepare(struct audit *a, struct result *ret, struct err *err)
{
	const struct topics *t = &a->in.topics;
	AUTO_FREE struct log_position *committed = NULL;
	size_t n = 0;
	int r;

	for (size_t i = TOPIC_SOURCE; i < t->kafka->n_topics; i++)
		ret->n += (size_t)t->partitions[i];
	ret->lines = mem_zalloc(ret->n * sizeof(*ret->lines));
	committed = mem_zalloc(ret->n * sizeof(*committed));
	for (size_t i = TOPIC_SOURCE; i < t->kafka->n_topics; i++)
		for (int32_t p = 0; p < t->partitions[i]; p++)
			committed[n++] = (struct log_position){(int)i, p, -1};
	r = topic_reader_committed(&a->in.reader, committed, n, err);
	for (size_t i = 0; i < n; i++)
		ret->lines[i] = (struct audit_line){
			.range = {.topic = committed[i].topic, .partition = committed[i].partition},
			.committed = committed[i].offset};
	return r;
}

static void add_up(struct result *result)
{
	struct audit_line *sum = &result->total;

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

/*
 * The order matters beside a running worker: what lies below the committed offsets is in the queue
 * when that is read afterwards, and what leaves it after that is in Postgres, which is read last.
 */
static int look(struct audit *a, struct result *result, struct err *err)
{
	int r;

	if ((r = prepare(a, result, err)) || (r = audit_queue_advance(a, err)))
		return r;
	audit_queue_doubles(a, NULL, &a->doubled);
	for (size_t i = 0; i < result->n && !r; i++)
		r = audit_source(a, &result->lines[i], err);
	return r;
}

static int look_again(struct audit *a, struct err *err)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct read_set still = {0};
	int r;

	nanosleep(&pause, NULL);
	if ((r = audit_queue_advance(a, err)) || (r = audit_judge_again(a, err)))
		return r;
	audit_queue_doubles(a, &a->doubled, &still);
	read_set_free(&a->doubled);
	a->doubled = still;
	return 0;
}

static int audit(struct audit *a, struct result *result, struct err *err)
{
	int r = look(a, result, err);

	for (int i = 0; i < ROUNDS && !r && (a->n_suspects || a->doubled.n); i++)
		r = look_again(a, err);
	if (!r)
		r = audit_queue_report_doubles(a, err);
	if (!r)
		audit_condemn(a);
	add_up(result);
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
	print_counts(&result->total, a->doubled.n);
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
	print_object(json_pack("{s:b, s:I}", "total", 1, "doubled", (json_int_t)a->doubled.n),
		&result->total);
}

static void print_findings(const struct audit *a)
{
	const struct findings *f = &a->findings;

	if (f->text.n)
		fwrite(f->text.p, 1, f->text.n, stderr);
	if (f->n > FINDINGS_MAX)
		fprintf(stderr, "... and %llu more\n", (unsigned long long)f->n - FINDINGS_MAX);
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
	r = audit(&a, &result, err);
	if (r)
		return r;
	print_findings(&a);
	(config->json ? print_json : print_text)(&a, &result);
	return a.doubled.n || result.total.missing || result.total.different ? STATUS_MISMATCH
									     : STATUS_OK;
}

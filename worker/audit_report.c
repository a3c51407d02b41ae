#include "audit.h"
#include "key.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void findings_add(struct findings *f, const char *fmt, ...)
{
	char text[1500];
	va_list ap;

	if (f->n++ >= FINDINGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(&f->text, "%s\n", text);
}

void audit_add_up(struct audit *a)
{
	for (size_t i = 0; i <= a->n_lines; i++)
		audit_counts_add(&a->total.counts, &a->lines[i].counts);
	a->total.counts.doubled = a->doubled.n;
}

/* The last offset; of an empty range the first. */
static long long last_offset(const struct log_range *range)
{
	return (long long)(range->to > range->from ? range->to - 1 : range->from);
}

static bool is_shown(const struct audit *a, const struct audit_line *line)
{
	return line != &a->lines[a->n_lines] || line->counts.reads;
}

static void print_counts(const struct audit_counts *counts)
{
	CLEANUP(buf_free) struct buf text = {0};

	audit_counts_text(&text, counts);
	printf("%.*s\n", (int)text.n, (const char *)text.p);
}

static void print_text(const struct audit *a)
{
	for (size_t i = 0; i <= a->n_lines; i++) {
		const struct audit_line *line = &a->lines[i];

		if (!is_shown(a, line))
			continue;
		if (line->range.topic == ELSEWHERE)
			printf("other sources: ");
		else
			printf("%s-%d %lld..%lld: ", a->in.kafka.topics[line->range.topic],
				line->range.partition, (long long)line->range.from,
				last_offset(&line->range));
		print_counts(&line->counts);
	}
	printf("total: ");
	print_counts(&a->total.counts);
}

static void print_object(json_t *o, const struct audit_counts *counts)
{
	const char *name;
	uint64_t n;

	for (size_t pos = 0; audit_counts_next(counts, &pos, &name, &n);)
		json_object_set_new(o, name, json_integer((json_int_t)n));
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static json_t *gaps_json(const struct audit *a)
{
	json_t *all = json_array();

	for (size_t i = 0; i < a->n_gaps; i++)
		json_array_append_new(
			all, json_pack("{s:s, s:i, s:I, s:I, s:s}", "topic",
				     a->in.kafka.topics[a->gaps[i].topic], "partition",
				     (int)a->gaps[i].partition, "from", (json_int_t)a->gaps[i].from,
				     "to", (json_int_t)a->gaps[i].to, "why", a->gaps[i].why));
	return all;
}

static json_t *line_json(const struct audit *a, const struct audit_line *line)
{
	const struct log_range *range = &line->range;

	if (range->topic == ELSEWHERE)
		return json_pack("{s:n}", "topic");
	return json_pack("{s:s, s:i, s:I, s:I, s:I}", "topic", a->in.kafka.topics[range->topic],
		"partition", (int)range->partition, "from", (json_int_t)range->from, "to",
		(json_int_t)last_offset(range), "committed", (json_int_t)line->committed);
}

static void print_json(const struct audit *a)
{
	for (size_t i = 0; i <= a->n_lines; i++)
		if (is_shown(a, &a->lines[i]))
			print_object(line_json(a, &a->lines[i]), &a->lines[i].counts);
	print_object(json_pack("{s:b, s:b, s:o}", "total", 1, "clean",
			     audit_counts_clean(&a->total.counts), "gaps", gaps_json(a)),
		&a->total.counts);
}

static void print_findings(const struct findings *f)
{
	if (f->text.n)
		fwrite(f->text.p, 1, f->text.n, stderr);
	if (f->n > FINDINGS_MAX)
		fprintf(stderr, "... and %llu more\n", (unsigned long long)f->n - FINDINGS_MAX);
}

static void print_repair(const struct audit *a)
{
	const struct audit_counts *c = &a->total.counts;
	unsigned long long left = c->missing + c->different;

	if (!a->in.config->execute)
		fprintf(stderr, "repair: %llu reads would be requeued%s\n", left,
			left ? "; --execute does it" : "");
	else
		fprintf(stderr, "repair: %llu reads requeued%s\n", (unsigned long long)c->requeued,
			left ? "; run it again for the others" : "");
}

void audit_print(const struct audit *a)
{
	print_findings(&a->findings);
	if (a->in.config->repair)
		print_repair(a);
	(a->in.config->json ? print_json : print_text)(a);
}

/* --- for the node_exporter --- */

static bool write_whole(const char *path, const struct buf *text)
{
	FILE *f = fopen(path, "we");
	bool ok = f && fwrite(text->p, 1, text->n, f) == text->n && !fflush(f) && !fsync(fileno(f));

	return f && !fclose(f) && ok;
}

int audit_write_metrics(const char *path, const struct audit *a, int64_t now_us, struct err *err)
{
	CLEANUP(buf_free) struct buf text = {0};
	CLEANUP(arena_free) struct arena arena = {0};
	/* The collector reads *.prom alone. */
	const char *beside = arena_printf(&arena, "%s.tmp", path);

	audit_counts_metrics(&text, a ? &a->total.counts : NULL, now_us);
	if (write_whole(beside, &text) && !rename(beside, path))
		return 0;
	err_set(err, ERR_CONFIG, "--metrics: writing %.200s: %s", path, strerror(errno));
	unlink(beside);
	return ERR_CONFIG;
}

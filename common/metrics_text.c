/* The exposition formats (prometheus.io/docs/instrumenting/exposition_formats, OpenMetrics 1.0). */
#include "metrics_table.h"

#include <stdio.h>
#include <string.h>

static uint64_t value_at(const struct metrics *m, size_t i)
{
	return atomic_load_explicit(&m->values[i], memory_order_relaxed);
}

static void add_seconds(struct buf *out, uint64_t us)
{
	buf_printf(out, "%llu.%06llu", (unsigned long long)(us / 1000000),
		(unsigned long long)(us % 1000000));
}

static void add_value(const struct family *f, uint64_t value, struct buf *out)
{
	if (value == METRIC_NAN)
		buf_add_str(out, "NaN");
	else if (strcmp(f->unit, "seconds") == 0)
		add_seconds(out, value);
	else
		buf_printf(out, "%llu", (unsigned long long)value);
}

static void add_sample(
	const struct family *f, const char *label_value, size_t n, uint64_t value, struct buf *out)
{
	if (value == METRIC_ABSENT)
		return;
	buf_add_str(out, f->name);
	if (f->label[0])
		buf_printf(out, "{%s=\"%.*s\"}", f->label, (int)n, label_value);
	buf_add_byte(out, ' ');
	add_value(f, value, out);
	buf_add_byte(out, '\n');
}

static void add_words(const struct metrics *m, size_t id, struct buf *out)
{
	const char *word = metric_families[id].values;

	for (size_t i = m->first[id]; i < m->first[id + 1]; i++) {
		size_t n = strcspn(word, " ");

		add_sample(&metric_families[id], word, n, value_at(m, i), out);
		word += n + (word[n] == ' ');
	}
}

static void add_partitions(const struct metrics *m, size_t id, struct buf *out)
{
	for (size_t p = 0; p < m->partitions; p++) {
		char number[24];
		int n = snprintf(number, sizeof(number), "%zu", p);

		add_sample(&metric_families[id], number, (size_t)n, value_at(m, m->first[id] + p),
			out);
	}
}

/* The shortest digits, and at least one behind the point: what OpenMetrics calls canonical, so that
 * both forms give the same series. */
static void add_bound(struct buf *out, int64_t us)
{
	add_seconds(out, (uint64_t)us);
	while (out->p[out->n - 1] == '0' && out->p[out->n - 2] != '.')
		out->n--;
}

static void add_histogram(const struct metrics *m, size_t id, struct buf *out)
{
	const struct family *f = &metric_families[id];
	unsigned long long count = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		count += value_at(m, m->first[id] + i);
		buf_printf(out, "%s_bucket{le=\"", f->name);
		if (i < HISTOGRAM_BOUNDS)
			add_bound(out, histogram_bounds_us[i]);
		else
			buf_add_str(out, "+Inf");
		buf_printf(out, "\"} %llu\n", count);
	}
	buf_printf(out, "%s_sum ", f->name);
	add_value(f, value_at(m, m->first[id] + HISTOGRAM_BUCKETS), out);
	buf_printf(out, "\n%s_count %llu\n", f->name, count);
}

/* OpenMetrics names a family without the suffix of its samples. */
static size_t family_name_length(const struct family *f, enum metrics_form form)
{
	const char *suffix = f->type == TYPE_COUNTER ? "_total"
			     : f->type == TYPE_INFO  ? "_info"
						     : "";

	return strlen(f->name) - (form == METRICS_OPENMETRICS ? strlen(suffix) : 0);
}

static void add_head(const struct family *f, enum metrics_form form, struct buf *out)
{
	int n = (int)family_name_length(f, form);
	bool text = form == METRICS_TEXT;

	buf_printf(out, "# HELP %.*s %s\n", n, f->name, f->help);
	buf_printf(out, "# TYPE %.*s %s\n", n, f->name,
		metric_type_name(text && f->type == TYPE_INFO ? TYPE_GAUGE : f->type));
	if (!text && f->unit[0])
		buf_printf(out, "# UNIT %.*s %s\n", n, f->name, f->unit);
}

void metrics_render(
	const struct metrics *m, const char *version, enum metrics_form form, struct buf *out)
{
	for (size_t id = 0; id < METRIC_COUNT; id++) {
		const struct family *f = &metric_families[id];

		add_head(f, form, out);
		if (f->type == TYPE_HISTOGRAM)
			add_histogram(m, id, out);
		else if (f->type == TYPE_INFO)
			add_sample(f, version, strlen(version), 1, out);
		else if (f->values)
			add_words(m, id, out);
		else
			add_partitions(m, id, out);
	}
	if (form == METRICS_OPENMETRICS)
		buf_add_str(out, "# EOF\n");
}

const char *metrics_content_type(enum metrics_form form)
{
	return form == METRICS_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

#include "metrics.h"

#include <stdio.h>
#include <stdlib.h>

static const struct family {
	const char *name, *type, *label, *values, *help;
} FAMILIES[METRIC_COUNT] = {
#define METRIC(id, name, type, label, values, help) [id] = {name, type, label, values, help},
#include "metrics.def"
#undef METRIC
};

static size_t count_words(const char *s)
{
	size_t n = 1;

	for (; *s; s++)
		n += *s == ' ';
	return n;
}

void metrics_init(struct metrics *m, size_t partitions)
{
	*m = (struct metrics){.partitions = partitions};
	for (size_t id = 0; id < METRIC_COUNT; id++)
		m->first[id + 1] =
			m->first[id] +
			(FAMILIES[id].values ? count_words(FAMILIES[id].values) : partitions);
	m->values = mem_zalloc(m->first[METRIC_COUNT] * sizeof(*m->values));
	for (size_t id = 0; id < METRIC_COUNT; id++)
		for (size_t i = 0; !FAMILIES[id].values && i < partitions; i++)
			metrics_set(m, (enum metric_id)id, i, METRIC_ABSENT);
}

void metrics_free(struct metrics *m)
{
	free(m->values);
}

void metrics_set(struct metrics *m, enum metric_id id, size_t series, uint64_t value)
{
	atomic_store_explicit(&m->values[m->first[id] + series], value, memory_order_relaxed);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

static void render_series(const struct family *f, const char *label_value, int label_n,
	uint64_t value, struct buf *out)
{
	buf_printf(out, "meter_dlq_%s", f->name);
	if (f->label[0])
		buf_printf(out, "{%s=\"%.*s\"}", f->label, label_n, label_value);
	if (ends_with(f->name, "_seconds"))
		buf_printf(out, " %llu.%06llu\n", (unsigned long long)(value / 1000000),
			(unsigned long long)(value % 1000000));
	else
		buf_printf(out, " %llu\n", (unsigned long long)value);
}

static void render_family(const struct metrics *m, size_t id, struct buf *out)
{
	const struct family *f = &FAMILIES[id];
	const char *word = f->values;

	buf_printf(out, "# HELP meter_dlq_%s %s\n# TYPE meter_dlq_%s %s\n", f->name, f->help,
		f->name, f->type);
	for (size_t i = m->first[id]; i < m->first[id + 1]; i++) {
		uint64_t value = atomic_load_explicit(&m->values[i], memory_order_relaxed);
		char number[24];
		size_t n;

		if (!f->values) {
			n = (size_t)snprintf(number, sizeof(number), "%zu", i - m->first[id]);
			if (value != METRIC_ABSENT)
				render_series(f, number, (int)n, value, out);
			continue;
		}
		n = strcspn(word, " ");
		render_series(f, word, (int)n, value, out);
		word += n + (word[n] == ' ');
	}
}

void metrics_render(const struct metrics *m, const char *version, struct buf *out)
{
	for (size_t id = 0; id < METRIC_COUNT; id++)
		render_family(m, id, out);
	buf_printf(out,
		"# HELP meter_dlq_build_info The running version.\n"
		"# TYPE meter_dlq_build_info gauge\n"
		"meter_dlq_build_info{version=\"%s\"} 1\n",
		version);
}

#include "metrics_table.h"

#include <stdlib.h>

const struct family metric_families[METRIC_COUNT] = {
#define METRIC(id, name, type, unit, label, values, help)                                          \
	[id] = {name, TYPE_##type, unit, label, values, help},
#include "metrics.def"
#undef METRIC
};

const char *metric_type_name(enum metric_type type)
{
	static const char *const names[] = {"counter", "gauge", "histogram", "info"};

	return names[type];
}

static size_t count_words(const char *s)
{
	size_t n = 1;

	for (; *s; s++)
		n += *s == ' ';
	return n;
}

/* Values that a family takes: a histogram has its buckets and their sum. */
static size_t count_values(const struct family *f, size_t partitions)
{
	if (f->type == TYPE_HISTOGRAM)
		return HISTOGRAM_BUCKETS + 1;
	return f->values ? count_words(f->values) : partitions;
}

void metrics_init(struct metrics *m, size_t partitions)
{
	*m = (struct metrics){.partitions = partitions};
	for (size_t id = 0; id < METRIC_COUNT; id++)
		m->first[id + 1] = m->first[id] + count_values(&metric_families[id], partitions);
	m->values = mem_zalloc(m->first[METRIC_COUNT] * sizeof(*m->values));
	for (size_t id = 0; id < METRIC_COUNT; id++)
		for (size_t i = 0; !metric_families[id].values && i < partitions; i++)
			metrics_set(m, (enum metric_id)id, i, METRIC_ABSENT);
}

void metrics_free(struct metrics *m)
{
	free(m->values);
	m->values = NULL;
}

void metrics_set(struct metrics *m, enum metric_id id, size_t series, uint64_t value)
{
	atomic_store_explicit(&m->values[m->first[id] + series], value, memory_order_relaxed);
}

void metrics_set_histogram(struct metrics *m, enum metric_id id, const struct histogram *h)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		metrics_set(m, id, i, h->buckets[i]);
	metrics_set(m, id, HISTOGRAM_BUCKETS, h->sum_us);
}

#include "audit_counts.h"

static const struct named {
	const char *name;
	size_t at;
} counts[] = {
#define COUNT(field)                                                                               \
	{                                                                                          \
#field, offsetof(struct audit_counts, field)                                       \
	}
	COUNT(dead_letters),
	COUNT(reads),
	COUNT(settled),
	COUNT(queued),
	COUNT(parked),
	COUNT(missing),
	COUNT(different),
	COUNT(waiting),
	COUNT(written_off),
	COUNT(gap),
	COUNT(doubled),
	COUNT(requeued),
#undef COUNT
};
_Static_assert(sizeof(counts) / sizeof(counts[0]) * sizeof(uint64_t) == sizeof(struct audit_counts),
	"every count has a name");

static uint64_t *count(struct audit_counts *c, size_t i)
{
	return (uint64_t *)(void *)((char *)c + counts[i].at);
}

bool audit_counts_next(
	const struct audit_counts *c, size_t *pos, const char **ret_name, uint64_t *ret)
{
	struct audit_counts copy = *c;

	if (*pos == ARRAY_LEN(counts))
		return false;
	*ret_name = counts[*pos].name;
	*ret = *count(&copy, (*pos)++);
	return true;
}

void audit_counts_add(struct audit_counts *sum, const struct audit_counts *c)
{
	const char *name;
	uint64_t n;

	for (size_t pos = 0, i = 0; audit_counts_next(c, &pos, &name, &n); i = pos)
		*count(sum, i) += n;
}

bool audit_counts_clean(const struct audit_counts *c)
{
	return !c->missing && !c->different && !c->doubled;
}

static void add_unless_zero(struct buf *out, uint64_t n, const char *what)
{
	if (n)
		buf_printf(out, ", %llu %s", (unsigned long long)n, what);
}

void audit_counts_text(struct buf *out, const struct audit_counts *c)
{
	buf_printf(out,
		"%llu dead letters, %llu reads: %llu settled, %llu queued, %llu parked, %llu "
		"missing, %llu different",
		(unsigned long long)c->dead_letters, (unsigned long long)c->reads,
		(unsigned long long)c->settled, (unsigned long long)c->queued,
		(unsigned long long)c->parked, (unsigned long long)c->missing,
		(unsigned long long)c->different);
	add_unless_zero(out, c->waiting, "waiting");
	add_unless_zero(out, c->written_off, "written off");
	add_unless_zero(out, c->doubled, "doubled");
	add_unless_zero(out, c->requeued, "requeued");
}

static void gauge(struct buf *out, const char *name, const char *help, uint64_t value)
{
	buf_printf(out,
		"# HELP meter_dlq_audit_%s %s\n# TYPE meter_dlq_audit_%s gauge\n"
		"meter_dlq_audit_%s %llu\n",
		name, help, name, name, (unsigned long long)value);
}

void audit_counts_metrics(struct buf *out, const struct audit_counts *c, int64_t now_us)
{
	gauge(out, "success", "1 if the last audit found every read where it must be, once; else 0",
		c && audit_counts_clean(c));
	gauge(out, "timestamp_seconds", "When the last audit ended, or gave up",
		(uint64_t)(now_us / 1000000));
	if (!c)
		return;
	gauge(out, "missing_reads", "Reads that were taken in and are nowhere", c->missing);
	gauge(out, "different_reads",
		"Reads whose key is committed with other content and that are nowhere else",
		c->different);
	gauge(out, "dead_letters", "Dead letters that the last audit looked at", c->dead_letters);
}

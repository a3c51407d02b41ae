#include "publish.h"

#include "fold.h"
#include "kafka_stats.h"

#include <stdlib.h>

/* The oldest entry is found by reading every ticket: that may take a hundredth of the time. */
#define LOOK_SHARE 100

void publisher_init(struct publisher *p, struct metrics *m, struct clock *clock)
{
	*p = (struct publisher){.metrics = m,
		.clock = clock,
		.times = mem_zalloc(m->partitions * sizeof(*p->times))};
}

void publisher_free(struct publisher *p)
{
	free(p->times);
	p->times = NULL;
}

static void publish_row(struct metrics *m, enum metric_id id, const uint64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		metrics_set(m, id, i, values[i]);
}

static void publish_counters(struct metrics *m, const struct loop_stats *s)
{
	const uint64_t intake[] = {
		s->queued, s->merged, s->seen, s->redriven, s->parked_at_intake, s->handed_over};
	const uint64_t outcomes[] = {
		s->committed, s->duplicate, s->requeued, s->parked - s->parked_at_intake};

	publish_row(m, METRIC_INTAKE, intake, ARRAY_LEN(intake));
	publish_row(m, METRIC_OUTCOMES, outcomes, ARRAY_LEN(outcomes));
	publish_row(m, METRIC_PARKED, s->parked_by_cause, CAUSE_COUNT);
	metrics_set(m, METRIC_GAPS, 0, s->gaps);
	metrics_set(m, METRIC_GAP_OFFSETS, 0, s->gap_offsets);
	metrics_set(m, METRIC_BATCHES, 0, s->batches);
}

static uint64_t earlier(uint64_t than, int64_t us)
{
	uint64_t at = us > 0 ? (uint64_t)us : 0;

	return at < than ? at : than;
}

static void look_for_times(struct metrics *m, size_t partition, const struct tickets *t)
{
	uint64_t oldest = METRIC_NAN, next_due = METRIC_NAN;
	const struct ticket *k;
	size_t pos = 0;

	while (t->live && (k = tickets_next(t, &pos)))
		if (k->state == TICKET_LIVE) {
			oldest = earlier(oldest, k->first_us);
			next_due = earlier(next_due, k->due_us);
		}
	metrics_set(m, METRIC_OLDEST, partition, oldest);
	metrics_set(m, METRIC_NEXT_DUE, partition, next_due);
}

static void publish_times(struct publisher *p, size_t number, const struct tickets *t, bool look)
{
	struct times *times = &p->times[number];

	if (!t) {
		metrics_set(p->metrics, METRIC_OLDEST, number, METRIC_ABSENT);
		metrics_set(p->metrics, METRIC_NEXT_DUE, number, METRIC_ABSENT);
		times->known = false;
		return;
	}
	if ((times->known && times->changes == t->changes) || (!look && t->live && times->known))
		return;
	look_for_times(p->metrics, number, t);
	*times = (struct times){.changes = t->changes, .known = true};
}

static void publish_partition(
	struct publisher *p, size_t number, const struct tickets *t, bool look)
{
	metrics_set(p->metrics, METRIC_ENTRIES, number, t ? t->live : METRIC_ABSENT);
	metrics_set(p->metrics, METRIC_PARKED_READS, number, t ? t->parked : METRIC_ABSENT);
	publish_times(p, number, t, look);
}

static void publish_partitions(struct publisher *p, const struct loop *l)
{
	int64_t began_us = clock_steady_us(p->clock);
	bool look = began_us - p->looked_us >= p->pause_us;
	uint64_t states[3] = {0};
	size_t bytes = 0;

	for (size_t i = 0; i < p->metrics->partitions; i++) {
		const struct partition *part = loop_partition(l, (int32_t)i);
		const struct tickets *t = part ? &part->tickets : NULL;

		publish_partition(p, i, t, look);
		states[0] += t ? t->live : 0;
		states[1] += t ? t->parked : 0;
		states[2] += t ? t->resolved : 0;
		bytes += t ? tickets_bytes(t) : 0;
	}
	publish_row(p->metrics, METRIC_TICKETS, states, ARRAY_LEN(states));
	metrics_set(p->metrics, METRIC_TICKET_BYTES, 0, bytes);
	if (look) {
		p->looked_us = clock_steady_us(p->clock);
		p->pause_us = (p->looked_us - began_us) * LOOK_SHARE;
	}
}

static void publish_view(struct metrics *m, const struct loop_view *v)
{
	metrics_set(m, METRIC_READY, 0, !v->not_ready);
	metrics_set(m, METRIC_SINK_UP, 0, !v->sink_away);
	metrics_set(m, METRIC_BREAKER_OPEN, 0, v->sink_away);
	metrics_set(m, METRIC_CONTRACT_MISSING, 0, (v->not_ready & CONTRACT_MISSING) != 0);
	metrics_set(m, METRIC_REGISTRY_UP, 0, !v->schemas_away);
	metrics_set(m, METRIC_WAITING, 0, v->waiting);
	metrics_set(m, METRIC_RESTORING, 0, v->restoring);
	metrics_set(m, METRIC_RESTORE_READ, 0, v->restore_read);
	metrics_set(m, METRIC_RESTORE_LEFT, 0, v->restore_left);
	metrics_set(m, METRIC_RESTORE_TIME, 0, (uint64_t)v->restore_us);
	metrics_set_histogram(m, METRIC_SINK_CALL, v->sink_call);
	metrics_set_histogram(m, METRIC_TRANSACTION, v->transaction);
}

static void publish_kafka(struct metrics *m, const struct kafka_stats *stats)
{
	for (size_t i = 0; i < KAFKA_ROLES; i++) {
		metrics_set(m, METRIC_KAFKA_BROKERS, i, stats[i].brokers_up);
		metrics_set(m, METRIC_KAFKA_RTT, i, stats[i].rtt_us);
		metrics_set(m, METRIC_KAFKA_WAITING, i, stats[i].waiting);
		metrics_set(m, METRIC_KAFKA_TIMEOUTS, i, stats[i].timeouts);
		metrics_set(m, METRIC_KAFKA_RETRIES, i, stats[i].retries);
	}
}

void publish(struct publisher *p, const struct loop *l, const struct log *log)
{
	struct loop_view view = loop_view(l);

	publish_counters(p->metrics, loop_stats(l));
	publish_partitions(p, l);
	publish_view(p->metrics, &view);
	publish_kafka(p->metrics, kafka_log_stats(log));
}

/*
 * audit_gaps.c: offsets that a topic no longer has though they were still needed. What was there
 * cannot be told; so they are named.
 */
#include "audit.h"

#include <stdlib.h>

static void add(struct audit *a, const struct audit_gap *gap)
{
	if (gap->from > gap->to)
		return;
	a->gaps = mem_realloc(a->gaps, (a->n_gaps + 1) * sizeof(*a->gaps));
	a->gaps[a->n_gaps++] = *gap;
	findings_add(&a->findings, "gap: %s partition %d offsets %lld to %lld: %s",
		a->in.kafka.topics[gap->topic], gap->partition, (long long)gap->from,
		(long long)gap->to, gap->why);
}

/* Nothing is ever to be deleted from DLQ and parked topic; nothing but what is applied from the
 * inbox. */
static int64_t needed_from(const struct audit *a, const struct log_range *read)
{
	if (read->topic == TOPIC_INBOX)
		return a->queue.entries[read->partition].checkpoint.inbox_offset;
	return 0;
}

void audit_gaps_of_queue(struct audit *a)
{
	static const char *const why[] = {
		[TOPIC_DLQ] = "entries were deleted there",
		[TOPIC_INBOX] = "dead letters were deleted before the owner of their keys took "
				"them in",
		[TOPIC_PARKED] = "parked reads were deleted there",
	};

	for (size_t i = 0; i < TOPIC_SOURCE * (size_t)a->queue.n; i++) {
		const struct log_range *read = &a->queue.read[i];

		add(a, &(struct audit_gap){.topic = read->topic,
			       .partition = read->partition,
			       .from = needed_from(a, read),
			       .to = read->from - 1,
			       .why = why[read->topic]});
	}
}

void audit_gap_of_source(struct audit *a, struct audit_line *line)
{
	/* A group that was reset to read again has taken more in than its offset says. */
	int64_t taken = line->taken > line->committed ? line->taken : line->committed;
	struct audit_gap gap = {.topic = line->range.topic,
		.partition = line->range.partition,
		.from = taken,
		.to = line->low - 1,
		.why = "retention took them before they were taken in"};

	if ((line->committed >= 0 || line->taken > 0) && taken < line->low) {
		line->counts.gap = (uint64_t)(line->low - taken);
		add(a, &gap);
	}
	gap.from = line->wanted;
	gap.why = "not looked at as --from says: retention took them";
	if (line->wanted >= 0)
		add(a, &gap);
}

#include <criterion/criterion.h>

#include "metrics.h"

static const char *render(const struct metrics *m, struct buf *out)
{
	metrics_render(m, "1.2.3", out);
	buf_add_byte(out, '\0');
	return (char *)out->p;
}

Test(metrics, every_series_but_partitions_of_others_is_there_from_the_start)
{
	CLEANUP(metrics_free) struct metrics m;
	CLEANUP(buf_free) struct buf out = {0};
	const char *text;

	metrics_init(&m, 3);
	text = render(&m, &out);
	cr_expect(strstr(text, "\nmeter_dlq_intake_records_total{result=\"handed_over\"} 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_outcomes_total{outcome=\"committed\"} 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_parked_total{cause=\"operator\"} 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_ready 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_build_info{version=\"1.2.3\"} 1\n"));
	cr_expect(strstr(text, "\n# TYPE meter_dlq_entries gauge\n"));
	cr_expect_null(strstr(text, "\nmeter_dlq_entries{"));
}

Test(metrics, values_land_in_their_series)
{
	CLEANUP(metrics_free) struct metrics m;
	CLEANUP(buf_free) struct buf out = {0};
	const char *text;

	metrics_init(&m, 3);
	metrics_set(&m, METRIC_PARKED, 3, 7);
	metrics_set(&m, METRIC_ENTRIES, 2, 11);
	metrics_set(&m, METRIC_OLDEST, 2, 1784246400000001);
	text = render(&m, &out);
	cr_expect(strstr(text, "\nmeter_dlq_parked_total{cause=\"conflict\"} 7\n"));
	cr_expect(strstr(text, "\nmeter_dlq_entries{partition=\"2\"} 11\n"));
	cr_expect(strstr(text,
		"\nmeter_dlq_oldest_entry_timestamp_seconds{partition=\"2\"} 1784246400.000001\n"));
}

#include <criterion/criterion.h>

#include "metrics.h"
#include "text_file.h"

static const char *render(const struct metrics *m, enum metrics_form form, struct buf *out)
{
	metrics_render(m, "1.2.3", form, out);
	buf_add_byte(out, '\0');
	return (char *)out->p;
}

Test(metrics, every_series_but_partitions_of_others_is_there_from_the_start)
{
	CLEANUP(metrics_free) struct metrics m;
	CLEANUP(buf_free) struct buf out = {0};
	const char *text;

	metrics_init(&m, 3);
	text = render(&m, METRICS_TEXT, &out);
	cr_expect(strstr(text, "\nmeter_dlq_intake_records_total{result=\"handed_over\"} 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_outcomes_total{outcome=\"committed\"} 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_parked_total{cause=\"operator\"} 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_ready 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_sink_call_seconds_bucket{le=\"+Inf\"} 0\n"));
	cr_expect(strstr(text, "\nmeter_dlq_kafka_rtt_seconds{handle=\"produce\"} 0.000000\n"));
	cr_expect(strstr(text, "\nmeter_dlq_build_info{version=\"1.2.3\"} 1\n"));
	cr_expect(strstr(text, "\nprocess_open_fds 0\n"));
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
	metrics_set(&m, METRIC_OLDEST, 1, METRIC_NAN);
	metrics_set(&m, METRIC_OLDEST, 2, 1784246400000001);
	text = render(&m, METRICS_TEXT, &out);
	cr_expect(strstr(text, "\nmeter_dlq_parked_total{cause=\"conflict\"} 7\n"));
	cr_expect(strstr(text, "\nmeter_dlq_entries{partition=\"2\"} 11\n"));
	cr_expect(strstr(text, "\nmeter_dlq_oldest_entry_timestamp_seconds{partition=\"1\"} NaN\n"
			       "meter_dlq_oldest_entry_timestamp_seconds{partition=\"2\"} "
			       "1784246400.000001\n"));
}

Test(metrics, a_histogram_is_written_cumulatively_with_its_sum_and_count)
{
	CLEANUP(metrics_free) struct metrics m;
	CLEANUP(buf_free) struct buf out = {0};
	struct histogram h = {0};
	const char *text;

	metrics_init(&m, 1);
	histogram_add(&h, 1000);
	histogram_add(&h, 1001);
	histogram_add(&h, 60000000);
	metrics_set_histogram(&m, METRIC_TRANSACTION, &h);
	text = render(&m, METRICS_TEXT, &out);
	cr_expect(strstr(text, "\n# TYPE meter_dlq_transaction_seconds histogram\n"
			       "meter_dlq_transaction_seconds_bucket{le=\"0.001\"} 1\n"
			       "meter_dlq_transaction_seconds_bucket{le=\"0.0025\"} 2\n"));
	cr_expect(strstr(text, "\nmeter_dlq_transaction_seconds_bucket{le=\"1.0\"} 2\n"));
	cr_expect(strstr(text, "\nmeter_dlq_transaction_seconds_bucket{le=\"30.0\"} 2\n"
			       "meter_dlq_transaction_seconds_bucket{le=\"+Inf\"} 3\n"
			       "meter_dlq_transaction_seconds_sum 60.002001\n"
			       "meter_dlq_transaction_seconds_count 3\n"));
}

Test(metrics, openmetrics_names_families_without_suffix_gives_units_and_says_where_it_ends)
{
	CLEANUP(metrics_free) struct metrics m;
	CLEANUP(buf_free) struct buf out = {0};
	const char *text;

	metrics_init(&m, 1);
	text = render(&m, METRICS_OPENMETRICS, &out);
	cr_expect(strstr(text, "\n# TYPE meter_dlq_gaps counter\nmeter_dlq_gaps_total 0\n"));
	cr_expect(strstr(text, "\n# TYPE meter_dlq_build info\nmeter_dlq_build_info{"));
	cr_expect(strstr(text, "\n# TYPE process_cpu_seconds counter\n"
			       "# UNIT process_cpu_seconds seconds\n"
			       "process_cpu_seconds_total 0.000000\n"));
	cr_expect(strstr(text, "\n# UNIT meter_dlq_ticket_bytes bytes\n"));
	cr_expect_null(strstr(text, "_total counter"));
	cr_expect_str_eq(text + strlen(text) - strlen("\n# EOF\n"), "\n# EOF\n");
}

Test(metrics, only_openmetrics_has_units_and_an_end)
{
	CLEANUP(metrics_free) struct metrics m;
	CLEANUP(buf_free) struct buf out = {0};
	const char *text;

	metrics_init(&m, 1);
	text = render(&m, METRICS_TEXT, &out);
	cr_expect_null(strstr(text, "# UNIT"));
	cr_expect_null(strstr(text, "# EOF"));
	cr_expect(strstr(text, "\n# TYPE meter_dlq_gaps_total counter\n"));
	cr_expect(strstr(text, "\n# TYPE meter_dlq_build_info gauge\n"));
}

/* --- Accept --- */

static const struct {
	const char *accept;
	enum metrics_form form;
} ACCEPTS[] = {
	{NULL, METRICS_TEXT},
	{"", METRICS_TEXT},
	{"*/*", METRICS_TEXT},
	{"text/html, text/plain", METRICS_TEXT},
	{"application/openmetrics-text", METRICS_OPENMETRICS},
	{"APPLICATION/OpenMetrics-Text ; version=1.0.0", METRICS_OPENMETRICS},
	/* Prometheus 2.42 */
	{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q="
	 "0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		METRICS_OPENMETRICS},
	/* Prometheus with scrape_protocols [PrometheusText0.0.4, OpenMetricsText1.0.0] */
	{"text/plain;version=0.0.4;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,*/"
	 "*;q=0.1",
		METRICS_TEXT},
	{"application/openmetrics-text;q=0, */*;q=0.001", METRICS_TEXT},
	{"application/openmetrics-text;q=0.5,text/plain;q=0.25", METRICS_OPENMETRICS},
	{"application/openmetrics-text;q=x", METRICS_OPENMETRICS},
	{",,;;q=,;", METRICS_TEXT},
};

Test(metrics, the_form_is_what_the_accept_header_would_rather_have)
{
	for (size_t i = 0; i < ARRAY_LEN(ACCEPTS); i++)
		cr_expect_eq(metrics_form_accepted(ACCEPTS[i].accept), ACCEPTS[i].form,
			"Accept: %s", ACCEPTS[i].accept);
}

/* --- README --- */

Test(metrics, readme_has_the_metrics_as_they_are)
{
	assert_readme_section("metrics", "--metrics-markdown", metrics_help_markdown);
}

#include <criterion/criterion.h>
#include <string.h>

#include "kafka_stats.h"

static int parse(const char *json, struct kafka_stats *ret)
{
	struct err err;

	return kafka_stats_parse(json, strlen(json), ret, &err);
}

/* Shortened from librdkafka 2.0.2. */
static const char *const STATS =
	"{\"name\":\"meter-dlq#producer-5\",\"type\":\"producer\",\"brokers\":{"
	"\"127.0.0.1:9092/bootstrap\":{\"name\":\"127.0.0.1:9092/bootstrap\",\"nodeid\":-1,"
	"\"source\":\"configured\",\"state\":\"UP\",\"outbuf_cnt\":0,\"waitresp_cnt\":1,"
	"\"txretries\":1,\"req_timeouts\":2,"
	"\"rtt\":{\"min\":1,\"max\":5,\"avg\":300}},"
	"\"127.0.0.1:9092/"
	"1\":{\"nodeid\":1,\"source\":\"configured\",\"state\":\"UP\",\"outbuf_cnt\":3,\"waitresp_"
	"cnt\":4,"
	"\"txretries\":10,\"req_timeouts\":20,\"rtt\":{\"avg\":1200}},"
	"\"127.0.0.1:9093/"
	"2\":{\"nodeid\":2,\"source\":\"learned\",\"state\":\"DOWN\",\"rtt\":{\"avg\":7}},"
	"\"GroupCoordinator\":{\"nodeid\":1,\"source\":\"logical\",\"state\":\"UP\"},"
	"\"127.0.0.1:9094/3\":{\"nodeid\":3,\"source\":\"learned\",\"state\":\"UP\"}},"
	"\"topics\":{},\"tx\":5}";

Test(kafka_stats, brokers_are_added_up)
{
	struct kafka_stats s;

	cr_assert_eq(parse(STATS, &s), 0);
	cr_expect_eq(s.brokers_up, 2);
	cr_expect_eq(s.rtt_us, 1200);
	cr_expect_eq(s.waiting, 8);
	cr_expect_eq(s.timeouts, 22);
	cr_expect_eq(s.retries, 11);
}

Test(kafka_stats, what_is_not_statistics_is_an_error_and_counts_nothing)
{
	static const char *const broken[] = {"", "{", "[]", "{}", "{\"brokers\":[]}", "7"};
	struct kafka_stats s;

	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		cr_expect_eq(parse(broken[i], &s), ERR_DATA, "%s", broken[i]);
		cr_expect_eq(s.waiting + s.timeouts + s.brokers_up, 0);
	}
}

Test(kafka_stats, values_of_other_types_count_as_nothing)
{
	struct kafka_stats s;

	cr_assert_eq(parse("{\"brokers\":{\"a\":{\"state\":3,\"rtt\":[],\"outbuf_cnt\":-7,"
			   "\"waitresp_cnt\":\"x\"},\"b\":null}}",
			     &s),
		0);
	cr_expect_eq(s.waiting + s.brokers_up + s.rtt_us, 0);
}

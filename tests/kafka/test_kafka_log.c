#include "harness.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(kafka_log, .timeout = 120);

Test(kafka_log, a_member_fetches_its_partitions_and_lands_records_and_offsets_together)
{
	struct topics t;
	struct member *m;
	rd_kafka_t *up;
	struct log_record v[2];
	struct log_end end;

	topics_create(&t, 2);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(NULL);
	upstream_fill(up, t.names[SOURCE], 0, 0, 3);
	cr_assert_eq(join(m), 4, "two partitions each of source and inbox");
	cr_assert_eq(committed_offset(m, SOURCE, 0), -1);

	assign_one(m, SOURCE, 0, 0);
	fetch_n(m, 3);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(m->got[i].offset, i);
		cr_assert_eq(m->got[i].topic, SOURCE);
		cr_assert_gt(m->got[i].timestamp_ms, 1600000000000);
	}
	assert_text(m->got[2].key, "2");
	assert_text(m->got[2].value, "{}");

	renew(m);
	v[0] = record_of(TOPIC_DLQ, 0, "a", "1");
	v[1] = record_of(TOPIC_PARKED, 1, "b", "2");
	end = transact(m, v, 2, 3);
	cr_assert(end.landed && end.clean);
	cr_assert_eq(v[0].offset, 0);
	cr_assert_eq(v[1].offset, 0);
	cr_assert_eq(committed_offset(m, SOURCE, 0), 3);

	end = transact(m, v, 2, 4);
	cr_assert(end.landed && end.clean);
	cr_assert_eq(v[0].offset, 2, "after the record and its marker");
	end = transact(m, NULL, 0, 5);
	cr_assert(end.landed && end.clean, "offsets alone");
	cr_assert_eq(committed_offset(m, SOURCE, 0), 5);

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

Test(kafka_log, null_and_empty_stay_apart_both_ways)
{
	static const uint8_t empty[1];
	const struct slice absent = SLICE_NULL, nothing = {empty, 0};
	const struct header written[] = {
		{SLICE_LIT("null"), absent},
		{SLICE_LIT("empty"), nothing},
		{slice_of("textual", 4), SLICE_LIT("value")},
	};
	struct topics t;
	struct member *m;
	rd_kafka_t *up;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(3);
	struct log_record v[3];

	topics_create(&t, 1);
	m = member_new(&t, NULL, NULL);
	up = upstream_new(NULL);
	rd_kafka_header_add(headers, "null", -1, NULL, 0);
	rd_kafka_header_add(headers, "empty", -1, empty, 0);
	rd_kafka_header_add(headers, "empty", -1, "again", -1);
	upstream_put(up, t.names[SOURCE], 0, SLICE_LIT("k"), absent, headers);
	upstream_put(up, t.names[SOURCE], 0, SLICE_LIT("k"), nothing, NULL);
	upstream_put(up, t.names[SOURCE], 0, absent, SLICE_LIT("v"), NULL);
	upstream_put(up, t.names[SOURCE], 0, nothing, SLICE_LIT("v"), NULL);
	join(m);
	assign_one(m, SOURCE, 0, 0);
	fetch_n(m, 4);
	cr_assert(slice_is_null(m->got[0].value));
	cr_assert(slice_eq(m->got[1].value, nothing));
	cr_assert(slice_is_null(m->got[2].key));
	cr_assert(slice_eq(m->got[3].key, nothing));
	cr_assert_eq(m->got[0].n_headers, 3);
	assert_text(m->got[0].headers[0].key, "null");
	cr_assert(slice_is_null(m->got[0].headers[0].value));
	cr_assert(slice_eq(m->got[0].headers[1].value, nothing));
	assert_text(m->got[0].headers[2].value, "again");
	forget_got(m);

	renew(m);
	v[0] = record_of(TOPIC_INBOX, 0, "k", NULL);
	v[1] = record_of(TOPIC_INBOX, 0, "k", "");
	v[2] = record_of(TOPIC_INBOX, 0, "k", "v");
	v[2].headers = written;
	v[2].n_headers = ARRAY_LEN(written);
	cr_assert(transact(m, v, 3, 4).landed);
	read_range(m, TOPIC_INBOX, 0, 0, 3);
	cr_assert_eq(m->n_got, 3);
	cr_assert(slice_is_null(m->got[0].value));
	cr_assert(slice_eq(m->got[1].value, nothing));
	cr_assert_eq(m->got[2].n_headers, 3);
	cr_assert(slice_is_null(m->got[2].headers[0].value));
	cr_assert(slice_eq(m->got[2].headers[1].value, nothing));
	assert_text(m->got[2].headers[2].key, "text");

	rd_kafka_destroy(up);
	member_free(m);
	topics_free(&t);
}

Test(kafka_log, an_unknown_setting_is_an_error_that_names_it)
{
	static const struct config_setting wrong = {.name = "fetch.wait.max", .value = "1"};
	struct kafka_log_config config = {.bootstrap_servers = "localhost:1",
		.settings = &wrong,
		.n_settings = 1,
		.group_id = "g",
		.session_timeout_ms = 6000,
		.message_max_bytes = 1000000};
	struct log *log;
	struct err err;

	cr_assert_eq(kafka_log_new(&config, NULL, &log, &err), ERR_CONFIG);
	cr_assert_not_null(strstr(err.text, "fetch.wait.max"), "%s", err.text);
}

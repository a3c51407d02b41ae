/* The configuration: values, layers, refusals, help. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "config.h"
#include "text_file.h"

/* Files by name, as the callback of config_load gives them. */
struct file {
	const char *path, *text;
};
#define FILES 4
struct files {
	struct file v[FILES];
};

static int read_file(void *arg, const char *path, struct buf *ret, struct err *err)
{
	const struct files *files = arg;

	for (size_t i = 0; i < FILES; i++)
		if (files->v[i].path && strcmp(files->v[i].path, path) == 0) {
			buf_add_str(ret, files->v[i].text);
			return 0;
		}
	return err_set(err, ERR_CONFIG, "no such file");
}

#define WORDS(...) ((const char *[]){__VA_ARGS__, NULL})
static const char *const none[] = {NULL};

static int load_for(unsigned command, struct config *c, const char *const *flags,
	const char *const *environment, const struct files *files, struct err *err)
{
	int n = 0;

	while (flags[n])
		n++;
	return config_load(c, command, n, (char *const *)flags, (char *const *)environment,
		read_file, (void *)files, err);
}

static void load(struct config *c, const char *const *flags, const char *const *environment,
	const struct files *files)
{
	struct err err = {0};
	int r = load_for(COMMAND_RUN, c, flags, environment, files, &err);

	cr_assert(r == 0, "refused: %s", err.text);
}

static void refused(const char *const *flags, const char *const *environment,
	const struct files *files, const char *because)
{
	struct config c;
	struct err err = {0};
	int r = load_for(COMMAND_RUN, &c, flags, environment, files, &err);

	cr_assert(r == ERR_CONFIG, "accepted, but expected: %s", because);
	cr_assert(strstr(err.text, because) != NULL, "said \"%s\", not \"%s\"", err.text, because);
	config_free(&c);
}

static const char *setting(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_kafka; i++)
		if (strcmp(c->kafka[i].name, name) == 0)
			return c->kafka[i].value;
	return NULL;
}

static const struct files no_files;

Test(config, defaults_are_those_of_the_documentation)
{
	struct config c;

	load(&c, none, none, &no_files);
	cr_assert_eq(c.source_topics.n, 1);
	cr_assert_str_eq(c.source_topics.v[0], "meter-reads.dead-letter");
	cr_assert_str_eq(c.dlq_topic, "meter-reads.dlq");
	cr_assert_str_eq(c.inbox_topic, "meter-reads.dlq.inbox");
	cr_assert_str_eq(c.parked_topic, "meter-reads.parked");
	cr_assert_str_eq(c.group_id, "meter-dlq");
	cr_assert_str_eq(c.instance_id, "");
	cr_assert_str_eq(c.sink_conninfo, "");
	cr_assert_str_eq(c.sink_function, "commit_meter_reads");
	cr_assert_eq(c.partitions, 12);
	cr_assert_eq(c.poison_cap, 5);
	cr_assert_eq(c.backoff_initial, 300 * CONFIG_SECOND);
	cr_assert_eq(c.backoff_factor, 6);
	cr_assert_eq(c.backoff_max, 12 * 3600 * CONFIG_SECOND);
	cr_assert_eq(c.expire_after, 90 * CONFIG_DAY);
	cr_assert_eq(c.live_max, 20000000);
	cr_assert_eq(c.batch_records, 10000);
	cr_assert_eq(c.batch_bytes, 8 * 1024 * 1024);
	cr_assert_eq(c.batch_wait, 100000);
	cr_assert_eq(c.sink_statement_records, 1000);
	cr_assert_eq(c.sink_statement_timeout, 5 * CONFIG_SECOND);
	cr_assert_eq(c.sink_lock_timeout, 2 * CONFIG_SECOND);
	cr_assert_eq(c.transaction_timeout_ms, 15000);
	cr_assert_eq(c.session_timeout_ms, 15000);
	cr_assert(c.replay_auto);
	cr_assert_not(c.until_idle);
	cr_assert_eq(c.key_rule.from, KEY_FROM_AUTO);
	cr_assert_eq(c.n_kafka, 0);
	config_free(&c);
}

Test(config, flags_win_over_environment_over_file_over_kafka_file_over_defaults)
{
	const struct files files = {{
		{"f", "group.id = file\npoison.cap = 7\nlive.max = 3\nkafka.client.id = file\n"},
		{"k", "client.id=kafka\ngroup.id=kafka\nsession.timeout.ms=45000\n"},
	}};
	const char *const *environment = WORDS("METER_DLQ_GROUP_ID=environment",
		"METER_DLQ_POISON_CAP=8", "PATH=/bin", "METER_DLQ_KAFKA_CLIENT_ID=environment");
	struct config c;

	load(&c, WORDS("-F", "f", "--kafka-config", "k", "-G", "flag", "-X", "client.id=flag"),
		environment, &files);
	cr_assert_str_eq(c.group_id, "flag");
	cr_assert_eq(c.poison_cap, 8);
	cr_assert_eq(c.live_max, 3);
	cr_assert_eq(c.session_timeout_ms, 45000);
	cr_assert_eq(c.backoff_factor, 6);
	cr_assert_eq(c.n_kafka, 1);
	cr_assert_str_eq(setting(&c, "client.id"), "flag");
	config_free(&c);

	load(&c, WORDS("--kafka-config=k", "-Ff"), none, &files);
	cr_assert_str_eq(c.group_id, "file");
	cr_assert_str_eq(setting(&c, "client.id"), "file");
	config_free(&c);
}

Test(config, letters_are_those_of_kcat)
{
	struct config c;

	load(&c, WORDS("-bone:1,two:2", "-t", "a, b", "-G", "g", "-e", "-X", "topic.linger.ms=7"),
		none, &no_files);
	cr_assert_str_eq(c.bootstrap_servers, "one:1,two:2");
	cr_assert_eq(c.source_topics.n, 2);
	cr_assert_str_eq(c.source_topics.v[1], "b");
	cr_assert_str_eq(c.group_id, "g");
	cr_assert(c.until_idle);
	cr_assert_str_eq(setting(&c, "linger.ms"), "7");
	config_free(&c);
}

Test(config, a_setting_of_librdkafka_may_begin_as_kcats_prefix_does)
{
	struct config c;

	load(&c, WORDS("-X", "topic.blacklist=^x"),
		WORDS("METER_DLQ_KAFKA_TOPIC_METADATA_REFRESH_INTERVAL_MS=1000"), &no_files);
	cr_assert_str_eq(setting(&c, "topic.metadata.refresh.interval.ms"), "1000");
	cr_assert_str_eq(setting(&c, "topic.blacklist"), "^x");
	config_free(&c);
}

Test(config, a_flag_may_have_dashes_for_dots_and_its_value_behind_an_equals_sign)
{
	struct config c;

	load(&c,
		WORDS("--poison-cap=9", "--replay.backoff-max", "1d", "--kafka.ssl.ca.location=/ca",
			"--kafka.bootstrap.servers", "h:1"),
		none, &no_files);
	cr_assert_eq(c.poison_cap, 9);
	cr_assert_eq(c.backoff_max, CONFIG_DAY);
	cr_assert_str_eq(setting(&c, "ssl.ca.location"), "/ca");
	cr_assert_str_eq(c.bootstrap_servers, "h:1");
	config_free(&c);
}

Test(config, kafka_variables_are_written_as_in_the_apache_kafka_image)
{
	struct config c;

	load(&c, none,
		WORDS("METER_DLQ_KAFKA_SASL_USERNAME=u", "METER_DLQ_KAFKA_A__B___C_D=v",
			"METER_DLQ_KAFKA_BOOTSTRAP_SERVERS=h:1"),
		&no_files);
	cr_assert_str_eq(setting(&c, "sasl.username"), "u");
	cr_assert_str_eq(setting(&c, "a_b-c.d"), "v");
	cr_assert_str_eq(c.bootstrap_servers, "h:1");
	config_free(&c);
}

Test(config, the_variables_that_kubernetes_sets_for_a_service_are_not_ours)
{
	struct config c;

	load(&c, none,
		WORDS("METER_DLQ_SERVICE_HOST=10.0.0.1", "METER_DLQ_PORT=tcp://10.0.0.1:9464",
			"METER_DLQ_PORT_9464_TCP=tcp://10.0.0.1:9464"),
		&no_files);
	config_free(&c);
}

Test(config, durations_and_sizes_have_units)
{
	const struct {
		const char *text;
		int64_t us;
	} durations[] = {{"50ms", 50000}, {"30s", 30000000}, {"5m", 300000000},
		{"12h", 43200000000}, {"90d", 7776000000000}};
	const struct {
		const char *text;
		int64_t bytes;
	} sizes[] = {{"2048", 2048}, {"1024B", 1024}, {"512KiB", 524288}, {"4MiB", 4194304},
		{"1GiB", 1073741824}};
	struct config c;

	for (size_t i = 0; i < ARRAY_LEN(durations); i++) {
		load(&c, WORDS("--expire.after", durations[i].text), none, &no_files);
		cr_assert_eq(c.expire_after, durations[i].us);
		config_free(&c);
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		load(&c, WORDS("--batch.max.bytes", sizes[i].text), none, &no_files);
		cr_assert_eq(c.batch_bytes, sizes[i].bytes);
		config_free(&c);
	}
}

Test(config, values_that_are_not_of_their_type_are_refused_with_an_example)
{
	refused(WORDS("--expire.after", "90"), none, &no_files, "is not a duration such as 50ms");
	refused(WORDS("--expire.after", "d"), none, &no_files, "is not a duration");
	refused(WORDS("--expire.after", "-1d"), none, &no_files, "is not a duration");
	refused(WORDS("--expire.after", "1.5d"), none, &no_files, "is not a duration");
	refused(WORDS("--expire.after", "99999999999999999d"), none, &no_files,
		"is not a duration");
	refused(WORDS("--batch.max.bytes", "4MB"), none, &no_files, "is not a size such as 512KiB");
	refused(WORDS("--poison.cap", "five"), none, &no_files, "is not a whole number");
	refused(WORDS("--poison.cap", ""), none, &no_files, "is not a whole number");
	refused(WORDS("--replay.auto", "yes"), none, &no_files, "neither \"true\" nor \"false\"");
	refused(WORDS("--source.topics", "a,,b"), none, &no_files, "empty item");
}

Test(config, values_out_of_range_are_refused_with_the_range_in_their_unit)
{
	refused(WORDS("--poison.cap", "0"), none, &no_files,
		"--poison.cap: 0 is not between 1 and 1000000");
	refused(WORDS("--batch.max.wait", "2m"), none, &no_files, "2m is not between 0ms and 1m");
	refused(WORDS("--batch.max.bytes", "1"), none, &no_files, "1 is not between 1KiB and 1GiB");
}

Test(config, a_value_that_begins_with_at_slash_is_read_from_that_file)
{
	const struct files files = {{
		{"/run/secret", "host=db password=p\n"},
		{"/run/sasl", "s3cret\r\n"},
	}};
	struct config c;

	load(&c,
		WORDS("--sink.conninfo", "@/run/secret", "-X", "sasl.password=@/run/sasl", "-G",
			"@home"),
		none, &files);
	cr_assert_str_eq(c.sink_conninfo, "host=db password=p");
	cr_assert_str_eq(setting(&c, "sasl.password"), "s3cret");
	cr_assert_str_eq(c.group_id, "@home");
	config_free(&c);
	refused(WORDS("--sink.conninfo", "@/gone"), none, &files,
		"--sink.conninfo: /gone: no such file");
}

Test(config, an_unknown_key_is_refused_with_the_nearest_name_and_its_place)
{
	const struct files files = {{{"f", "# ours\n\npoison.cap = 5\npoision.cap = 6\n"}}};

	refused(WORDS("-F", "f"), none, &files,
		"f:4: unknown key \"poision.cap\"; the nearest is \"poison.cap\"");
	refused(none, WORDS("METER_DLQ_POISON_CPA=5"), &no_files,
		"METER_DLQ_POISON_CPA sets nothing; the nearest is METER_DLQ_POISON_CAP");
	refused(WORDS("--poison-caps", "5"), none, &no_files,
		"unknown flag --poison-caps; the nearest is --poison.cap");
	refused(WORDS("--until-idl"), none, &no_files, "the nearest is --until-idle");
	refused(WORDS("-q"), none, &no_files, "unknown flag -q");
}

Test(config, what_the_protocol_rests_on_is_refused_by_name_wherever_it_is_set)
{
	static const char *const names[] = {"isolation.level", "enable.auto.commit",
		"enable.auto.offset.store", "auto.offset.reset", "partition.assignment.strategy",
		"transactional.id", "acks", "enable.idempotence", "partitioner",
		"allow.auto.create.topics"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char bare[100], topic[100], flag[100], line[100], says[100];

		snprintf(bare, sizeof(bare), "%s=x", names[i]);
		snprintf(topic, sizeof(topic), "topic.%s=x", names[i]);
		snprintf(flag, sizeof(flag), "--kafka.%s", names[i]);
		snprintf(line, sizeof(line), "kafka.%s = x", names[i]);
		snprintf(says, sizeof(says), "kafka.%s cannot be set", names[i]);
		refused(WORDS("-X", bare), none, &no_files, says);
		refused(WORDS("-X", topic), none, &no_files, says);
		refused(WORDS(flag, "x"), none, &no_files, says);
		refused(WORDS("-F", "f"), none, &(struct files){{{"f", line}}}, says);
		refused(WORDS("--kafka-config", "f"), none, &(struct files){{{"f", bare}}}, says);
	}
	refused(none, WORDS("METER_DLQ_KAFKA_ISOLATION_LEVEL=read_committed"), &no_files,
		"METER_DLQ_KAFKA_ISOLATION_LEVEL: kafka.isolation.level cannot be set");
}

Test(config, a_client_properties_file_of_java_clients_is_understood)
{
	const struct files files = {{{"java",
		"# for all clients\n! as well\nbootstrap.servers=h:9093\nacks=all\n"
		"sasl.mechanism=SCRAM-SHA-512\n"
		"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule \\\n"
		"  required username=\"alice\" \\\n  password='a=b c';\n"
		"security.protocol=SASL_SSL\n"}}};
	struct config c;

	load(&c, WORDS("--kafka-config", "java"), none, &files);
	cr_assert_str_eq(c.bootstrap_servers, "h:9093");
	cr_assert_str_eq(setting(&c, "sasl.username"), "alice");
	cr_assert_str_eq(setting(&c, "sasl.password"), "a=b c");
	cr_assert_str_eq(setting(&c, "security.protocol"), "SASL_SSL");
	cr_assert_not(setting(&c, "acks"));
	cr_assert_not(setting(&c, "sasl.jaas.config"));
	config_free(&c);
	refused(WORDS("--kafka-config", "f"), none,
		&(struct files){{{"f", "a=1\nb=\\\n2\nacks=1\n"}}}, "f:4: kafka.acks");
	refused(WORDS("--kafka-config", "f"), none,
		&(struct files){{{"f", "sasl.jaas.config=Module required;"}}},
		"has no username in quotes; set sasl.username");
}

Test(config, a_line_without_an_equals_sign_is_refused_with_its_number)
{
	refused(WORDS("-F", "f"), none, &(struct files){{{"f", "\n  poison.cap 5\n"}}},
		"f:2: \"poison.cap 5\" is not \"key = value\"");
}

Test(config, blanks_around_key_and_value_do_not_count_and_a_value_may_hold_equals_signs)
{
	struct config c;

	load(&c, WORDS("-F", "f"), none,
		&(struct files){{{"f", "  sink.conninfo =  host=a port=1 # \r\n\tgroup.id=g\t"}}});
	cr_assert_str_eq(c.sink_conninfo, "host=a port=1 #");
	cr_assert_str_eq(c.group_id, "g");
	config_free(&c);
}

Test(config, settings_that_contradict_each_other_are_refused)
{
	refused(WORDS("--dlq.topic", "x", "--parked.topic", "x"), none, &no_files,
		"topic x is configured twice");
	refused(WORDS("-t", "a,a"), none, &no_files, "topic a is configured twice");
	refused(WORDS("-t", "a", "--dlq.topic", "a"), none, &no_files,
		"topic a is configured twice: source.topics, dlq.topic,");
	refused(WORDS("-t", "a/b"), none, &no_files, "\"a/b\" cannot be a topic's name");
	refused(WORDS("-G", ""), none, &no_files, "group.id is empty");
	refused(WORDS("--replay.backoff.max", "1m"), none, &no_files, "shorter than");
	refused(WORDS("--key.from", "magic"), none, &no_files, "key.from");
	refused(WORDS("--sink.function", "f; drop table t"), none, &no_files, "sink.function");
	refused(WORDS("--sink.function", "s."), none, &no_files, "sink.function");
	refused(WORDS("-t", ""), none, &no_files, "source.topics is empty");
	refused(WORDS("--payload.fields", "kw:energy"), none, &no_files,
		"payload.fields: \"kw\" is none of meter_id");
	refused(WORDS("--classify", "Busy"), none, &no_files,
		"classify: \"Busy\" is not of the form CLASS:REASON");
}

Test(config, lists_of_names_and_rules_may_be_empty_and_become_what_decodes)
{
	struct config c;

	load(&c, WORDS("--payload.fields", "kwh:energy, meter_id:mp"),
		WORDS("METER_DLQ_CLASSIFY=com.acme.BadRead:permanent_4xx,A::B:poison"), &no_files);
	cr_assert(slice_eq(read_name(&c.read_names, READ_METER_ID), SLICE_LIT("mp")));
	cr_assert_eq(c.classify_rules.n, 2);
	cr_assert(slice_eq(c.classify_rules.v[1].class, SLICE_LIT("A::B")));
	cr_assert_eq(c.classify_rules.v[1].reason, REASON_POISON);
	config_free(&c);
	load(&c, WORDS("--classify", ""), none, &no_files);
	cr_assert_eq(c.classify_rules.n, 0);
	cr_assert_eq(c.payload_fields.n, 0);
	config_free(&c);
}

Test(config, a_schema_before_the_function_and_a_header_rule_are_accepted)
{
	struct config c;

	load(&c, WORDS("--sink.function", "billing.commit_2", "--key.from", "header:read-id"), none,
		&no_files);
	cr_assert_eq(c.key_rule.from, KEY_FROM_HEADER);
	cr_assert_str_eq(c.key_rule.header, "read-id");
	config_free(&c);
}

Test(config, switches_belong_to_their_commands)
{
	struct config c;
	struct err err = {0};

	refused(WORDS("--dry-run"), none, &no_files, "--dry-run is not for this command");
	refused(WORDS("-J"), none, &no_files, "-J is not for this command");
	cr_assert_eq(load_for(COMMAND_LIST, &c, WORDS("-J", "--parked"), none, &no_files, &err), 0);
	cr_assert(c.json && c.parked);
	config_free(&c);
	cr_assert_eq(
		load_for(COMMAND_AUDIT, &c, WORDS("--execute"), none, &no_files, &err), ERR_CONFIG);
	cr_assert_not_null(strstr(err.text, "--repair"));
	config_free(&c);
}

Test(config, a_list_switch_that_is_given_again_goes_on)
{
	struct config c;
	struct err err = {0};

	cr_assert_eq(load_for(COMMAND_AUDIT, &c, WORDS("--from", "a:0:1,a:1:2", "--from=b:0:3"),
			     none, &no_files, &err),
		0);
	cr_assert_eq(c.from.n, 3);
	cr_assert_str_eq(c.from.v[0], "a:0:1");
	cr_assert_str_eq(c.from.v[2], "b:0:3");
	config_free(&c);
}

static const char *committed_table(const char *const *flags)
{
	static char name[64];
	struct config c;
	struct err err = {0};
	const char *table;

	load(&c, flags, none, &no_files);
	if (config_committed_table(&c.arena, &c, &table, &err)) {
		cr_assert_eq(err.class, ERR_CONFIG);
		cr_assert_not_null(strstr(err.text, "audit.table"), "%s", err.text);
		table = "refused";
	}
	snprintf(name, sizeof(name), "%s", table);
	config_free(&c);
	return name;
}

Test(config, the_table_of_another_function_must_be_named)
{
	cr_assert_str_eq(committed_table(WORDS(NULL)), "meter_read");
	cr_assert_str_eq(committed_table(WORDS("--sink.function", "billing.commit_meter_reads")),
		"billing.meter_read");
	cr_assert_str_eq(committed_table(WORDS("--sink.function", "billing.commit")), "refused");
	cr_assert_str_eq(committed_table(WORDS("--sink.function", "billing.commit", "--audit.table",
				 "billing.reading")),
		"billing.reading");
	refused(WORDS("--audit.table", "a.b.c"), none, &no_files, "audit.table");
	refused(WORDS("--audit.table", "Reading"), none, &no_files, "audit.table");
}

Test(config, words_that_are_no_flags_and_flags_without_value_are_refused)
{
	refused(WORDS("now"), none, &no_files, "unexpected argument \"now\"");
	refused(WORDS("-"), none, &no_files, "unexpected argument");
	refused(WORDS("--poison.cap"), none, &no_files, "--poison.cap needs a value");
	refused(WORDS("-b"), none, &no_files, "-b needs a value");
	refused(WORDS("-X"), none, &no_files, "-X needs a value");
	refused(WORDS("-X", "name"), none, &no_files, "is not name=value");
	refused(WORDS("--until-idle=1"), none, &no_files, "takes no value");
}

Test(config, help_is_served_whatever_the_environment_and_the_files_say)
{
	struct config c;

	load(&c, WORDS("-F", "gone", "-h"), WORDS("METER_DLQ_NONSENSE=1"), &no_files);
	cr_assert(c.help);
	config_free(&c);
}

Test(config, help_names_every_switch_of_the_command_and_every_option)
{
	CLEANUP(buf_free) struct buf text = {0};

	config_help_switches(&text, COMMAND_LIST);
	config_help_options(&text);
	buf_add_byte(&text, '\0');
	cr_assert(strstr((char *)text.p, "-J, --json") != NULL);
	cr_assert(strstr((char *)text.p, "--dry-run") == NULL);
	cr_assert(strstr((char *)text.p, "-b, --kafka.bootstrap.servers") != NULL);
	cr_assert(strstr((char *)text.p, "--sink.lock.timeout") != NULL);
}

Test(config, the_nearest_name_is_the_one_with_the_fewest_edits)
{
	static const char *const names[] = {"group.id", "poison.cap", "partitions"};

	cr_assert_str_eq(config_nearest("group_id", names, 3), "group.id");
	cr_assert_str_eq(config_nearest("partition", names, 3), "partitions");
	cr_assert_str_eq(config_nearest("oison.cap", names, 3), "poison.cap");
	cr_assert(config_nearest("x", names, 0) == NULL);
}

Test(config, readme_has_the_options_as_they_are)
{
	assert_readme_section("options", "--help-markdown", config_help_markdown);
}

/* The configuration in effect, and where each value comes from. */
#include <criterion/criterion.h>

#include "config.h"

static int read_file(void *arg, const char *path, struct buf *ret, struct err *err)
{
	(void)arg;
	(void)err;
	if (strcmp(path, "/f") == 0)
		buf_add_str(ret, "# ours\npoison.cap = 7\nexpire.after = 48h\n"
				 "kafka.sasl.password = secret\n");
	else if (strcmp(path, "/k") == 0)
		buf_add_str(ret, "security.protocol=SASL_SSL\n");
	else
		buf_add_str(ret, "group-of-file\n");
	return 0;
}

static const struct config_item *find(const struct config_item *v, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].key, key) == 0)
			return &v[i];
	cr_assert(false, "%s", key);
	return NULL;
}

Test(config_show, each_value_has_its_place_and_secrets_are_masked)
{
	const char *const flags[] = {"-F", "/f", "--kafka-config", "/k", "--batch-max-bytes",
		"8192KiB", "-X", "ssl.key.password=s3", "-t", "a,b"};
	const char *const environment[] = {"METER_DLQ_POISON_CAP=6",
		"METER_DLQ_GROUP_ID=@/run/group", "METER_DLQ_SINK_CONNINFO=host=h password=p",
		NULL};
	static const struct {
		const char *key, *value, *where;
		enum config_level level;
	} expected[] = {
		{"poison.cap", "6", "METER_DLQ_POISON_CAP", LEVEL_ENVIRONMENT},
		{"expire.after", "2d", "/f:3", LEVEL_FILE},
		{"batch.max.bytes", "8MiB", "--batch-max-bytes", LEVEL_FLAG},
		{"source.topics", "a,b", "-t", LEVEL_FLAG},
		{"replay.auto", "true", NULL, LEVEL_DEFAULT},
		{"group.id", "group-of-file", "METER_DLQ_GROUP_ID, from /run/group",
			LEVEL_ENVIRONMENT},
		/* libpq takes it apart where it is shown. */
		{"sink.conninfo", "host=h password=p", "METER_DLQ_SINK_CONNINFO",
			LEVEL_ENVIRONMENT},
		{"kafka.sasl.password", "********", "/f:4", LEVEL_FILE},
		{"kafka.ssl.key.password", "********", "-X", LEVEL_FLAG},
		{"kafka.security.protocol", "SASL_SSL", "/k:1", LEVEL_KAFKA_FILE},
	};
	struct config c;
	struct arena a = {0};
	struct config_item *items;
	struct err err = {0};
	size_t n;

	cr_assert_eq(config_load(&c, COMMAND_CONFIG, ARRAY_LEN(flags), (char *const *)flags,
			     (char *const *)environment, read_file, NULL, &err),
		0, "%s", err.text);
	n = config_items(&c, &a, &items);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		const struct config_item *item = find(items, n, expected[i].key);

		cr_expect_str_eq(item->value, expected[i].value, "%s", item->key);
		cr_expect_eq(item->level, expected[i].level, "%s", item->key);
		cr_expect(slice_eq(slice_str(item->where), slice_str(expected[i].where)), "%s: %s",
			item->key, item->where);
		cr_expect_not(item->fixed);
	}
	cr_expect(find(items, n, "kafka.isolation.level")->fixed);
	arena_free(&a);
	config_free(&c);
}

static int load_words(
	struct config *c, unsigned command, const char *const *words, int n, struct err *err)
{
	static const char *const none[] = {NULL};

	return config_load(
		c, command, n, (char *const *)words, (char *const *)none, read_file, NULL, err);
}

Test(config_show, show_takes_one_key_which_may_begin_with_a_dash_behind_two)
{
	static const char *const dashes[] = {"--", "-key"}, *const two[] = {"a", "b"};
	struct config c;
	struct err err = {0};

	cr_assert_eq(load_words(&c, COMMAND_SHOW, dashes, 2, &err), 0, "%s", err.text);
	cr_expect_str_eq(c.show_key, "-key");
	config_free(&c);
	cr_assert_eq(load_words(&c, COMMAND_SHOW, two, 2, &err), ERR_CONFIG);
	cr_expect(strstr(err.text, "a second KEY, \"b\": give one"), "%s", err.text);
	config_free(&c);
	cr_assert_eq(load_words(&c, COMMAND_LIST, two, 2, &err), ERR_CONFIG);
	cr_expect(strstr(err.text, "unexpected argument \"a\""), "%s", err.text);
	config_free(&c);
}

Test(config_show, a_wrong_value_of_a_switch_is_refused_with_its_flag)
{
	static const char *const limit[] = {"-c", "many"}, *const age[] = {"--older-than", "3"};
	struct config c;
	struct err err = {0};

	cr_assert_eq(load_words(&c, COMMAND_LIST, limit, 2, &err), ERR_CONFIG);
	cr_expect(strstr(err.text, "-c: \"many\" is not a whole number"), "%s", err.text);
	config_free(&c);
	cr_assert_eq(load_words(&c, COMMAND_LIST, age, 2, &err), ERR_CONFIG);
	cr_expect(
		strstr(err.text, "--older-than: \"3\" is not a duration such as"), "%s", err.text);
	config_free(&c);
}

/* Input: a configuration file: ours, and then one of librdkafka's. */
#include "config.h"
#include "fuzz.h"

static int give(void *arg, const char *path, struct buf *ret, struct err *err)
{
	const struct slice *text = arg;

	if (strcmp(path, "file") != 0)
		return err_set(err, ERR_CONFIG, "no such file");
	buf_add(ret, text->p, text->n);
	return 0;
}

static void load(const char *flag, struct slice text)
{
	const char *argv[] = {flag, "file", NULL};
	char *environment[] = {NULL};
	struct config config;
	struct err err = {0};
	int r = config_load(
		&config, COMMAND_RUN, 2, (char *const *)argv, environment, give, &text, &err);

	MUST(r == 0 || (r == ERR_CONFIG && err.class == ERR_CONFIG && err.text[0]));
	MUST(r || config.poison_cap > 0);
	config_free(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	load("-F", slice_of(data, size));
	load("--kafka-config", slice_of(data, size));
	return 0;
}

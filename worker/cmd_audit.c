/* audit: every dead letter is settled, queued or parked; else it is named, and the exit status 4.
 */
#include "audit.h"
#include "command.h"
#include "pg_blocking.h"
#include "when.h"

#include <stdlib.h>
#include <time.h>

/* How often a suspect is looked for again, and the pause before it. */
#define ROUNDS 5
#define PAUSE_NS (200L * 1000 * 1000)

static void audit_close(struct audit *a)
{
	audit_queue_free(&a->queue);
	buf_free(&a->findings.text);
	audit_suspects_free(&a->suspects);
	read_set_free(&a->seen);
	read_set_free(&a->doubled);
	free(a->lines);
	free(a->gaps);
	free(a->query);
	PQfinish(a->pg);
	inspection_close(&a->in);
}

/* --- the lines --- */

struct audit_line *audit_line_of(const struct audit *a, const struct origin *place)
{
	const struct topics *t = &a->in.topics;
	size_t first = 0;

	for (size_t i = TOPIC_SOURCE; i < t->kafka->n_topics; i++) {
		if (slice_eq(place->topic, slice_str(t->kafka->topics[i])) &&
			place->partition >= 0 && place->partition < t->partitions[i])
			return &a->lines[first + (size_t)place->partition];
		first += (size_t)t->partitions[i];
	}
	return &a->lines[a->n_lines];
}

bool audit_count_once(
	struct audit *a, const struct audit_line *line, struct slice key, uint64_t content)
{
	const struct hash_seed *seed = &a->in.rules.seed;
	uint32_t number = (uint32_t)(line - a->lines) + 1;

	return read_set_mark(&a->seen, seed, hash_key(seed, key), content, number) != number;
}

bool audit_new_read(struct audit *a, struct slice key, uint64_t content)
{
	const struct hash_seed *seed = &a->in.rules.seed;
	struct key128 k = hash_key(seed, key);

	return !read_set_get(&a->seen, seed, k, content) &&
	       !read_set_mark(&a->seen, seed, k, content, (uint32_t)a->n_lines + 1);
}

static void open_lines(struct audit *a)
{
	const struct topics *t = &a->in.topics;
	size_t n = 0;

	for (size_t i = TOPIC_SOURCE; i < t->kafka->n_topics; i++)
		a->n_lines += (size_t)t->partitions[i];
	a->lines = mem_zalloc((a->n_lines + 1) * sizeof(*a->lines));
	for (size_t i = TOPIC_SOURCE; i < t->kafka->n_topics; i++)
		for (int32_t p = 0; p < t->partitions[i]; p++)
			a->lines[n++].range = (struct log_range){(int)i, p, 0, 0};
	a->lines[n].range.topic = ELSEWHERE;
	for (size_t i = 0; i <= n; i++) {
		a->lines[i].committed = a->lines[i].wanted = -1;
		a->lines[i].entered = INT64_MAX;
	}
}

static int fetch_committed(struct audit *a, struct err *err)
{
	AUTO_FREE struct log_position *v = mem_zalloc(a->n_lines * sizeof(*v));
	int r;

	for (size_t i = 0; i < a->n_lines; i++)
		v[i] = (struct log_position){
			a->lines[i].range.topic, a->lines[i].range.partition, -1};
	r = topic_reader_committed(&a->in.reader, v, a->n_lines, err);
	for (size_t i = 0; i < a->n_lines; i++)
		a->lines[i].committed = v[i].offset;
	return r;
}

/* --- where it looks --- */

static int parse_time(
	struct audit *a, const char *flag, const char *text, int64_t *ret_us, struct err *err)
{
	int64_t now_us = clock_now_us(a->in.reader.clock);
	const char *why = text ? when_parse(&a->in.arena, text, now_us, ret_us) : NULL;

	return why ? err_set(err, ERR_CONFIG, "%s: \"%.60s\": %s", flag, text, why) : 0;
}

static int parse_from(struct audit *a, const char *text, struct err *err)
{
	struct audit_line *line;
	struct origin place;

	if (!origin_parse(slice_str(text), &place))
		return err_set(
			err, ERR_CONFIG, "--from: \"%.300s\" is not TOPIC:PARTITION:OFFSET", text);
	line = audit_line_of(a, &place);
	if (line->range.topic == ELSEWHERE)
		return err_set(err, ERR_CONFIG,
			"--from: %.300s is no partition of a topic in source.topics", text);
	line->wanted = place.offset;
	return 0;
}

static int parse_scope(struct audit *a, struct err *err)
{
	const struct config *c = a->in.config;
	int r;

	a->since_us = INT64_MIN;
	a->until_us = INT64_MAX;
	if ((r = parse_time(a, "--since", c->chosen_since, &a->since_us, err)) ||
		(r = parse_time(a, "--until", c->chosen_until, &a->until_us, err)))
		return r;
	for (size_t i = 0; i < c->from.n && !r; i++)
		r = parse_from(a, c->from.v[i], err);
	return r;
}

/* --- the audit --- */

/*
 * The order matters beside a running worker: what lies below the committed offsets is in the queue
 * when that is read afterwards, and what leaves it after that is in Postgres, which is read last.
 */
static int look(struct audit *a, struct err *err)
{
	int r;

	if ((r = fetch_committed(a, err)) || (r = audit_queue_advance(a, err)))
		return r;
	audit_gaps_of_queue(a);
	audit_doubles(a, NULL, &a->doubled);
	for (size_t i = 0; i < a->n_lines && !r; i++)
		r = audit_source(a, &a->lines[i], err);
	return r ? r : audit_history(a, err);
}

static int look_again(struct audit *a, struct err *err)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct read_set still = {0};
	int r;

	nanosleep(&pause, NULL);
	if ((r = audit_queue_advance(a, err)) || (r = audit_suspects_again(a, err)))
		return r;
	audit_doubles(a, &a->doubled, &still);
	read_set_free(&a->doubled);
	a->doubled = still;
	return 0;
}

static int audit(struct audit *a, struct err *err)
{
	int r = look(a, err);

	for (int i = 0; i < ROUNDS && !r && (a->suspects.n || a->doubled.n); i++)
		r = look_again(a, err);
	if (!r)
		r = audit_suspects_as_taken_in(a, err);
	if (!r)
		r = audit_doubles_report(a, err);
	if (!r && a->in.config->execute)
		r = audit_repair(a, err);
	if (!r)
		audit_suspects_condemn(a);
	audit_add_up(a);
	return r;
}

/* The header that the key may be in, by key.from (see dead_letter.c). */
static const char *id_header(const struct key_rule *rule)
{
	switch (rule->from) {
	case KEY_FROM_AUTO:
		return KEY_HEADER;
	case KEY_FROM_HEADER:
		return rule->header;
	case KEY_FROM_KEY:
	case KEY_FROM_PAYLOAD:
		break;
	}
	return NULL;
}

static int open_audit(struct audit *a, const struct config *config, struct err *err)
{
	const char *table;
	int r;

	if ((r = inspection_open(&a->in, config, err)) ||
		(r = config_committed_table(&a->in.arena, config, &table, err)))
		return r;
	a->query = audit_rows_query(table);
	a->id_header = id_header(&config->key_rule);
	open_lines(a);
	r = parse_scope(a, err);
	return r ? r : pg_connect(config->sink_conninfo, &a->pg, err);
}

static int run(struct audit *a, const struct config *config, struct err *err)
{
	int r = open_audit(a, config, err);

	if (!r)
		r = audit(a, err);
	if (!r)
		audit_print(a);
	return r;
}

int cmd_audit(const struct config *config, struct err *err)
{
	CLEANUP(audit_close) struct audit a = {0};
	struct err unwritten;
	int r = run(&a, config, err), w = 0;

	if (config->metrics_file)
		w = audit_write_metrics(config->metrics_file, r ? NULL : &a,
			clock_now_us(clock_system()), &unwritten);
	if (r)
		return r;
	if (w) {
		*err = unwritten;
		return w;
	}
	return audit_counts_clean(&a.total.counts) ? STATUS_OK : STATUS_MISMATCH;
}

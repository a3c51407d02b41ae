/* list: live entries or parked reads, as the topics have them. Partition by partition: one pass for
 * the tickets, one that prints the records that a ticket points to. */
#include "command.h"
#include "inspection.h"
#include "instant.h"
#include "key.h"
#include "record_json.h"
#include "utf8.h"

#include <stdio.h>
#include <unistd.h>

struct listing {
	struct inspection *in;
	struct partition partition;
	struct arena arena; /* of one line */
};

static int fold(void *arg, const struct log_message *m, struct err *err)
{
	struct listing *l = arg;
	const struct fold_rules *rules = &l->in->rules;
	int r = (m->topic == TOPIC_DLQ ? fold_dlq : fold_parked)(
		&l->partition, rules, m->key, m->value, m->offset, err);

	return topic_reader_pass(&l->in->reader, m, r, err);
}

/* Whether the record at offset is the one that stands for its read. A live one comes before a
 * parked one. */
static bool stands(const struct listing *l, const struct record *r, int64_t offset)
{
	const struct ticket *t = tickets_find(&l->partition.tickets,
		hash_key(&l->in->rules.seed, r->idempotency_key), r->content);
	enum ticket_state wanted = l->in->config->parked ? TICKET_PARKED : TICKET_LIVE;

	return t && t->state == wanted && t->offset == offset;
}

/* --- text --- */

/* One word on one line, whatever the bytes are. */
static const char *word(struct arena *a, struct slice s, size_t max)
{
	uint32_t cut = 0;
	char *text = arena_cstr(a, utf8_clean(a, s, max, &cut));

	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return cut ? arena_printf(a, "%s...", text) : text;
}

static void print_heading(bool parked)
{
	printf("%-42s %-17s %8s  %-27s %-27s %-27s %s\n", "KEY", parked ? "CAUSE" : "REASON",
		"ATTEMPTS", "FIRST SEEN", "LAST SEEN", parked ? "PARKED" : "DUE", "ERROR");
}

static void print_text(struct listing *l, const struct record *r, const char *why, int64_t when_us)
{
	char first[INSTANT_TEXT_BYTES], last[INSTANT_TEXT_BYTES], when[INSTANT_TEXT_BYTES];
	struct slice code = slice_is_null(r->error.code) ? r->error.class : r->error.code;

	instant_format(r->first_seen_us, first);
	instant_format(r->last_seen_us, last);
	instant_format(when_us, when);
	printf("%-42s %-17s %8u  %-27s %-27s %-27s %s\n", word(&l->arena, r->idempotency_key, 200),
		why, r->attempts, first, last, when,
		slice_is_null(code) ? "-" : word(&l->arena, code, 60));
}

/* --- both --- */

static void print_json(json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static int print_entry(void *arg, const struct log_message *m, struct err *err)
{
	struct listing *l = arg;
	struct record record;

	if (slice_is_null(m->value) || key_is_checkpoint(m->key) ||
		record_decode(m->value, &record, err) || !stands(l, &record, m->offset))
		return 0;
	arena_reset(&l->arena);
	if (l->in->config->json)
		print_json(record_json(&record));
	else
		print_text(l, &record, reason_name(record.reason), record.due_us);
	return 0;
}

static int print_parked(void *arg, const struct log_message *m, struct err *err)
{
	struct listing *l = arg;
	struct parked parked;

	if (parked_decode(m->value, &parked, err) || !stands(l, &parked.entry, m->offset))
		return 0;
	arena_reset(&l->arena);
	if (l->in->config->json)
		print_json(parked_json(&parked));
	else
		print_text(l, &parked.entry, cause_name(parked.cause), parked.at_us);
	return 0;
}

static int list_partition(struct listing *l, struct err *err)
{
	bool parked = l->in->config->parked;
	struct topic_reader *reader = &l->in->reader;
	struct log_range dlq, events;
	int32_t n = l->partition.number;
	int r;

	/* The DLQ first: a read that is parked meanwhile shows up twice rather than not at all. */
	if ((r = topic_reader_whole(reader, TOPIC_DLQ, n, &dlq, err)) ||
		(r = topic_reader_read(reader, &dlq, 1, fold, l, err)) ||
		(r = topic_reader_whole(reader, TOPIC_PARKED, n, &events, err)) ||
		(r = topic_reader_read(reader, &events, 1, fold, l, err)))
		return r;
	if ((parked ? l->partition.tickets.parked : l->partition.tickets.live) == 0)
		return 0;
	return topic_reader_read(
		reader, parked ? &events : &dlq, 1, parked ? print_parked : print_entry, l, err);
}

int cmd_list(const struct config *config, struct err *err)
{
	CLEANUP(inspection_close) struct inspection in;
	int r = inspection_open(&in, config, err);

	if (!r && !config->json && isatty(STDOUT_FILENO))
		print_heading(config->parked);
	for (int32_t p = 0; !r && p < in.rules.partitions; p++) {
		struct listing l = {.in = &in, .partition = {.number = p}};

		r = list_partition(&l, err);
		partition_free(&l.partition);
		arena_free(&l.arena);
	}
	return r;
}

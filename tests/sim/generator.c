/* generator.c: what a seed decides at the start, and the dead letters that upstreams write. */
#include "hash.h"
#include "key.h"
#include "world.h"

#define SECOND 1000000ll
#define START_US 1784246400000000ll /* 2026-07-17T00:00:00Z */

static int64_t one_of(struct rng *r, const int64_t *v, size_t n)
{
	return v[rng_below(r, n)];
}
#define ONE_OF(r, ...)                                                                             \
	one_of(r, (const int64_t[]){__VA_ARGS__}, ARRAY_LEN(((const int64_t[]){__VA_ARGS__})))

static void setup_topics(struct world *w)
{
	struct setup *s = &w->setup;
	struct rng *r = &w->data;

	s->n = (int32_t)rng_between(r, 1, N_MAX);
	s->sources = (size_t)rng_between(r, 1, SOURCE_TOPICS_MAX);
	for (size_t i = 0; i < s->sources; i++)
		s->source_partitions[i] = (int32_t)rng_between(r, 1, PARTITIONS_MAX);
	s->topics[TOPIC_DLQ] = arena_printf(&w->arena, "meter-reads.dlq");
	s->topics[TOPIC_INBOX] = arena_printf(&w->arena, "meter-reads.dlq.inbox");
	s->topics[TOPIC_PARKED] = arena_printf(&w->arena, "meter-reads.parked");
	for (size_t i = 0; i < s->sources; i++)
		s->topics[TOPIC_SOURCE + i] = arena_printf(&w->arena, "dead.%zu", i);
}

static void setup_loop(struct world *w)
{
	struct setup *s = &w->setup;
	struct rng *r = &w->data;

	s->loop = (struct loop_config){.topics = s->topics,
		.n_topics = TOPIC_SOURCE + s->sources,
		.partitions = s->n,
		.group_id = "meter-dlq",
		.key_rule_text = "auto",
		.decode = {.key = {.from = KEY_FROM_AUTO}, .max_bytes = 4000},
		.replay = {.poison_cap = (uint32_t)rng_between(r, 2, 5),
			.backoff_initial_us =
				ONE_OF(r, SECOND / 10, SECOND, 30 * SECOND, 300 * SECOND),
			.backoff_factor = (uint32_t)rng_between(r, 1, 6),
			.backoff_max_us = 12 * 3600 * SECOND,
			.expire_after_us =
				ONE_OF(r, 60 * SECOND, 3600 * SECOND, 90 * 86400 * SECOND)},
		.replay_auto = true,
		.live_max = 100000,
		.batch_max_records = (size_t)ONE_OF(r, 1, 3, 8, 100),
		.batch_max_bytes = (size_t)ONE_OF(r, 1, 500, 4 << 20, 4 << 20),
		.batch_wait_ms = (int)ONE_OF(r, 1, 20, 100),
		.until_idle = rng_percent(r, 10),
		.until_idle_patience_us = 30 * SECOND};
}

/* The inboxes had an earlier life: so they reach the length at which they are trimmed. */
static void setup_inboxes(struct world *w)
{
	int64_t begin = rng_percent(&w->data, 50) ? 995 : 0;

	for (int32_t p = 0; p < w->setup.n; p++) {
		struct part *part = world_part(w, TOPIC_INBOX, p);

		while ((int64_t)part->n < begin)
			part_append(w, part, &(struct entry){.kind = ENTRY_REMOVED});
		part->low = begin;
	}
}

void generate_setup(struct world *w)
{
	struct setup *s = &w->setup;
	struct rng *r = &w->data;
	static const unsigned identities[] = {1, 2, 2, 3};

	*s = (struct setup){0};
	w->now_us = START_US + 86400 * SECOND;
	setup_topics(w);
	setup_loop(w);
	s->identities = identities[rng_below(r, 4)];
	s->static_members = rng_percent(r, 30);
	s->stable_transactional_id = s->static_members || rng_percent(r, 50);
	s->compaction_lag_us = rng_percent(r, 50) ? 0 : 86400 * SECOND;
	s->letters = (unsigned)rng_between(r, 6, 50);
	if (w->options.letters_max && s->letters > w->options.letters_max)
		s->letters = w->options.letters_max;
	/* Swarm testing (Groce et al., ISSTA 2012): each run has another subset of the faults. */
	for (int e = 0; e < SIM_EVENT_COUNT; e++)
		w->enabled[e] = rng_percent(r, 60) && !w->options.without[e];
	for (size_t i = 0; i < s->identities && s->stable_transactional_id; i++) {
		if (w->n_producers == w->producers_cap)
			w->producers = world_grow(w->producers, w->n_producers, &w->producers_cap,
				sizeof(*w->producers));
		w->producers[w->n_producers] = arena_alloc(&w->arena, sizeof(struct producer));
		*w->producers[w->n_producers++] = (struct producer){0};
	}
	setup_inboxes(w);
	w->letters_left = s->letters;
	generate_letters(w, 1 + (unsigned)rng_below(r, s->letters));
}

/* --- keys and reads --- */

static void *world_zalloc(struct world *w, size_t bytes)
{
	return memset(arena_alloc(&w->arena, bytes), 0, bytes);
}

static struct meter_key *add_key(struct world *w, struct slice text)
{
	struct truth *t = &w->truth;
	struct meter_key *k = world_zalloc(w, sizeof(*k));

	if (t->n_keys == t->keys_cap)
		t->keys = world_grow(t->keys, t->n_keys, &t->keys_cap, sizeof(*t->keys));
	t->keys[t->n_keys++] = k;
	k->text = text;
	k->partition = hash_partition(text, w->setup.n);
	return k;
}

static struct read *add_read(struct world *w, struct meter_key *k)
{
	struct truth *t = &w->truth;
	struct read *r = world_zalloc(w, sizeof(*r));

	if (t->n_reads == t->reads_cap)
		t->reads = world_grow(t->reads, t->n_reads, &t->reads_cap, sizeof(*t->reads));
	t->reads[t->n_reads++] = r;
	r->key = k;
	r->taken_first_us = INT64_MAX;
	r->taken_last_us = INT64_MIN;
	k->contents[k->n_contents++] = r;
	return r;
}

static struct meter_key *new_meter_key(struct world *w)
{
	unsigned n = (unsigned)w->truth.n_keys, hour = n % 24;
	const char *meter = arena_printf(&w->arena, "MTR-%08u", n);
	const char *at = arena_printf(&w->arena, "2026-07-16T%02u:00:00+00:00", hour);
	struct meter_key *k =
		add_key(w, slice_str(arena_printf(&w->arena, "%s|%s|%u", meter, at, n % 3)));

	k->meter_id = meter;
	k->read_at = at;
	k->read_at_us = START_US - 86400 * SECOND + hour * 3600 * SECOND;
	k->sequence = n % 3;
	return k;
}

static enum read_nature any_nature(struct world *w)
{
	static const enum read_nature odd[] = {NATURE_POISON, NATURE_POISON, NATURE_FLAKY,
		NATURE_FLAKY, NATURE_KILLER, NATURE_TIMEOUT, NATURE_HEAVY};

	return rng_percent(&w->data, 70) ? NATURE_GOOD : odd[rng_below(&w->data, ARRAY_LEN(odd))];
}

/* Another content of the key differs in its amount, or in its quality alone. */
static struct read *new_content(struct world *w, struct meter_key *k)
{
	static const char *const amounts[] = {"12.5", "7", "0.25", "-3.5"};
	static const char *const types[] = {NULL, "1-0:1.8.0*255"};
	bool by_quality = k->n_contents && rng_percent(&w->data, 30);
	size_t number = k->n_contents;
	struct read *r = add_read(w, k);

	r->kwh_value = by_quality ? k->contents[0]->kwh_value : amounts[number];
	r->quality = by_quality ? arena_printf(&w->arena, "E%zu", number) : NULL;
	r->reading_type = number ? k->contents[0]->reading_type : types[rng_below(&w->data, 2)];
	r->nature = any_nature(w);
	return r;
}

static struct read *any_read(struct world *w)
{
	struct truth *t = &w->truth;
	struct meter_key *k;
	unsigned dice = (unsigned)rng_below(&w->data, 100);

	if (dice < 45 || !t->n_keys)
		return new_content(w, new_meter_key(w));
	k = t->keys[rng_below(&w->data, t->n_keys)];
	if (!k->meter_id) /* a synthetic one */
		return new_content(w, new_meter_key(w));
	if (dice < 62 && k->n_contents < CONTENTS_MAX)
		return new_content(w, k);
	return k->contents[rng_below(&w->data, k->n_contents)];
}

/* --- payloads --- */

/* The same amount in another layout. */
static const char *amount_text(struct world *w, const char *value)
{
	static const char *const zeros[] = {"", "0", "00"};
	const char *point = strchr(value, '.');

	if (!point)
		return value;
	return arena_printf(&w->arena, "%s%s", value, zeros[rng_below(&w->data, 3)]);
}

static struct slice payload_of(struct world *w, struct letter *l, bool with_key)
{
	const struct read *r = l->read;
	const char *quote = rng_percent(&w->data, 50) ? "\"" : "";
	struct arena *a = &w->arena;
	const char *text;

	l->kwh = amount_text(w, r->kwh_value);
	text = arena_printf(a, "{\"kwh\":%s%s%s", quote, l->kwh, quote);
	if (with_key)
		text = arena_printf(a,
			"%s,\"meter_id\":\"%s\",\"read_at\":\"%s\",\"sequence\":%lld", text,
			r->key->meter_id, r->key->read_at, (long long)r->key->sequence);
	if (r->reading_type)
		text = arena_printf(a, "%s,\"reading_type\":\"%s\"", text, r->reading_type);
	if (r->quality)
		text = arena_printf(a, "%s,\"quality\":\"%s\"", text, r->quality);
	if (rng_percent(&w->data, 20))
		text = arena_printf(a, "%s,\"channel\":%u", text, (unsigned)rng_below(&w->data, 9));
	return slice_str(arena_printf(a, "%s}", text));
}

/* As a serializer for JSON Schemas writes it: the id of its schema, and the text. */
static struct slice framed(struct world *w, struct slice text)
{
	uint8_t *p = arena_alloc(&w->arena, 5 + text.n);

	memcpy(p, "\0\0\0\0\0", 5);
	p[4] = (uint8_t)rng_between(&w->data, 1, SCHEMA_MISSING - 1);
	memcpy(p + 5, text.p, text.n);
	return slice_of(p, 5 + text.n);
}

/* Payloads that no rule of the formats lets through, whatever key they come with. */
static struct slice malformed_payload(struct world *w)
{
	static const struct slice odd[] = {{NULL, 0}, {(const uint8_t *)"", 0},
		SLICE_LIT("not json"), SLICE_LIT("{}"), SLICE_LIT("{\"kwh\":\"NaN\"}"),
		SLICE_LIT("{\"kwh\":\"0x10\"}"), SLICE_LIT("{\"kwh\":\"1\"} trailing"),
		SLICE_LIT("{\"kwh\":\"1\",\"kwh\":\"2\"}"), SLICE_LIT("[{\"kwh\":1},{\"kwh\":2}]"),
		SLICE_LIT("{\"kwh\":\"1\",\"read_at\":\"2026-07-16T00:00:00\"}"),
		SLICE_LIT("{\"kwh\":\"1\",\"meter_id\":\"OTHER\"}"),
		SLICE_LIT("{\"kwh\":\"\xff\xfe\"}"), SLICE_LIT("{\"kwh\":\"1\\u0000\"}"),
		SLICE_LIT("{\"kwh\":"), SLICE_LIT("\0\0\0\0\4{\"kwh\":\"1\"}")};

	return odd[rng_below(&w->data, ARRAY_LEN(odd))];
}

/* --- dead letters --- */

static void add_header(struct world *w, struct letter *l, const char *name, struct slice value)
{
	if (!l->headers)
		l->headers = arena_alloc(&w->arena, 8 * sizeof(*l->headers));
	l->headers[l->n_headers++] = (struct header){slice_str(name), value};
}

static void choose_headers(struct world *w, struct letter *l)
{
	unsigned dice = (unsigned)rng_below(&w->data, 100);

	l->reason = dice < 6	? REASON_PERMANENT_4XX
		    : dice < 20 ? REASON_POISON
				: REASON_RETRIES_EXHAUSTED;
	if (dice < 60)
		add_header(w, l, "dlq-reason", slice_str(reason_name(l->reason)));
	if (rng_percent(&w->data, 20))
		add_header(
			w, l, "traceparent", SLICE_LIT("00-0af7651916cd43dd8448eb211c80319c-01"));
	if (rng_percent(&w->data, 10))
		add_header(w, l, "empty", rng_percent(&w->data, 50) ? SLICE_NULL : SLICE_LIT(""));
}

static void choose_timestamp(struct world *w, struct letter *l)
{
	int64_t now_ms = w->now_us / 1000;

	l->timestamp_sane = !rng_percent(&w->data, 6);
	l->timestamp_ms = l->timestamp_sane ? now_ms - rng_between(&w->data, 0, 60000)
					    : ONE_OF(&w->data, -1, 5000, now_ms + 40 * 86400000ll);
}

static struct letter *new_letter(struct world *w, struct part *part)
{
	struct truth *t = &w->truth;
	struct letter *l = world_zalloc(w, sizeof(*l));

	if (t->n_letters == t->letters_cap)
		t->letters =
			world_grow(t->letters, t->n_letters, &t->letters_cap, sizeof(*t->letters));
	t->letters[t->n_letters++] = l;
	l->topic = part->topic;
	l->partition = part->number;
	l->offset = (int64_t)part->n;
	choose_headers(w, l);
	choose_timestamp(w, l);
	return l;
}

/* Where the key is: the record key, a header, or the payload. */
static void write_good(struct world *w, struct letter *l)
{
	unsigned dice = (unsigned)rng_below(&w->data, 100);

	l->read = any_read(w);
	if (dice < 70) {
		l->record_key = l->read->key->text;
	} else if (dice < 85) {
		l->record_key = dice < 78 ? SLICE_NULL : SLICE_LIT("meter-7");
		add_header(w, l, "idempotency-key", l->read->key->text);
	} else {
		l->record_key = dice < 92 ? SLICE_NULL : SLICE_LIT("\xff\x00");
	}
	l->payload = payload_of(w, l, dice >= 85 || dice % 4 == 0);
	if (rng_percent(&w->data, 30))
		l->payload = framed(w, l->payload);
}

static void write_unfit(struct world *w, struct letter *l, bool oversize)
{
	struct slice key = slice_str(arena_printf(&w->arena, "%s-%d-%lld",
		w->setup.topics[l->topic], l->partition, (long long)l->offset));
	uint8_t *big = arena_alloc(&w->arena, 5000);

	l->read = add_read(w, add_key(w, key));
	l->read->unfit = true;
	l->read->unfit_cause = oversize ? CAUSE_OVERSIZE : CAUSE_MALFORMED;
	l->record_key = w->truth.n_keys > 1 && w->truth.keys[0]->meter_id
				? w->truth.keys[0]->text
				: SLICE_LIT("MTR-9|2026-07-16T00:00:00Z|0");
	l->payload = oversize ? slice_of(memset(big, 'x', 5000), 5000) : malformed_payload(w);
}

/* As a share group leaves it: key and payload are elsewhere. */
static void make_pointer(struct world *w, struct letter *l)
{
	const char *number = arena_printf(&w->arena, "%zu", w->truth.n_letters - 1);

	l->is_pointer = true;
	add_header(w, l, "__dlq.errors.topic", SLICE_LIT(ORIGINALS_TOPIC));
	add_header(w, l, "__dlq.errors.partition", SLICE_LIT("0"));
	add_header(w, l, "__dlq.errors.offset", slice_str(number));
}

static void write_dangling(struct world *w, struct letter *l)
{
	write_unfit(w, l, false);
	l->gone = true;
	l->read->unfit_cause = CAUSE_ORIGINAL_GONE;
	l->record_key = l->payload = SLICE_NULL;
	make_pointer(w, l);
}

static void write_letter(struct world *w, struct part *part)
{
	struct letter *l = new_letter(w, part);
	unsigned dice = (unsigned)rng_below(&w->data, 100);

	if (dice >= 97)
		write_dangling(w, l);
	else if (dice < 12)
		write_unfit(w, l, dice < 3);
	else
		write_good(w, l);
	if (!l->is_pointer && rng_percent(&w->data, 12))
		make_pointer(w, l);
	l->next = l->read->letters;
	l->read->letters = l;
	l->headers_encoded = headers_encode(&w->arena, l->headers, l->n_headers, &(uint32_t){0});
	part_append(w, part,
		&(struct entry){.key = l->is_pointer ? SLICE_NULL : l->record_key,
			.value = l->is_pointer ? SLICE_NULL : l->payload,
			.timestamp_ms = l->timestamp_ms,
			.letter = l});
	trace(w, "dead letter %d/%d@%lld: %s %.*s kwh %s", l->topic, l->partition,
		(long long)l->offset,
		l->read->unfit ? cause_name(l->read->unfit_cause) : reason_name(l->reason),
		SLICE_FMT(l->read->key->text), l->kwh ? l->kwh : "-");
}

/* Upstreams with transactions leave markers and aborted records. */
static void write_gap(struct world *w, struct part *part)
{
	if (rng_percent(&w->data, 50))
		part_append(w, part,
			&(struct entry){.key = SLICE_LIT("aborted"), .foreign_aborted = true});
	part_append(w, part, &(struct entry){.kind = ENTRY_MARKER});
}

void generate_letters(struct world *w, unsigned n)
{
	for (; n && w->letters_left; n--, w->letters_left--) {
		int topic = TOPIC_SOURCE + (int)rng_below(&w->data, w->setup.sources);
		int32_t partition =
			(int32_t)rng_below(&w->data, (uint64_t)world_partitions(w, topic));

		if (rng_percent(&w->data, 8))
			write_gap(w, world_part(w, topic, partition));
		write_letter(w, world_part(w, topic, partition));
	}
}

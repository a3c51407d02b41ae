#include "report.h"

#include "instant.h"
#include "repeats.h"
#include "utf8.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_BYTES REPEATS_TEXT_BYTES
#define FLUSH_PAUSE_US (1000ll * 1000)

struct stderr_report {
	struct report base;
	struct clock *clock;
	enum report_form form;
	pthread_mutex_t lock;
	struct repeats repeats;
	_Atomic int64_t flushed_us;
};

static const char *level_name(char level)
{
	return level == 'E' ? "error" : level == 'W' ? "warning" : "info";
}

static void add_stats(json_t *line, const struct loop_stats *s)
{
	json_object_set_new(line, "committed", json_integer((json_int_t)s->committed));
	json_object_set_new(line, "duplicate", json_integer((json_int_t)s->duplicate));
	json_object_set_new(line, "requeued", json_integer((json_int_t)s->requeued));
	json_object_set_new(line, "parked", json_integer((json_int_t)s->parked));
	json_object_set_new(line, "merged", json_integer((json_int_t)s->merged));
	json_object_set_new(line, "seen", json_integer((json_int_t)s->seen));
	json_object_set_new(line, "intake", json_integer((json_int_t)s->intake));
}

static void add_place(json_t *line, const struct record_place *at)
{
	if (slice_is_null(at->topic))
		return;
	json_object_set_new(line, "topic", json_stringn((const char *)at->topic.p, at->topic.n));
	json_object_set_new(line, "partition", json_integer(at->partition));
	json_object_set_new(line, "offset", json_integer(at->offset));
	if (!slice_is_null(at->key))
		json_object_set_new(line, "key", json_stringn((const char *)at->key.p, at->key.n));
}

static void format_json(
	struct buf *out, const char *time, const struct notice *e, unsigned left_out)
{
	json_t *line = json_pack("{s:s, s:s, s:s, s:s}", "time", time, "level",
		level_name(e->level), "event", e->name, "text", e->text);
	char *dump;

	add_place(line, &e->at);
	if (e->stats)
		add_stats(line, e->stats);
	if (left_out)
		json_object_set_new(line, "left_out", json_integer(left_out));
	dump = json_dumps(line, JSON_COMPACT);
	buf_add_str(out, dump ? dump : "{}");
	free(dump);
	json_decref(line);
}

static void format_place(struct buf *out, const struct record_place *at)
{
	if (slice_is_null(at->topic))
		return;
	buf_printf(out, "%.*s partition %d offset %lld", SLICE_FMT(at->topic), at->partition,
		(long long)at->offset);
	if (!slice_is_null(at->key))
		buf_printf(out, " key %.*s", SLICE_FMT(at->key));
	buf_add_str(out, ": ");
}

static void format_text(
	struct buf *out, const char *time, const struct notice *e, unsigned left_out)
{
	if (time)
		buf_printf(out, "%s %s %s: ", time, level_name(e->level), e->name);
	else
		buf_printf(out, "meter-dlq: %s: %s: ", level_name(e->level), e->name);
	format_place(out, &e->at);
	buf_add_str(out, e->text);
	if (left_out)
		buf_printf(out, " (%u more like it were left out)", left_out);
}

/* One line is one write, so that lines of several processes do not mix. */
static void write_line(struct buf *line)
{
	const uint8_t *p;
	size_t left;

	/* Nor does what a record or a server says move the cursor of a terminal. */
	for (size_t i = 0; i < line->n; i++)
		if (line->p[i] < ' ' || line->p[i] == 0x7f)
			line->p[i] = ' ';
	buf_add_byte(line, '\n');
	for (left = line->n, p = line->p; left;) {
		ssize_t n = write(STDERR_FILENO, p, left);

		if (n <= 0)
			return;
		p += n;
		left -= (size_t)n;
	}
}

static void write_event(struct stderr_report *r, const struct notice *e, unsigned left_out)
{
	CLEANUP(buf_free) struct buf line = {0};
	char time[INSTANT_TEXT_BYTES];

	instant_format(clock_now_us(r->clock), time);
	if (r->form == REPORT_JSON)
		format_json(&line, time, e, left_out);
	else
		format_text(&line, r->form == REPORT_TEXT ? time : NULL, e, left_out);
	write_line(&line);
}

/* Repeats that no later event of their kind has told of. */
static void write_left_out(struct stderr_report *r, const struct repeats_slot *kind)
{
	struct notice event = {.level = kind->level, .name = kind->name, .text = kind->text};

	if (kind->left_out)
		write_event(r, &event, kind->left_out);
}

static bool admit(struct stderr_report *r, const struct notice *e, unsigned *ret_left)
{
	struct repeats_slot evicted;
	bool admitted;

	pthread_mutex_lock(&r->lock);
	admitted = repeats_admit(&r->repeats, e->level, e->name, e->text,
		!slice_is_null(e->at.topic), clock_steady_us(r->clock), ret_left, &evicted);
	pthread_mutex_unlock(&r->lock);
	write_left_out(r, &evicted);
	return admitted;
}

static const char *stats_text(struct arena *a, const struct loop_stats *s)
{
	return arena_printf(a,
		"committed %" PRIu64 ", duplicate %" PRIu64 ", requeued %" PRIu64
		", parked %" PRIu64 ", merged %" PRIu64 ", seen %" PRIu64 ", intake %" PRIu64,
		s->committed, s->duplicate, s->requeued, s->parked, s->merged, s->seen, s->intake);
}

static void on_event(struct report *base, const struct notice *event)
{
	struct stderr_report *r = (struct stderr_report *)base;
	CLEANUP(arena_free) struct arena arena = {0};
	struct notice e = *event;
	unsigned left_out = 0;
	uint32_t cut = 0;

	if (r->form == REPORT_COMMAND && e.level == 'I')
		return;
	e.text = e.stats ? stats_text(&arena, e.stats)
			 : arena_cstr(&arena,
				   utf8_clean(&arena, slice_str(e.text), TEXT_BYTES - 1, &cut));
	/* A pass is never like the one before. */
	if (!e.stats && !admit(r, &e, &left_out))
		return;
	if (!slice_is_null(e.at.key))
		e.at.key = utf8_clean(&arena, e.at.key, TEXT_BYTES, &cut);
	write_event(r, &e, left_out);
}

static void flush(struct stderr_report *r, bool all)
{
	int64_t now_us = clock_steady_us(r->clock);
	struct repeats_slot kind;
	bool found = true;

	r->flushed_us = now_us;
	while (found) {
		pthread_mutex_lock(&r->lock);
		found = repeats_flush(&r->repeats, now_us, all, &kind);
		pthread_mutex_unlock(&r->lock);
		if (found)
			write_left_out(r, &kind);
	}
}

void report_flush(struct report *base)
{
	struct stderr_report *r = (struct stderr_report *)base;

	if (clock_steady_us(r->clock) - r->flushed_us >= FLUSH_PAUSE_US)
		flush(r, false);
}

struct report *report_new(struct clock *clock, enum report_form form)
{
	static const struct report_ops ops = {.event = on_event};
	struct stderr_report *r = mem_zalloc(sizeof(*r));

	r->base.ops = &ops;
	r->clock = clock;
	r->form = form;
	pthread_mutex_init(&r->lock, NULL);
	return &r->base;
}

void report_free(struct report *base)
{
	struct stderr_report *r = (struct stderr_report *)base;

	if (!r)
		return;
	flush(r, true);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void report_freep(struct report **r)
{
	report_free(*r);
}

void report_event(struct report *r, char level, const char *event, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->ops->event(r, &(struct notice){.level = level, .name = event, .text = text});
}

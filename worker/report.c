#include "report.h"

#include "hash.h"
#include "instant.h"
#include "utf8.h"

#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define QUIET_US (10LL * 1000 * 1000)
#define TEXT_BYTES 1024
#define SLOTS 64

/* An event seen lately; another one that falls into the same slot takes its place. */
struct slot {
	char event[32], text[TEXT_BYTES];
	int64_t written_us;
	unsigned repeats; /* not written since */
};

struct stderr_report {
	struct report base;
	struct clock *clock;
	enum report_form form;
	pthread_mutex_t lock;
	struct slot slots[SLOTS];
};

static const char *level_name(char level)
{
	return level == 'E' ? "error" : level == 'W' ? "warning" : "info";
}

/* librdkafka puts durations and counts into its texts: there digits make no difference. */
static const char *gist(const char *event, const char *text, char ret[static TEXT_BYTES])
{
	size_t n = 0;

	if (strcmp(event, "kafka") != 0)
		return text;
	for (; *text && n < TEXT_BYTES - 1; text++)
		if (*text < '0' || *text > '9')
			ret[n++] = *text;
	ret[n] = '\0';
	return ret;
}

static struct slot *slot_of(struct stderr_report *r, const char *event, const char *text)
{
	uint32_t h = hash_murmur2(slice_str(event)) ^ hash_murmur2(slice_str(text));

	return &r->slots[h % SLOTS];
}

/* Whether the event is to be written now; then *ret_repeats were not. */
static bool admit(
	struct stderr_report *r, const char *event, const char *text, unsigned *ret_repeats)
{
	char shortened[TEXT_BYTES];
	const char *what = gist(event, text, shortened);
	struct slot *s = slot_of(r, event, what);
	int64_t now_us = clock_steady_us(r->clock);
	bool same = s->written_us && strcmp(s->event, event) == 0 && strcmp(s->text, what) == 0;

	if (same && now_us - s->written_us < QUIET_US) {
		s->repeats++;
		return false;
	}
	*ret_repeats = same ? s->repeats : 0;
	if (!same) {
		snprintf(s->event, sizeof(s->event), "%s", event);
		snprintf(s->text, sizeof(s->text), "%s", what);
	}
	s->written_us = now_us;
	s->repeats = 0;
	return true;
}

static void format_text(struct buf *out, const char *time, char level, const char *event,
	const char *text, unsigned repeats)
{
	if (time)
		buf_printf(out, "%s %s %s: %s", time, level_name(level), event, text);
	else
		buf_printf(out, "meter-dlq: %s: %s: %s", level_name(level), event, text);
	if (repeats)
		buf_printf(out, " (and %u times more before)", repeats);
}

static void format_json(struct buf *out, const char *time, char level, const char *event,
	const char *text, unsigned repeats)
{
	json_t *line = json_pack("{s:s, s:s, s:s, s:s}", "time", time, "level", level_name(level),
		"event", event, "text", text);
	char *dump;

	if (repeats)
		json_object_set_new(line, "repeats", json_integer(repeats));
	dump = json_dumps(line, JSON_COMPACT);
	buf_add_str(out, dump ? dump : "{}");
	free(dump);
	json_decref(line);
}

/* One line is one write, so that lines of several processes do not mix. */
static void write_line(struct buf *line)
{
	const uint8_t *p;
	size_t left;

	for (size_t i = 0; i < line->n; i++)
		if (line->p[i] == '\n')
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

static void on_event(struct report *base, char level, const char *event, const char *text)
{
	struct stderr_report *r = (struct stderr_report *)base;
	CLEANUP(arena_free) struct arena arena = {0};
	CLEANUP(buf_free) struct buf line = {0};
	char time[INSTANT_TEXT_BYTES];
	unsigned repeats;
	uint32_t cut = 0;
	bool admitted;

	if (r->form == REPORT_COMMAND && level == 'I')
		return;
	text = arena_cstr(&arena, utf8_clean(&arena, slice_str(text), TEXT_BYTES - 1, &cut));
	pthread_mutex_lock(&r->lock);
	admitted = admit(r, event, text, &repeats);
	pthread_mutex_unlock(&r->lock);
	if (!admitted)
		return;
	instant_format(clock_now_us(r->clock), time);
	if (r->form == REPORT_JSON)
		format_json(&line, time, level, event, text, repeats);
	else
		format_text(
			&line, r->form == REPORT_TEXT ? time : NULL, level, event, text, repeats);
	write_line(&line);
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
	r->ops->event(r, level, event, text);
}

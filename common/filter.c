#include "filter.h"

#include "glob.h"
#include "when.h"

/* --- parsing --- */

static int globs_parse(struct arena *a, const char *flag, const char *text,
	struct filter_globs *ret, struct err *err)
{
	size_t commas = 0;

	if (!text)
		return 0;
	for (const char *p = text; *p; p++)
		commas += *p == ',';
	ret->v = arena_alloc(a, (commas + 1) * sizeof(*ret->v));
	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ",");

		if (!n)
			return err_set(err, ERR_CONFIG,
				"%s: \"%.100s\" has an empty item; separate several by one comma",
				flag, text);
		ret->v[ret->n++] = slice_of(p, n);
		p += n;
		if (!*p)
			return 0;
	}
}

static bool any_matches(const struct filter_globs *g, struct slice text)
{
	for (size_t i = 0; i < g->n; i++)
		if (!slice_is_null(text) && glob_match(g->v[i], text))
			return true;
	return false;
}

/* Every pattern must fit one of the names there are: else it is a slip of the pen. */
static int check_names(const char *flag, const struct filter_globs *g, const char *(*name)(int),
	int n, struct err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		CLEANUP(buf_free) struct buf names = {0};
		bool found = false;

		for (int k = 0; k < n; k++) {
			found |= glob_match(g->v[i], slice_str(name(k)));
			buf_printf(&names, "%s%s", k ? ", " : "", name(k));
		}
		if (!found)
			return err_set(err, ERR_CONFIG, "%s: \"%.*s\" fits none of %.*s", flag,
				(int)(g->v[i].n < 60 ? g->v[i].n : 60), (const char *)g->v[i].p,
				(int)names.n, (const char *)names.p);
	}
	return 0;
}

static const char *reason_text(int i)
{
	return reason_name((enum reason)i);
}

static const char *cause_text(int i)
{
	return cause_name((enum cause)i);
}

/* Digits up to one of the characters in end, or nothing. */
static bool count_parse(const char **p, int64_t unset, int64_t *ret)
{
	size_t digits = strspn(*p, "0123456789");

	*ret = digits ? 0 : unset;
	if (digits > 9)
		return false;
	for (; digits; digits--)
		*ret = *ret * 10 + (*(*p)++ - '0');
	return true;
}

/* N, N.., ..N, N..M */
static int attempts_parse(const char *text, struct filter *f, struct err *err)
{
	const char *p = text;
	bool good = true;

	f->attempts_min = 0;
	f->attempts_max = INT64_MAX;
	if (!text)
		return 0;
	good = count_parse(&p, 0, &f->attempts_min);
	if (good && p > text && !*p)
		f->attempts_max = f->attempts_min;
	else if (good && strncmp(p, "..", 2) == 0 && (p > text || p[2])) {
		p += 2;
		good = count_parse(&p, INT64_MAX, &f->attempts_max) && !*p;
	} else
		good = false;
	if (!good || f->attempts_min > f->attempts_max)
		return err_set(err, ERR_CONFIG,
			"--attempts: \"%.60s\" is none of N, N.., ..N and N..M, such as 3.. for 3 "
			"or "
			"more",
			text);
	return 0;
}

static int when(struct arena *a, const char *flag, const char *text, int64_t now_us, int64_t *ret,
	struct err *err)
{
	const char *why = text ? when_parse(a, text, now_us, ret) : NULL;

	if (why)
		return err_set(err, ERR_CONFIG, "%s: \"%.60s\": %s", flag, text, why);
	return 0;
}

static int day_parse(const struct config *c, struct filter *f, struct err *err)
{
	const char *why;

	if (!c->chosen_day)
		return 0;
	if (c->chosen_from || c->chosen_to)
		return err_set(err, ERR_CONFIG,
			"--day is --read-from and --read-to in one: give it or them");
	why = when_parse_date(c->chosen_day, &f->from_us);
	if (why)
		return err_set(err, ERR_CONFIG, "--day: \"%.60s\" is %s", c->chosen_day, why);
	f->to_us = f->from_us + CONFIG_DAY;
	return 0;
}

static int check_order(
	const char *first, int64_t from_us, const char *second, int64_t to_us, struct err *err)
{
	if (from_us < to_us)
		return 0;
	return err_set(
		err, ERR_CONFIG, "%s is not before %s: nothing can be in between", first, second);
}

static int times_parse(
	struct arena *a, const struct config *c, int64_t now_us, struct filter *f, struct err *err)
{
	int r;

	f->since_us = f->from_us = INT64_MIN;
	f->until_us = f->to_us = INT64_MAX;
	f->first_before_us = c->older_than ? now_us - c->older_than : INT64_MAX;
	if ((r = when(a, "--since", c->chosen_since, now_us, &f->since_us, err)) ||
		(r = when(a, "--until", c->chosen_until, now_us, &f->until_us, err)) ||
		(r = when(a, "--read-from", c->chosen_from, now_us, &f->from_us, err)) ||
		(r = when(a, "--read-to", c->chosen_to, now_us, &f->to_us, err)) ||
		(r = day_parse(c, f, err)) ||
		(r = check_order("--since", f->since_us, "--until", f->until_us, err)))
		return r;
	return check_order("--read-from", f->from_us, "--read-to", f->to_us, err);
}

int filter_parse(struct arena *a, const struct config *c, int64_t now_us, struct filter *ret,
	struct err *err)
{
	struct filter f = {0};
	int r;

	if ((r = globs_parse(a, "--key", c->chosen_key, &f.keys, err)) ||
		(r = globs_parse(a, "--meter", c->chosen_meter, &f.meters, err)) ||
		(r = globs_parse(a, "--reason", c->reason, &f.reasons, err)) ||
		(r = globs_parse(a, "--cause", c->chosen_cause, &f.causes, err)) ||
		(r = globs_parse(a, "--code", c->chosen_code, &f.codes, err)) ||
		(r = globs_parse(a, "--source", c->chosen_source, &f.sources, err)) ||
		(r = check_names("--reason", &f.reasons, reason_text, REASON_COUNT, err)) ||
		(r = check_names("--cause", &f.causes, cause_text, CAUSE_COUNT, err)) ||
		(r = attempts_parse(c->chosen_attempts, &f, err)) ||
		(r = times_parse(a, c, now_us, &f, err)))
		return r;
	f.any = f.keys.n || f.meters.n || f.reasons.n || f.causes.n || f.codes.n || f.sources.n ||
		c->chosen_attempts || c->chosen_since || c->chosen_until || c->chosen_from ||
		c->chosen_to || c->chosen_day || c->older_than;
	*ret = f;
	return 0;
}

/* --- matching --- */

static bool fits(const struct filter_globs *g, struct slice text)
{
	return !g->n || any_matches(g, text);
}

static bool within(int64_t v, int64_t from, int64_t to)
{
	return v >= from && v < to;
}

static bool read_fits(const struct filter *f, const struct read_view *view)
{
	bool any_time = f->from_us == INT64_MIN && f->to_us == INT64_MAX;

	return fits(&f->meters, view->meter) &&
	       (any_time || (view->has_time && within(view->read_at_us, f->from_us, f->to_us)));
}

static bool code_fits(const struct filter *f, const struct record_error *e)
{
	return fits(&f->codes, e->code) || any_matches(&f->codes, e->class);
}

bool filter_match(const struct filter *f, const struct record *r, const enum cause *cause,
	const struct read_view *view)
{
	struct slice cause_is = cause ? slice_str(cause_name(*cause)) : SLICE_NULL;

	return within(r->last_seen_us, f->since_us, f->until_us) &&
	       r->first_seen_us < f->first_before_us && r->attempts >= f->attempts_min &&
	       r->attempts <= f->attempts_max && fits(&f->keys, r->idempotency_key) &&
	       fits(&f->reasons, slice_str(reason_name(r->reason))) && fits(&f->causes, cause_is) &&
	       code_fits(f, &r->error) && fits(&f->sources, r->dead_letter.topic) &&
	       read_fits(f, view);
}

#include "when.h"

#include "config.h"
#include "instant.h"

#include <stdio.h>

#define DATE_BYTES 10 /* 2026-07-17 */

const char *when_parse_date(const char *text, int64_t *ret_us)
{
	char midnight[DATE_BYTES + sizeof("T00:00:00Z")];

	if (strlen(text) != DATE_BYTES)
		return "not a date such as 2026-07-17";
	snprintf(midnight, sizeof(midnight), "%sT00:00:00Z", text);
	return instant_parse(slice_str(midnight), ret_us) ? "not a date such as 2026-07-17" : NULL;
}

const char *when_parse(struct arena *a, const char *text, int64_t now_us, int64_t *ret_us)
{
	int64_t age_us;
	const char *why;

	if (config_duration_parse(text, &age_us))
		return __builtin_sub_overflow(now_us, age_us, ret_us) ? "too long ago" : NULL;
	if (!when_parse_date(text, ret_us))
		return NULL;
	why = instant_parse(slice_str(text), ret_us);
	if (!why)
		return NULL;
	return arena_printf(a,
		"%s; give a time with an offset (2026-07-17T08:00:00+02:00), a date (2026-07-17), "
		"or an age (90m, 2h, 3d)",
		why);
}

const char *when_age(int64_t duration_us, char ret[static WHEN_AGE_BYTES])
{
	static const struct {
		int64_t us;
		const char *unit;
	} units[] = {{CONFIG_DAY, "d"}, {3600 * CONFIG_SECOND, "h"}, {60 * CONFIG_SECOND, "m"},
		{CONFIG_SECOND, "s"}};
	size_t i = 0;

	if (duration_us < 0)
		duration_us = 0;
	while (i + 1 < ARRAY_LEN(units) && duration_us < 2 * units[i].us)
		i++;
	snprintf(ret, WHEN_AGE_BYTES, "%lld%s", (long long)(duration_us / units[i].us),
		units[i].unit);
	return ret;
}

#include "instant.h"

#define US_PER_SECOND 1000000
#define SECONDS_PER_DAY 86400
/* 0001-01-01T00:00:00Z and 10000-01-01T00:00:00Z */
#define FIRST_SECOND (-62135596800)
#define END_SECOND 253402300800

/* What is left to parse. */
struct cursor {
	const uint8_t *p, *end;
};

static bool take(struct cursor *c, char wanted)
{
	if (c->p == c->end || *c->p != (uint8_t)wanted)
		return false;
	c->p++;
	return true;
}

static bool at_digit(const struct cursor *c)
{
	return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

/* Exactly count digits, of a value from min to max. */
static bool take_number(struct cursor *c, int count, int min, int max, int *ret)
{
	int v = 0;

	for (int i = 0; i < count; i++) {
		if (!at_digit(c))
			return false;
		v = v * 10 + (*c->p++ - '0');
	}
	*ret = v;
	return v >= min && v <= max;
}

static int days_in_month(int year, int month)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

/*
 * Days since 1970-01-01, and back: Hinnant, "chrono-Compatible Low-Level Date Algorithms",
 * days_from_civil and civil_from_days. An era is 400 years; years begin in March.
 */
static int64_t days_from_civil(int year, int month, int day)
{
	int64_t y = year - (month <= 2); /* not negative, as years begin at 1 */
	int64_t era = y / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

static void civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t day_of_era = z - era * 146097;
	int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int from_march = (int)((5 * day_of_year + 2) / 153);

	*day = (int)(day_of_year - (153 * from_march + 2) / 5 + 1);
	*month = from_march < 10 ? from_march + 3 : from_march - 9;
	*year = year_of_era + era * 400 + (*month <= 2);
}

static const char *take_date(struct cursor *c, int64_t *ret_days)
{
	int year, month, day;

	if (!take_number(c, 4, 1, 9999, &year) || !take(c, '-') ||
		!take_number(c, 2, 1, 12, &month) || !take(c, '-') ||
		!take_number(c, 2, 1, days_in_month(year, month), &day))
		return "not a date";
	*ret_days = days_from_civil(year, month, day);
	return NULL;
}

static const char *take_fraction(struct cursor *c, int *ret_us)
{
	int us = 0, unit = US_PER_SECOND / 10;

	if (!at_digit(c))
		return "not a time of day";
	for (; at_digit(c); c->p++, unit /= 10) {
		if (!unit && *c->p != '0')
			return "finer than a microsecond";
		us += (*c->p - '0') * unit;
	}
	*ret_us = us;
	return NULL;
}

static const char *take_time(struct cursor *c, int *ret_seconds, int *ret_us)
{
	int hour, minute, second;

	if (c->p == c->end)
		return "no time of day";
	if ((!take(c, 'T') && !take(c, 't') && !take(c, ' ')) || !take_number(c, 2, 0, 23, &hour) ||
		!take(c, ':') || !take_number(c, 2, 0, 59, &minute) || !take(c, ':') ||
		!take_number(c, 2, 0, 60, &second))
		return "not a time of day";
	*ret_seconds = (hour * 60 + minute) * 60 + second;
	*ret_us = 0;
	return take(c, '.') ? take_fraction(c, ret_us) : NULL;
}

static const char *take_offset(struct cursor *c, int *ret_seconds)
{
	int hours, minutes = 0, sign;

	*ret_seconds = 0;
	if (c->p == c->end)
		return "no offset";
	if (take(c, 'Z') || take(c, 'z'))
		return NULL;
	sign = take(c, '+') ? 1 : take(c, '-') ? -1 : 0;
	if (!sign || !take_number(c, 2, 0, 23, &hours))
		return "not an offset";
	if ((take(c, ':') || at_digit(c)) && !take_number(c, 2, 0, 59, &minutes))
		return "not an offset";
	*ret_seconds = sign * (hours * 60 + minutes) * 60;
	return NULL;
}

const char *instant_parse(struct slice text, int64_t *ret_us)
{
	struct cursor c = {text.p, text.n ? text.p + text.n : text.p};
	int seconds, us, offset;
	const char *why;
	int64_t days, t;

	if ((why = take_date(&c, &days)) || (why = take_time(&c, &seconds, &us)) ||
		(why = take_offset(&c, &offset)))
		return why;
	if (c.p != c.end)
		return "more text after the offset";
	t = days * SECONDS_PER_DAY + seconds - offset;
	if (t < FIRST_SECOND || t >= END_SECOND)
		return "outside the years 0001 to 9999";
	*ret_us = t * US_PER_SECOND + us;
	return NULL;
}

static char *put_number(char *p, uint64_t v, int digits)
{
	for (int i = digits - 1; i >= 0; i--, v /= 10)
		p[i] = (char)('0' + v % 10);
	return p + digits;
}

/* Four digits; beyond the years that instant_parse takes: a sign and six (ISO 8601, expanded). */
static char *put_year(char *p, int64_t year)
{
	if (year >= 0 && year <= 9999)
		return put_number(p, (uint64_t)year, 4);
	*p++ = year < 0 ? '-' : '+';
	return put_number(p, (uint64_t)(year < 0 ? -year : year), 6);
}

size_t instant_format(int64_t us, char ret[static INSTANT_TEXT_BYTES])
{
	int64_t fraction = us % US_PER_SECOND, second, days, year;
	int month, day;
	char *p = ret;

	if (fraction < 0)
		fraction += US_PER_SECOND;
	second = us / US_PER_SECOND - (us % US_PER_SECOND < 0);
	days = second / SECONDS_PER_DAY - (second % SECONDS_PER_DAY < 0);
	second -= days * SECONDS_PER_DAY;
	civil_from_days(days, &year, &month, &day);
	p = put_year(p, year);
	*p++ = '-';
	p = put_number(p, (uint64_t)month, 2);
	*p++ = '-';
	p = put_number(p, (uint64_t)day, 2);
	*p++ = 'T';
	p = put_number(p, (uint64_t)second / 3600, 2);
	*p++ = ':';
	p = put_number(p, (uint64_t)second / 60 % 60, 2);
	*p++ = ':';
	p = put_number(p, (uint64_t)second % 60, 2);
	if (fraction) {
		*p++ = '.';
		p = put_number(p, (uint64_t)fraction, 6);
	}
	*p++ = 'Z';
	*p = '\0';
	return (size_t)(p - ret);
}

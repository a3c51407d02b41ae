#include "http_status.h"

#include "glob.h"
#include "mem.h"

#define STATUS_BYTES 3

/*
 * Exceptions whose text begins with the status ("404 Not Found: [no body]"), and whose subclasses
 * are named after it. Spring, OpenFeign, Python's requests.
 */
static const struct slice http_classes[] = {
	SLICE_INIT("HttpClientErrorException"),
	SLICE_INIT("HttpClientErrorException$*"),
	SLICE_INIT("HttpServerErrorException"),
	SLICE_INIT("HttpServerErrorException$*"),
	SLICE_INIT("WebClientResponseException"),
	SLICE_INIT("WebClientResponseException$*"),
	SLICE_INIT("RestClientResponseException"),
	SLICE_INIT("ResponseStatusException"),
	SLICE_INIT("FeignException"),
	SLICE_INIT("FeignException$*"),
	SLICE_INIT("requests.exceptions.HTTPError"),
};

static const struct {
	struct slice name, status;
} subclasses[] = {
	{SLICE_INIT("$BadRequest"), SLICE_INIT("400")},
	{SLICE_INIT("$Unauthorized"), SLICE_INIT("401")},
	{SLICE_INIT("$Forbidden"), SLICE_INIT("403")},
	{SLICE_INIT("$NotFound"), SLICE_INIT("404")},
	{SLICE_INIT("$MethodNotAllowed"), SLICE_INIT("405")},
	{SLICE_INIT("$NotAcceptable"), SLICE_INIT("406")},
	{SLICE_INIT("$Conflict"), SLICE_INIT("409")},
	{SLICE_INIT("$Gone"), SLICE_INIT("410")},
	{SLICE_INIT("$UnsupportedMediaType"), SLICE_INIT("415")},
	{SLICE_INIT("$UnprocessableEntity"), SLICE_INIT("422")},
	{SLICE_INIT("$UnprocessableContent"), SLICE_INIT("422")},
	{SLICE_INIT("$TooManyRequests"), SLICE_INIT("429")},
	{SLICE_INIT("$InternalServerError"), SLICE_INIT("500")},
	{SLICE_INIT("$NotImplemented"), SLICE_INIT("501")},
	{SLICE_INIT("$BadGateway"), SLICE_INIT("502")},
	{SLICE_INIT("$ServiceUnavailable"), SLICE_INIT("503")},
	{SLICE_INIT("$GatewayTimeout"), SLICE_INIT("504")},
};

/* What stands before it in their texts. */
static const struct slice leads[] = {
	SLICE_INIT(""), SLICE_INIT("["), /* OpenFeign */
	SLICE_INIT("status "),		 /* OpenFeign before 10.5 */
};

/* What stands before it in the text of any exception. */
static const struct slice markers[] = {
	SLICE_INIT("HTTP "),			   /* JAX-RS, Retrofit */
	SLICE_INIT("HTTP/1.1 "),		   /* Apache HttpClient */
	SLICE_INIT("status code "),		   /* MicroProfile and many others */
	SLICE_INIT("status code: "),		   /* likewise */
	SLICE_INIT("does not indicate success: "), /* .NET */
	SLICE_INIT("responded with status "),	   /* Faraday */
};

static bool digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool of_a_word(uint8_t c)
{
	return digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

bool http_status_valid(struct slice text)
{
	return text.n == STATUS_BYTES && text.p[0] >= '1' && text.p[0] <= '5' && digit(text.p[1]) &&
	       digit(text.p[2]);
}

bool http_status_permanent(struct slice status)
{
	return status.p[0] == '4' && !slice_eq(status, SLICE_LIT("408")) &&
	       !slice_eq(status, SLICE_LIT("429"));
}

static bool begins(struct slice text, struct slice with)
{
	return text.n >= with.n && (!with.n || memcmp(text.p, with.p, with.n) == 0);
}

static struct slice behind(struct slice text, size_t n)
{
	return slice_of(text.p + n, text.n - n);
}

/* The status that text begins with. */
static struct slice status_at(struct slice text)
{
	struct slice status = slice_of(text.p, text.n < STATUS_BYTES ? text.n : STATUS_BYTES);
	bool ends = text.n <= STATUS_BYTES || !of_a_word(text.p[STATUS_BYTES]);

	return ends && http_status_valid(status) ? status : SLICE_NULL;
}

static struct slice status_led(struct slice text)
{
	struct slice status = SLICE_NULL;

	for (size_t i = 0; i < ARRAY_LEN(leads) && slice_is_null(status); i++)
		if (begins(text, leads[i]))
			status = status_at(behind(text, leads[i].n));
	return status;
}

/* Moves text behind the next what in it. */
static bool skip_to(struct slice *text, struct slice what)
{
	const uint8_t *p = text->n && what.n ? memmem(text->p, text->n, what.p, what.n) : NULL;

	if (p)
		*text = behind(*text, (size_t)(p - text->p) + what.n);
	return p != NULL;
}

static struct slice status_marked(struct slice text)
{
	struct slice status = SLICE_NULL;

	for (size_t i = 0; i < ARRAY_LEN(markers); i++) {
		struct slice rest = text;

		while (slice_is_null(status) && skip_to(&rest, markers[i]))
			status = status_at(rest);
	}
	return status;
}

static bool is_http_class(struct slice class)
{
	for (size_t i = 0; i < ARRAY_LEN(http_classes); i++)
		if (glob_match_name(http_classes[i], class))
			return true;
	return false;
}

static struct slice status_of_subclass(struct slice class)
{
	for (size_t i = 0; i < ARRAY_LEN(subclasses); i++) {
		struct slice name = subclasses[i].name;

		if (class.n > name.n && begins(behind(class, class.n - name.n), name))
			return subclasses[i].status;
	}
	return SLICE_NULL;
}

/* The text is the exception's own, or that of another around it, which tells "CLASS: TEXT". */
static struct slice status_of_http(struct slice class, struct slice message)
{
	static const struct slice colon = SLICE_INIT(": ");
	struct slice status = status_of_subclass(class), rest = message;

	if (slice_is_null(status))
		status = status_led(message);
	while (slice_is_null(status) && skip_to(&rest, class))
		if (begins(rest, colon))
			status = status_led(behind(rest, colon.n));
	return status;
}

struct slice http_status_find(struct slice class, struct slice message)
{
	struct slice status = SLICE_NULL;

	if (is_http_class(class))
		status = status_of_http(class, message);
	return slice_is_null(status) ? status_marked(message) : status;
}

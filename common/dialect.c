#include "dialect.h"

#include "codec.h"
#include "mem.h"

static void set_reason(struct slice value, struct dialect_facts *f)
{
	reason_parse(value, &f->reason);
}

static void set_error_class(struct slice value, struct dialect_facts *f)
{
	f->error.class = value;
}

static void set_error_code(struct slice value, struct dialect_facts *f)
{
	f->error.code = value;
}

static void set_error_message(struct slice value, struct dialect_facts *f)
{
	f->error.message = value;
}

/* Of headers that repeat, the last one is applied last, so it wins: it is the newest. */
static const struct row {
	const char *dialect;
	struct slice header;
	void (*apply)(struct slice value, struct dialect_facts *f);
} rows[] = {
	{"native", SLICE_INIT("dlq-reason"), set_reason},
	{"native", SLICE_INIT("dlq-error-class"), set_error_class},
	{"native", SLICE_INIT("dlq-error-code"), set_error_code},
	{"native", SLICE_INIT("dlq-error-message"), set_error_message},
};

static void apply(const struct header *h, struct dialect_facts *f)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (slice_eq(h->key, rows[i].header)) {
			f->dialect = rows[i].dialect;
			rows[i].apply(h->value, f);
			return;
		}
	}
}

void dialect_read(struct slice headers, struct dialect_facts *ret)
{
	struct dialect_facts f = {
		.dialect = "unknown",
		.reason = REASON_RETRIES_EXHAUSTED,
		.upstream_attempts = -1,
	};
	struct header h;
	size_t pos = 0;

	while (headers_next(headers, &pos, &h)) {
		if (h.value.n) /* a null or empty one says nothing */
			apply(&h, &f);
	}
	/* A null class means that there is no error. */
	if (slice_is_null(f.error.class) && (f.error.code.p || f.error.message.p))
		f.error.class = SLICE_LIT("unknown");
	*ret = f;
}

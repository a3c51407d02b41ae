/*
 * A JSON payload to fields, by yajl: it hands numbers over as text, keeps its parse state on a heap
 * (so depth cannot overflow the stack) and takes its memory from where we say.
 */
#include "json_text.h"
#include "read_fields.h"

#include <yajl/yajl_gen.h>
#include <yajl/yajl_parse.h>

#define DEPTH_MAX 64

enum type { TYPE_NULL = 0, TYPE_BOOL = 1, TYPE_STRING = 2, TYPE_NUMBER = 4 };

static const struct field {
	size_t offset;	  /* in struct read_fields */
	unsigned accepts; /* types */
} fields[READ_FIELD_COUNT] = {
	[READ_METER_ID] = {offsetof(struct read_fields, meter_id), TYPE_STRING},
	[READ_READ_AT] = {offsetof(struct read_fields, read_at), TYPE_STRING},
	[READ_SEQUENCE] = {offsetof(struct read_fields, sequence), TYPE_STRING | TYPE_NUMBER},
	[READ_KWH] = {offsetof(struct read_fields, kwh), TYPE_STRING | TYPE_NUMBER},
	[READ_READING_TYPE] = {offsetof(struct read_fields, reading_type), TYPE_STRING},
	[READ_QUALITY] = {offsetof(struct read_fields, quality), TYPE_STRING},
};

struct parser {
	struct arena *arena;
	const yajl_alloc_funcs *funcs;
	const struct read_names *names;
	struct slice payload;
	struct read_fields *out;
	const struct field *field; /* whose value comes next; NULL: an attribute's */
	unsigned seen;		   /* a bit per field */
	unsigned depth;
	bool closed;	 /* the document has ended */
	const char *why; /* it was refused */
	yajl_gen gen;	 /* writes attributes; NULL before the first */
	uint8_t *attributes;
	size_t n_attributes;
};

/* --- yajl's memory: on the stack while that lasts, so that a read leaves no parser behind --- */

#define SCRATCH_BYTES 6144 /* parser, generator and the buffer for escapes in yajl 2.1 */
#define BLOCK_ALIGN 16

struct memory {
	struct arena *arena; /* takes what is left over */
	size_t used;
	_Alignas(BLOCK_ALIGN) uint8_t scratch[SCRATCH_BYTES];
};

/* The size stands before each block, for block_realloc. */
static void *block_alloc(void *ctx, size_t n)
{
	struct memory *m = ctx;
	size_t whole = BLOCK_ALIGN + ((n + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1));
	uint8_t *p;

	if (whole <= SCRATCH_BYTES - m->used) {
		p = m->scratch + m->used;
		m->used += whole;
	} else {
		p = arena_alloc(m->arena, whole);
	}
	memcpy(p, &n, sizeof(n));
	return p + BLOCK_ALIGN;
}

static void *block_realloc(void *ctx, void *old, size_t n)
{
	uint8_t *p = block_alloc(ctx, n);
	size_t old_n;

	if (!old)
		return p;
	memcpy(&old_n, (uint8_t *)old - BLOCK_ALIGN, sizeof(old_n));
	return memcpy(p, old, old_n < n ? old_n : n);
}

static void block_free(void *ctx, void *p)
{
	(void)ctx;
	(void)p;
}

/* --- attributes --- */

/*
 * What is written is never longer than what was read: numbers and literals are copied, and every
 * character that yajl_gen escapes had an escape at least as long. Were that ever wrong, the read
 * would be refused.
 */
static void print_attributes(void *ctx, const char *s, size_t n)
{
	struct parser *p = ctx;

	if (n > p->payload.n - p->n_attributes) {
		p->why = "attributes outgrow the payload";
		return;
	}
	memcpy(p->attributes + p->n_attributes, s, n);
	p->n_attributes += n;
}

static void open_attributes(struct parser *p)
{
	p->attributes = arena_alloc(p->arena, p->payload.n);
	p->gen = yajl_gen_alloc(p->funcs);
	yajl_gen_config(p->gen, yajl_gen_print_callback, print_attributes, p);
	yajl_gen_map_open(p->gen);
}

static void close_attributes(struct parser *p)
{
	yajl_gen_map_close(p->gen);
	p->out->attributes = slice_of(p->attributes, p->n_attributes);
}

/* --- yajl's callbacks: 1 goes on, 0 ends the parse --- */

static int refuse(struct parser *p, const char *why)
{
	p->why = why;
	return 0;
}

static struct slice name_of(const struct parser *p, const struct field *f)
{
	return read_name(p->names, (enum read_field)(f - fields));
}

static int refuse_type(struct parser *p, const struct field *f)
{
	return refuse(p, arena_printf(p->arena, "%.*s is not a %s", SLICE_FMT(name_of(p, f)),
				 f->accepts & TYPE_NUMBER ? "number or string" : "string"));
}

/* yajl points into the payload, or into a buffer that the next string overwrites. */
static struct slice keep(struct parser *p, const void *s, size_t n)
{
	uintptr_t at = (uintptr_t)s, from = (uintptr_t)p->payload.p;

	if (at >= from && at < from + p->payload.n)
		return slice_of(s, n);
	return arena_dup(p->arena, slice_of(s, n));
}

/* Whether the value at hand is not an attribute's: a known field's, or the whole document. */
static bool is_ours(const struct parser *p)
{
	return p->depth == 0 || p->field;
}

static int take(struct parser *p, enum type type, const void *s, size_t n)
{
	const struct field *f = p->field;
	struct slice *to;

	if (p->depth == 0)
		return refuse(p, "not a JSON object");
	p->field = NULL;
	if (type == TYPE_NULL)
		return 1; /* as good as absent */
	if (!(f->accepts & type))
		return refuse_type(p, f);
	to = (struct slice *)(void *)((char *)p->out + f->offset);
	*to = keep(p, s, n);
	return 1;
}

static int ok(yajl_gen_status status)
{
	return status == yajl_gen_status_ok;
}

static int on_null(void *ctx)
{
	struct parser *p = ctx;

	return is_ours(p) ? take(p, TYPE_NULL, NULL, 0) : ok(yajl_gen_null(p->gen));
}

static int on_boolean(void *ctx, int v)
{
	struct parser *p = ctx;

	return is_ours(p) ? take(p, TYPE_BOOL, NULL, 0) : ok(yajl_gen_bool(p->gen, v));
}

static int on_number(void *ctx, const char *s, size_t n)
{
	struct parser *p = ctx;

	return is_ours(p) ? take(p, TYPE_NUMBER, s, n) : ok(yajl_gen_number(p->gen, s, n));
}

static int on_string(void *ctx, const unsigned char *s, size_t n)
{
	struct parser *p = ctx;

	return is_ours(p) ? take(p, TYPE_STRING, s, n) : ok(yajl_gen_string(p->gen, s, n));
}

static bool enter(struct parser *p)
{
	if (p->field)
		return refuse_type(p, p->field);
	if (p->depth == DEPTH_MAX)
		return refuse(p, "nested deeper than 64 levels");
	p->depth++;
	return true;
}

static int on_start_map(void *ctx)
{
	struct parser *p = ctx;

	if (!enter(p))
		return 0;
	return p->depth == 1 || ok(yajl_gen_map_open(p->gen));
}

static int on_end_map(void *ctx)
{
	struct parser *p = ctx;

	p->closed = --p->depth == 0;
	return p->closed || ok(yajl_gen_map_close(p->gen));
}

static int on_start_array(void *ctx)
{
	struct parser *p = ctx;

	if (p->depth == 0)
		return refuse(p, "several reads");
	return enter(p) && ok(yajl_gen_array_open(p->gen));
}

static int on_end_array(void *ctx)
{
	struct parser *p = ctx;

	p->depth--;
	return ok(yajl_gen_array_close(p->gen));
}

static const struct field *field_named(const struct parser *p, struct slice name)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (slice_eq(name, name_of(p, &fields[i])))
			return &fields[i];
	}
	return NULL;
}

static int on_map_key(void *ctx, const unsigned char *s, size_t n)
{
	struct parser *p = ctx;
	unsigned bit;

	if (p->depth == 1)
		p->field = field_named(p, slice_of(s, n));
	if (!p->field) {
		if (!p->gen)
			open_attributes(p);
		return ok(yajl_gen_string(p->gen, s, n));
	}
	bit = 1u << (p->field - fields);
	if (p->seen & bit)
		return refuse(p, arena_printf(p->arena, "repeated field %.*s",
					 SLICE_FMT(name_of(p, p->field))));
	p->seen |= bit;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_map_key,
	.yajl_end_map = on_end_map,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end_array,
};

/* --- the parse --- */

static const char *refusal(struct parser *p, yajl_handle h)
{
	const char *text;

	if (p->why)
		return p->why;
	if (p->closed)
		return "more bytes after the JSON object";
	text = (const char *)yajl_get_error(h, /* verbose= */ 0, NULL, 0);
	return arena_printf(p->arena, "not JSON: %.*s (byte %zu)", (int)strcspn(text, "\n"), text,
		yajl_get_bytes_consumed(h));
}

static const char *parse(struct parser *p, yajl_alloc_funcs *funcs)
{
	yajl_handle h = yajl_alloc(&callbacks, funcs, p);

	yajl_config(h, yajl_dont_validate_strings, 1); /* done, and more strictly */
	if (yajl_parse(h, p->payload.p, p->payload.n) != yajl_status_ok ||
		yajl_complete_parse(h) != yajl_status_ok)
		return refusal(p, h);
	if (p->gen)
		close_attributes(p);
	return p->why;
}

const char *read_fields_from_json(struct arena *a, const struct read_names *names,
	struct slice payload, struct read_fields *ret)
{
	struct memory memory; /* not zeroed */
	yajl_alloc_funcs funcs = {block_alloc, block_realloc, block_free, &memory};
	struct read_fields out = {0};
	struct parser p = {
		.arena = a, .funcs = &funcs, .names = names, .payload = payload, .out = &out};
	const char *why = json_text_check(payload);

	if (why)
		return why;
	memory.arena = a;
	memory.used = 0;
	why = parse(&p, &funcs);
	if (!why)
		*ret = out;
	return why;
}

#include "wire.h"

#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void wire_fail(struct wire_reader *r, const char *name, const char *fmt, ...)
{
	size_t at = (size_t)(r->p - r->begin);
	char text[256];
	va_list ap;

	if (r->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(r->err, ERR_DATA, "%s.%s at byte %zu: %s", r->schema, name, at, text);
	r->failed = true;
	r->p = r->end; /* whatever is read next finds nothing */
}

static size_t bytes_left(const struct wire_reader *r)
{
	return (size_t)(r->end - r->p);
}

int64_t wire_read_long_slow(struct wire_reader *r, const char *name)
{
	uint64_t zigzag = 0;

	for (size_t i = 0; i < WIRE_LONG_BYTES; i++) {
		if (i == bytes_left(r)) {
			wire_fail(r, name, "the record ends inside a number");
			return 0;
		}
		if (i == WIRE_LONG_BYTES - 1 && r->p[i] > 1)
			break; /* nine times seven bits leave room for one */
		zigzag |= (uint64_t)(r->p[i] & 0x7f) << (7 * i);
		if (r->p[i] < 0x80) {
			r->p += i + 1;
			return (int64_t)(zigzag >> 1 ^ -(zigzag & 1));
		}
	}
	wire_fail(r, name, "a number of more than 64 bits");
	return 0;
}

static int64_t read_within(struct wire_reader *r, const char *name, int64_t min, int64_t max)
{
	const uint8_t *start = r->p;
	int64_t value = wire_read_long(r, name);

	if (r->failed || (value >= min && value <= max))
		return value;
	r->p = start;
	wire_fail(r, name, "%" PRId64 " is not within %" PRId64 " to %" PRId64, value, min, max);
	return 0;
}

int32_t wire_read_int(struct wire_reader *r, const char *name)
{
	return (int32_t)read_within(r, name, INT32_MIN, INT32_MAX);
}

uint32_t wire_read_count(struct wire_reader *r, const char *name)
{
	return (uint32_t)read_within(r, name, 0, INT32_MAX);
}

unsigned wire_read_enum(struct wire_reader *r, const char *name, unsigned symbols)
{
	return (unsigned)read_within(r, name, 0, (int64_t)symbols - 1);
}

bool wire_read_present(struct wire_reader *r, const char *name)
{
	return read_within(r, name, 0, 1) == 1;
}

struct slice wire_read_raw(struct wire_reader *r, const char *name, size_t n)
{
	struct slice s = slice_of(r->p, n);

	if (n > bytes_left(r)) {
		wire_fail(r, name, "%zu bytes wanted, %zu left", n, bytes_left(r));
		return SLICE_NULL;
	}
	r->p += n;
	return r->failed ? SLICE_NULL : s;
}

uint64_t wire_read_fixed64(struct wire_reader *r, const char *name)
{
	struct slice s = wire_read_raw(r, name, sizeof(uint64_t));
	uint64_t value = 0;

	if (!slice_is_null(s))
		memcpy(&value, s.p, sizeof(value));
	return be64toh(value);
}

/* A length or the size of a block: never more than is left, whatever is declared. */
static size_t read_size(struct wire_reader *r, const char *name)
{
	int64_t n = wire_read_long(r, name);

	if (n >= 0 && (uint64_t)n <= bytes_left(r))
		return (size_t)n;
	wire_fail(r, name, "%" PRId64 " bytes declared, %zu left", n, bytes_left(r));
	return 0;
}

struct slice wire_read_bytes(struct wire_reader *r, const char *name)
{
	size_t n = read_size(r, name);
	struct slice s = slice_of(r->p, n);

	if (r->failed)
		return SLICE_NULL;
	r->p += n;
	return s;
}

struct slice wire_read_optional(struct wire_reader *r, const char *name)
{
	return wire_read_present(r, name) ? wire_read_bytes(r, name) : SLICE_NULL;
}

int wire_read_end(struct wire_reader *r)
{
	if (r->p != r->end)
		wire_fail(r, "end", "%zu bytes too many", bytes_left(r));
	return r->failed ? ERR_DATA : 0;
}

/* A negative count is legal: its block's size in bytes follows, so that readers can skip it. */
static void read_block_head(struct wire_reader *r, struct wire_array *a, const char *name)
{
	int64_t count = wire_read_long(r, name);

	a->left = count < 0 ? -(uint64_t)count : (uint64_t)count;
	a->block_end = NULL;
	if (count < 0) {
		size_t size = read_size(r, name);

		a->block_end = r->p + size;
	}
	if (a->left > bytes_left(r) && a->left > a->weightless)
		wire_fail(r, name, "%" PRIu64 " items declared, %zu bytes left", a->left,
			bytes_left(r));
}

bool wire_array_next(struct wire_reader *r, struct wire_array *a, const char *name)
{
	if (a->left == 0) {
		if (a->block_end && a->block_end != r->p)
			wire_fail(r, name, "a block of another size than it declares");
		read_block_head(r, a, name);
		if (a->left == 0)
			return false;
	}
	a->left--;
	return !r->failed;
}

struct wire_writer wire_writer_new(struct arena *a, size_t room)
{
	uint8_t *p = arena_alloc(a, room);

	return (struct wire_writer){p, p, p + room};
}

struct slice wire_written(const struct wire_writer *w)
{
	return slice_of(w->begin, (size_t)(w->p - w->begin));
}

static void want_room(const struct wire_writer *w, size_t n)
{
	if (n > (size_t)(w->end - w->p))
		abort();
}

static uint64_t zigzag_of(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

size_t wire_long_size(int64_t value)
{
	int bits = 64 - __builtin_clzll(zigzag_of(value) | 1);

	return (size_t)(bits + 6) / 7;
}

void wire_write_long(struct wire_writer *w, int64_t value)
{
	uint64_t zigzag = zigzag_of(value);

	want_room(w, wire_long_size(value));
	for (; zigzag >= 0x80; zigzag >>= 7)
		*w->p++ = (uint8_t)(zigzag | 0x80);
	*w->p++ = (uint8_t)zigzag;
}

void wire_write_count(struct wire_writer *w, uint32_t value)
{
	wire_write_long(w, value < INT32_MAX ? (int64_t)value : INT32_MAX);
}

void wire_write_fixed64(struct wire_writer *w, uint64_t value)
{
	uint64_t big_endian = htobe64(value);

	wire_write_raw(w, slice_of(&big_endian, sizeof(big_endian)));
}

void wire_write_raw(struct wire_writer *w, struct slice s)
{
	if (!s.n)
		return;
	want_room(w, s.n);
	memcpy(w->p, s.p, s.n);
	w->p += s.n;
}

void wire_write_bytes(struct wire_writer *w, struct slice s)
{
	wire_write_long(w, (int64_t)s.n);
	wire_write_raw(w, s);
}

void wire_write_optional(struct wire_writer *w, struct slice s)
{
	wire_write_long(w, !slice_is_null(s));
	if (!slice_is_null(s))
		wire_write_bytes(w, s);
}

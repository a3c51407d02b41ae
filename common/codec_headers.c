#include "codec_parts.h"
#include "headers_cut.h"

/* Of the bound, what is not items: their count before them, and the end after them. */
#define HEADERS_COUNT_BYTES 3
_Static_assert(RECORD_HEADERS_BYTES / 2 < 1 << 20, "an item takes two bytes, a count three");
#define HEADERS_ROOM (RECORD_HEADERS_BYTES - HEADERS_COUNT_BYTES - 1)

static struct header header_read(struct wire_reader *r)
{
	struct header h;

	h.key = wire_read_bytes(r, "headers.key");
	h.value = wire_read_optional(r, "headers.value");
	return h;
}

struct slice headers_read(struct wire_reader *r)
{
	const uint8_t *start = r->p;
	struct wire_array items = {0};

	while (wire_array_next(r, &items, "headers"))
		header_read(r);
	return slice_of(start, (size_t)(r->p - start));
}

void headers_write(struct wire_writer *w, struct slice headers)
{
	if (headers.n)
		wire_write_raw(w, headers);
	else
		wire_write_long(w, 0);
}

static size_t total_size(const struct header *v, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += header_size(&v[i]);
	return total;
}

static size_t total_bytes(const struct header *v, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += v[i].key.n + v[i].value.n;
	return total;
}

/* Puts the block's count right before its first item; the end alone is the array of no items. */
static struct slice with_count(const uint8_t *end, uint8_t *items, size_t n)
{
	uint8_t *begin = items - (n ? wire_long_size((int64_t)n) : 0);
	struct wire_writer w = {begin, begin, items};

	if (n)
		wire_write_long(&w, (int64_t)n);
	return slice_of(begin, (size_t)(end - begin));
}

static struct slice encode(struct arena *a, const struct header *v, size_t n, size_t size)
{
	struct wire_writer w = wire_writer_new(a, HEADERS_COUNT_BYTES + size + 1);
	uint8_t *items = w.p += HEADERS_COUNT_BYTES;

	for (size_t i = 0; i < n; i++) {
		wire_write_bytes(&w, v[i].key);
		wire_write_optional(&w, v[i].value);
	}
	wire_write_long(&w, 0);
	return with_count(w.p, items, n);
}

struct slice headers_encode(struct arena *a, const struct header *v, size_t n, uint32_t *ret_cut)
{
	size_t size = total_size(v, n), bytes, cut;

	*ret_cut = 0;
	if (size <= HEADERS_ROOM)
		return encode(a, v, n, size);
	bytes = total_bytes(v, n);
	v = headers_cut(a, v, n, HEADERS_ROOM, &n);
	cut = bytes - total_bytes(v, n);
	*ret_cut = cut < UINT32_MAX ? (uint32_t)cut : UINT32_MAX;
	return encode(a, v, n, total_size(v, n));
}

/* *pos holds the offset (low half) and how many items the block has left (high half). */
_Static_assert(sizeof(size_t) == 8, "a position is two 32-bit numbers");

bool headers_next(struct slice headers, size_t *pos, struct header *ret)
{
	struct wire_reader r = {headers.p, headers.p, headers.p, "headers", NULL, false};
	struct wire_array items = {.left = *pos >> 32};
	struct header h;

	if (!headers.n)
		return false;
	r.p += (uint32_t)*pos;
	r.end += headers.n;
	if (!wire_array_next(&r, &items, "headers"))
		return false;
	h = header_read(&r);
	if (r.failed)
		return false;
	*pos = items.left << 32 | (size_t)(r.p - r.begin);
	*ret = h;
	return true;
}

struct slice headers_last(struct slice headers, const char *name)
{
	struct slice wanted = slice_str(name), last = SLICE_NULL;
	struct header h;
	size_t pos = 0;

	while (headers_next(headers, &pos, &h))
		if (slice_eq(h.key, wanted))
			last = h.value;
	return last;
}

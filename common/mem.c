#include "mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK_BYTES ((size_t)256 * 1024)
#define ALIGN 16u
/* Fresh memory costs more than the work done in it: page faults. 16 MiB stay with an arena. */
#define KEEP_CHUNKS 64u

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, cap;
	_Alignas(ALIGN) uint8_t bytes[];
};

void mem_exhausted(const char *why)
{
	fprintf(stderr, "meter-dlq: %s\n", why);
	abort();
}

void *mem_zalloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		mem_exhausted("out of memory");
	return p;
}

void *mem_realloc(void *p, size_t n)
{
	void *q = realloc(p, n ? n : 1);

	if (!q)
		mem_exhausted("out of memory");
	return q;
}

char *mem_strdup(const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(mem_zalloc(n), s, n);
}

static struct arena_chunk *chunk_new(struct arena *a, size_t n)
{
	struct arena_chunk *c = a->spare;

	if (c && n <= CHUNK_BYTES) {
		a->spare = c->next;
	} else {
		c = mem_realloc(NULL, sizeof(*c) + (n > CHUNK_BYTES ? n : CHUNK_BYTES));
		c->used = 0;
		c->cap = n > CHUNK_BYTES ? n : CHUNK_BYTES;
	}
	c->next = a->chunk;
	return c;
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_chunk *c = a->chunk;
	void *p;

	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!c || c->cap - c->used < n)
		c = a->chunk = chunk_new(a, n);
	p = c->bytes + c->used;
	c->used += n;
	a->used += n;
	return p;
}

struct slice arena_dup(struct arena *a, struct slice s)
{
	if (slice_is_null(s))
		return s;
	return slice_of(memcpy(arena_alloc(a, s.n), s.p, s.n), s.n);
}

char *arena_cstr(struct arena *a, struct slice s)
{
	char *p = arena_alloc(a, s.n + 1);

	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
	vsnprintf(p, (size_t)(n < 0 ? 0 : n) + 1, fmt, again);
	va_end(again);
	return p;
}

static void chunks_free(struct arena_chunk *c)
{
	while (c) {
		struct arena_chunk *next = c->next;

		free(c);
		c = next;
	}
}

static void keep_or_free(struct arena *a, struct arena_chunk *c, size_t *kept)
{
	if (c->cap > CHUNK_BYTES || *kept == KEEP_CHUNKS) {
		free(c);
		return;
	}
	c->used = 0;
	c->next = a->spare;
	a->spare = c;
	++*kept;
}

void arena_reset(struct arena *a)
{
	size_t kept = 0;

	for (const struct arena_chunk *c = a->spare; c; c = c->next)
		kept++;
	for (struct arena_chunk *c = a->chunk, *next; c; c = next) {
		next = c->next;
		keep_or_free(a, c, &kept);
	}
	a->chunk = NULL;
	a->used = 0;
}

void arena_free(struct arena *a)
{
	chunks_free(a->chunk);
	chunks_free(a->spare);
	*a = (struct arena){0};
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
	if (b->cap - b->n < n) {
		size_t cap = b->cap ? b->cap * 2 : 256;

		while (cap - b->n < n)
			cap *= 2;
		b->p = mem_realloc(b->p, cap);
		b->cap = cap;
	}
	return b->p + b->n;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	if (n)
		memcpy(buf_reserve(b, n), p, n);
	b->n += n;
}

void buf_add_byte(struct buf *b, uint8_t c)
{
	buf_add(b, &c, 1);
}

void buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_add_i64(struct buf *b, int64_t v)
{
	uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	uint8_t text[20];
	size_t i = sizeof(text);

	do {
		text[--i] = (uint8_t)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (v < 0)
		text[--i] = '-';
	buf_add(b, text + i, sizeof(text) - i);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n > 0) {
		vsnprintf((char *)buf_reserve(b, (size_t)n + 1), (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	}
	va_end(again);
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){0};
}

/*
 * mem.h: allocation. Running out of memory ends the process: every state that matters is in Kafka
 * and Postgres, so dying is always safe, and half-handled allocation failures are not.
 * Sizes that input can drive are bounded by the callers.
 */
#ifndef COMMON_MEM_H
#define COMMON_MEM_H

#include "slice.h"

/* Says why and ends the process. */
__attribute__((noreturn)) void mem_exhausted(const char *why);
/* Zeroed; the caller frees with free(). */
__attribute__((malloc, returns_nonnull)) void *mem_zalloc(size_t n);
__attribute__((returns_nonnull)) void *mem_realloc(void *p, size_t n);
__attribute__((malloc, returns_nonnull)) char *mem_strdup(const char *s);

/* For __attribute__((cleanup(...))) on a char * or any malloc'd pointer. */
static inline void mem_freep(void *pp)
{
	void **p = pp;

	__builtin_free(*p);
	*p = NULL;
}
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define AUTO_FREE CLEANUP(mem_freep)
/* Hands a pointer over and forgets it. */
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/*
 * A bump arena: what one batch allocates, freed at once. Memory keeps its address until
 * arena_reset. One owner, one thread.
 */
struct arena {
	struct arena_chunk *chunk; /* newest first */
	struct arena_chunk *spare; /* kept by arena_reset */
	size_t used;		   /* bytes handed out since the last reset */
};

/* Aligned to 16, not zeroed. n may be 0. */
__attribute__((returns_nonnull)) void *arena_alloc(struct arena *a, size_t n);
struct slice arena_dup(struct arena *a, struct slice s); /* null stays null */
char *arena_cstr(struct arena *a, struct slice s);	 /* NUL-terminated copy */
__attribute__((format(printf, 2, 3))) char *arena_printf(struct arena *a, const char *fmt, ...);
void arena_reset(struct arena *a); /* keeps some memory for the next use */
void arena_free(struct arena *a);

/* A growable byte buffer. Zero-initialise; buf_free releases. */
struct buf {
	uint8_t *p;
	size_t n, cap;
};

/* Room for n more bytes; the pointer is valid until the next call. Does not advance b->n. */
uint8_t *buf_reserve(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_add_byte(struct buf *b, uint8_t c);
void buf_add_str(struct buf *b, const char *s);
void buf_add_i64(struct buf *b, int64_t v); /* decimal digits */
__attribute__((format(printf, 2, 3))) void buf_printf(struct buf *b, const char *fmt, ...);
void buf_free(struct buf *b);

#endif

/* slice.h: a borrowed run of bytes. p == NULL is "null", which is not the same as "empty". */
#ifndef COMMON_SLICE_H
#define COMMON_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const uint8_t *p; /* NULL: null (a tombstone, an absent field) */
	size_t n;	  /* bytes */
};

#define SLICE_NULL ((struct slice){NULL, 0})
#define SLICE_LIT(s) ((struct slice){(const uint8_t *)(s), sizeof(s) - 1})
/* The same for a static table, where C wants a constant. */
#define SLICE_INIT(s)                                                                              \
	{                                                                                          \
		(const uint8_t *)(s), sizeof(s) - 1                                                \
	}
/* For printf("%.*s"). */
#define SLICE_FMT(s)                                                                               \
	(int)((s).n > 1024 ? 1024 : (s).n), (const char *)((s).p ? (s).p : (const uint8_t *)"")

static inline struct slice slice_of(const void *p, size_t n)
{
	return (struct slice){p, n};
}

static inline struct slice slice_str(const char *s)
{
	return s ? slice_of(s, strlen(s)) : SLICE_NULL;
}

static inline bool slice_is_null(struct slice s)
{
	return s.p == NULL;
}

/* Null equals only null. */
static inline bool slice_eq(struct slice a, struct slice b)
{
	if (!a.p || !b.p)
		return a.p == b.p;
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static inline bool slice_begins(struct slice s, struct slice prefix)
{
	return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

/* Byte order, shorter first on a tie; the order in which rows are locked in Postgres. */
static inline int slice_cmp(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

#endif

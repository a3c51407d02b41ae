/* utf8.h: UTF-8 as RFC 3629 has it: no overlong forms, no surrogates. Pure; any thread. */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include "mem.h"

/* Whether s is well-formed UTF-8. The null and the empty slice are; NUL is a character. */
bool utf8_valid(struct slice s);

/* Whether s is well-formed UTF-8 without a NUL: what a Postgres text can hold. */
bool utf8_text(struct slice s);

/*
 * s as text of at most max bytes that ends at a character; ill-formed bytes and NULs become U+FFFD.
 * Borrows from s where nothing had to be replaced, else in the arena. Adds the bytes of s that were
 * left out to *cut. Null stays null.
 */
struct slice utf8_clean(struct arena *a, struct slice s, size_t max, uint32_t *cut);

#endif

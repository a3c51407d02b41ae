/* visible.h: any bytes as text that a terminal can be given. Pure; any thread. */
#ifndef COMMON_VISIBLE_H
#define COMMON_VISIBLE_H

#include "mem.h"

/*
 * s as one line of UTF-8: control characters (C0, C1, DEL) and those that turn the direction of
 * text are written as escapes (\n, \x1b, \u202e), what is no UTF-8 as U+FFFD. At most max bytes of
 * s, then "...". Null is "-". In the arena.
 */
const char *visible(struct arena *a, struct slice s, size_t max);

/* How many characters it has. */
size_t visible_width(const char *text);
size_t visible_width_n(const char *text, size_t n); /* its first n bytes */

#endif

/* json_text.h: what must hold of a JSON text before yajl sees it. Pure; any thread. */
#ifndef COMMON_JSON_TEXT_H
#define COMMON_JSON_TEXT_H

#include "slice.h"

/*
 * NULL, or why text cannot be a payload: null, empty, not UTF-8, a NUL (raw or escaped), or an
 * escaped half of a surrogate pair, which no UTF-8 text can hold. Not whether it is JSON.
 */
const char *json_text_check(struct slice text);

#endif

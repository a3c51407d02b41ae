/*
 * http_status.h: the HTTP status in the class or the text of an exception, as HTTP clients put it
 * there. Pure; any thread.
 */
#ifndef COMMON_HTTP_STATUS_H
#define COMMON_HTTP_STATUS_H

#include "slice.h"

/* Whether text is a status: three digits, 100 to 599. */
bool http_status_valid(struct slice text);

/* Whether the request will fail for ever: 4xx, but for 408 (time-out) and 429 (too many). */
bool http_status_permanent(struct slice status);

/* Its three digits; null where neither tells. class, message: null where unknown. */
struct slice http_status_find(struct slice class, struct slice message);

#endif

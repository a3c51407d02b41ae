/* trace.h: the trace that a dead letter belongs to. Pure; any thread. */
#ifndef COMMON_TRACE_H
#define COMMON_TRACE_H

#include "slice.h"

/* The 32 hex digits of the trace id in the newest header `traceparent` (W3C Trace Context, 3.2.2);
 * null where there is none, or one that is not valid. headers: encoded, see codec.h. Borrowed. */
struct slice trace_id(struct slice headers);

#endif

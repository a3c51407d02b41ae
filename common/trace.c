#include "trace.h"

#include "codec.h"

#define VERSION_BYTES 2
#define ID_BYTES 32
#define PARENT_BYTES 16
#define FLAGS_BYTES 2
#define ID_AT (VERSION_BYTES + 1)
#define PARENT_AT (ID_AT + ID_BYTES + 1)
#define FLAGS_AT (PARENT_AT + PARENT_BYTES + 1)
#define ALL_BYTES (FLAGS_AT + FLAGS_BYTES)

/* Lower-case hex digits; all zero is the invalid id. */
static bool hex(const uint8_t *p, size_t n, bool *ret_zero)
{
	*ret_zero = true;
	for (size_t i = 0; i < n; i++) {
		if (!(p[i] >= '0' && p[i] <= '9') && !(p[i] >= 'a' && p[i] <= 'f'))
			return false;
		*ret_zero &= p[i] == '0';
	}
	return true;
}

struct slice trace_id(struct slice headers)
{
	struct slice s = headers_last(headers, "traceparent");
	bool zero, no_trace, no_parent;

	/* A later version may go on behind a dash. */
	if (s.n < ALL_BYTES || (s.n > ALL_BYTES && s.p[ALL_BYTES] != '-') ||
		s.p[ID_AT - 1] != '-' || s.p[PARENT_AT - 1] != '-' || s.p[FLAGS_AT - 1] != '-')
		return SLICE_NULL;
	if (!hex(s.p, VERSION_BYTES, &zero) || !hex(s.p + ID_AT, ID_BYTES, &no_trace) ||
		!hex(s.p + PARENT_AT, PARENT_BYTES, &no_parent) ||
		!hex(s.p + FLAGS_AT, FLAGS_BYTES, &zero) || no_trace || no_parent)
		return SLICE_NULL;
	return slice_of(s.p + ID_AT, ID_BYTES);
}

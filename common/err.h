/*
 * err.h: what went wrong, for the caller (class) and for people (text).
 *
 * Functions that can fail return 0 or a negative enum err_class and fill *err. The outcome of a
 * single read is never an error: see outcome.h. The text is for people, and is never parsed.
 */
#ifndef COMMON_ERR_H
#define COMMON_ERR_H

enum err_class {
	ERR_INTERRUPTED = -1, /* the group changed: go back to the loop */
	ERR_CONFIG = -2,      /* the user must change something: exit 2 */
	ERR_UNREACHABLE = -3, /* Kafka or Postgres is away: try again, or exit 3 */
	ERR_FENCED = -4,      /* another process has our identity: exit 5 */
	ERR_DATA = -5,	      /* bytes that break the format they claim */
	ERR_RANGE = -6,	      /* a position that the log no longer, or not yet, holds */
	ERR_INTERNAL = -7,    /* a bug, or a state we do not understand: exit 5 */
	ERR_CRASH = -8,	      /* simulator only: the process died here */
};

struct err {
	enum err_class class;
	char text[512];
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* Fills *err (which may be NULL) and returns class. */
__attribute__((format(printf, 3, 4))) int err_set(
	struct err *err, enum err_class class, const char *fmt, ...);

/* Puts "what: " before the text and returns the class unchanged. */
__attribute__((format(printf, 2, 3))) int err_prefix(struct err *err, const char *fmt, ...);

#endif

#include "err.h"

#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *err, enum err_class class, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return class;
	err->class = class;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return class;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char tail[sizeof(err->text)];
	va_list ap;
	int n;

	snprintf(tail, sizeof(tail), "%s", err->text);
	va_start(ap, fmt);
	n = vsnprintf(err->text, sizeof(err->text) / 2, fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(err->text) / 2)
		n = sizeof(err->text) / 2 - 1;
	snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %.253s", tail);
	return err->class;
}

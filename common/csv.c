#include "csv.h"

/* RFC 4180, section 2.6 and 2.7. A blank at an end is quoted as some readers drop it. */
static bool needs_quotes(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (strchr("\",\r\n", s.p[i]))
			return true; /* NUL too: strchr finds the string's end */
	return s.n && (s.p[0] == ' ' || s.p[s.n - 1] == ' ');
}

void csv_add(struct csv *csv, struct slice text)
{
	if (csv->begun)
		buf_add_byte(&csv->out, ',');
	csv->begun = true;
	if (!needs_quotes(text)) {
		buf_add(&csv->out, text.p, text.n);
		return;
	}
	buf_add_byte(&csv->out, '"');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"')
			buf_add_byte(&csv->out, '"');
		buf_add_byte(&csv->out, text.p[i]);
	}
	buf_add_byte(&csv->out, '"');
}

void csv_add_text(struct csv *csv, const char *text)
{
	csv_add(csv, slice_str(text));
}

void csv_add_number(struct csv *csv, int64_t n)
{
	if (csv->begun)
		buf_add_byte(&csv->out, ',');
	csv->begun = true;
	buf_add_i64(&csv->out, n);
}

void csv_end_row(struct csv *csv)
{
	buf_add_str(&csv->out, "\r\n");
	csv->begun = false;
}

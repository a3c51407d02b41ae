#include "output.h"

#include "instant.h"
#include "visible.h"

#include <stdio.h>

void output_json(json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

void output_csv(struct csv *csv)
{
	fwrite(csv->out.p, 1, csv->out.n, stdout);
	csv->out.n = 0;
}

json_t *output_instant(int64_t us)
{
	char text[INSTANT_TEXT_BYTES];

	instant_format(us, text);
	return json_string(text);
}

void output_last_column(int columns, const char *text)
{
	bool fits = columns + (int)visible_width(text) <= OUTPUT_COLUMNS;

	printf("%s%s\n", fits ? "" : "\n  ", text);
}

void output_wrapped(const char *prefix, const char *text, int indent)
{
	size_t column = visible_width(prefix);

	printf("%s", prefix);
	for (const char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " "), width = visible_width_n(p, n);

		if (column > (size_t)indent && column + 1 + width > OUTPUT_COLUMNS) {
			printf("\n%*s", indent, "");
			column = (size_t)indent;
		} else if (p > text) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)n, p);
		column += width;
		p += n;
	}
	putchar('\n');
}

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

void output_wrapped(const char *label, const char *text, int indent)
{
	int column = printf("%*s%s:", indent, "", label);

	for (const char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " "), width = 0;

		for (size_t i = 0; i < n; i++)
			width += ((uint8_t)p[i] & 0xC0) != 0x80;
		if (column + 1 + (int)width > OUTPUT_COLUMNS)
			column = printf("\n%*s", indent + 1, "") - 1;
		column += printf(" %.*s", (int)n, p) - (int)(n - width);
		p += n;
	}
	putchar('\n');
}

/* README's list of metrics, from the table. */
#include "metrics_table.h"

static void add_label(const struct family *f, struct buf *out)
{
	const char *values = f->values ? f->values : "";

	if (!f->label[0])
		return;
	buf_printf(out, "`%s`%s", f->label, *values ? ": " : "");
	for (; *values; values++)
		if (*values == ' ')
			buf_add_str(out, ", ");
		else
			buf_add_byte(out, (uint8_t)*values);
}

void metrics_help_markdown(struct buf *out)
{
	buf_add_str(out, "| metric | type | label | meaning |\n|---|---|---|---|\n");
	for (size_t id = 0; id < METRIC_COUNT; id++) {
		const struct family *f = &metric_families[id];

		buf_printf(out, "| `%s` | %s | ", f->name, metric_type_name(f->type));
		add_label(f, out);
		buf_printf(out, " | %s |\n", f->help);
	}
}

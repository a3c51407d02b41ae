/* avro_fixture.h: reads the files that tests/support/make_avro_fixtures.py has written. */
#ifndef TESTS_AVRO_FIXTURE_H
#define TESTS_AVRO_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "avro_schema.h"
#include "framing.h"
#include "read_fields.h"

#define FIXTURE_COLUMNS 10

struct fixture {
	FILE *file;
	char line[16384];
	const char *column[FIXTURE_COLUMNS]; /* NULL beyond the last */
};

static inline struct fixture *fixture_open(const char *path)
{
	struct fixture *f = mem_zalloc(sizeof(*f));

	f->file = fopen(path, "r");
	cr_assert(f->file, "%s", path);
	return f;
}

static inline bool fixture_next(struct fixture *f)
{
	char *rest = f->line;

	memset(f->column, 0, sizeof(f->column));
	if (!fgets(f->line, sizeof(f->line), f->file))
		return false;
	cr_assert(strchr(f->line, '\n'), "a line is too long");
	f->line[strcspn(f->line, "\n")] = '\0';
	for (size_t i = 0; rest && i < FIXTURE_COLUMNS; i++)
		f->column[i] = strsep(&rest, "\t");
	return true;
}

static inline void fixture_close(struct fixture *f)
{
	fclose(f->file);
	free(f);
}

static inline struct slice unhex(struct arena *a, const char *hex)
{
	size_t n = strlen(hex) / 2;
	uint8_t *p = arena_alloc(a, n);

	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		cr_assert_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
		p[i] = (uint8_t)byte;
	}
	return slice_of(p, n);
}

static inline struct avro_schema *schema_of(const char *text)
{
	struct avro_schema *schema;
	struct err err;

	cr_assert_eq(
		avro_schema_parse(slice_str(text), &schema, &err), 0, "%s: %s", err.text, text);
	return schema;
}

/* Decodes a payload that is all body. */
static inline const char *fields_of(struct arena *a, const struct avro_schema *schema,
	struct slice payload, struct read_fields *ret)
{
	static const struct read_names ours;
	const struct framing framing = {
		FRAMING_SCHEMA, {.kind = SCHEMA_BY_ID, .number = 7}, payload};

	return read_fields_from_avro(a, &ours, schema, &framing, payload, ret);
}

#endif

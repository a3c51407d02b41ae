/* text_file.h: files that a test compares with the code. Everything fails the test where it fails.
 */
#ifndef TESTS_UNIT_TEXT_FILE_H
#define TESTS_UNIT_TEXT_FILE_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "mem.h"

/* The whole file; the caller frees. */
static inline char *text_file(const char *path)
{
	CLEANUP(buf_free) struct buf b = {0};
	FILE *f = fopen(path, "re");
	size_t n;

	cr_assert_not_null(f, "%s", path);
	while ((n = fread(buf_reserve(&b, 4096), 1, 4096, f)) > 0)
		b.n += n;
	fclose(f);
	buf_add_byte(&b, '\0');
	return (char *)TAKE_PTR(b.p);
}

/* That README has, between its markers of that name, what `meter-dlq FLAG` prints: write's text. */
static inline void assert_readme_section(
	const char *name, const char *flag, void (*write)(struct buf *))
{
	AUTO_FREE char *readme = text_file(SCHEMAS_DIR "/../README.md");
	CLEANUP(buf_free) struct buf section = {0};

	buf_printf(&section, "<!-- %s:begin -->\n", name);
	write(&section);
	buf_printf(&section, "<!-- %s:end -->\n", name);
	buf_add_byte(&section, '\0');
	cr_assert_not_null(strstr(readme, (char *)section.p),
		"put the output of `meter-dlq %s` between README's markers", flag);
}

#endif

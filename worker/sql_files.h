/* sql_files.h: the files of schemas/sql, in the order of their numbers; compiled in by CMake. */
#ifndef WORKER_SQL_FILES_H
#define WORKER_SQL_FILES_H

#include <stddef.h>

struct sql_file {
	const char *name, *text;
};
extern const struct sql_file sql_files[];
extern const size_t sql_files_n;

#endif

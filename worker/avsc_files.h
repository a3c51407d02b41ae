/* avsc_files.h: the files of schemas/avro; compiled in by CMake. */
#ifndef WORKER_AVSC_FILES_H
#define WORKER_AVSC_FILES_H

#include <stddef.h>

struct avsc_file {
	const char *name, *text; /* "meter_read.avsc" */
};
extern const struct avsc_file avsc_files[];
extern const size_t avsc_files_n;

#endif

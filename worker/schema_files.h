/* schema_files.h: schemas from files, and the ones of schemas/avro, which are compiled in. */
#ifndef WORKER_SCHEMA_FILES_H
#define WORKER_SCHEMA_FILES_H

#include "config.h"
#include "schema_cache.h"

/* The text of one of ours, "meter_read.avsc", which must be there. */
const char *schema_file_text(const char *name);

/*
 * Pins our own schema of a read and those of schema.files: by fingerprint, and by id where one is
 * given. ERR_CONFIG names the file that is wrong.
 */
MUST_CHECK int schema_files_load(
	struct schema_cache *cache, const struct config *config, struct err *err);

#endif

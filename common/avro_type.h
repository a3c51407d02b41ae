/* avro_type.h: the logical type of a type that avro_schema.c parses. Pure; any thread. */
#ifndef COMMON_AVRO_TYPE_H
#define COMMON_AVRO_TYPE_H

#include "avro_schema.h"

#include <jansson.h>

/*
 * Sets node->logical, and scale, by the attributes in json of node's type. NULL, or why the schema
 * is of no use, in words.
 */
const char *avro_logical_parse(const json_t *json, struct avro_node *node);

#endif

/* record_json.h: our records as JSON for people and jq: fields as in schemas/avro, bytes as text
 * where they are UTF-8 and else {"b64": "..."}, times as RFC 3339. */
#ifndef WORKER_RECORD_JSON_H
#define WORKER_RECORD_JSON_H

#include "meter_read.h"
#include "record.h"

#include <jansson.h>

/* A read as decoded: amount and attributes as text, so that no digit is lost. */
json_t *meter_read_json(const struct meter_read *r);
/* The caller owns the result. */
json_t *record_json(const struct record *r);
json_t *parked_json(const struct parked *p);

#endif

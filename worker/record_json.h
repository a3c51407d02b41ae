/* record_json.h: our records as JSON for people and jq: fields as in schemas/avro, bytes as text
 * where they are UTF-8 and else {"b64": "..."}, times as RFC 3339. */
#ifndef WORKER_RECORD_JSON_H
#define WORKER_RECORD_JSON_H

#include "record.h"

#include <jansson.h>

/* The caller owns the result. */
json_t *record_json(const struct record *r);
json_t *parked_json(const struct parked *p);

#endif

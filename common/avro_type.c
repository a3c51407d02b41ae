#include "avro_type.h"

static const char *const types[] = {
	[AVRO_TYPE_NULL] = "null",
	[AVRO_TYPE_BOOLEAN] = "boolean",
	[AVRO_TYPE_INT] = "int",
	[AVRO_TYPE_LONG] = "long",
	[AVRO_TYPE_FLOAT] = "float",
	[AVRO_TYPE_DOUBLE] = "double",
	[AVRO_TYPE_BYTES] = "bytes",
	[AVRO_TYPE_STRING] = "string",
	[AVRO_TYPE_RECORD] = "record",
	[AVRO_TYPE_ENUM] = "enum",
	[AVRO_TYPE_ARRAY] = "array",
	[AVRO_TYPE_MAP] = "map",
	[AVRO_TYPE_FIXED] = "fixed",
	[AVRO_TYPE_UNION] = "union",
};

const char *avro_type_name(enum avro_type t)
{
	return types[t];
}

#define ON(type) (1u << AVRO_TYPE_##type)

static const struct {
	const char *name;
	unsigned on; /* types, as bits */
} logicals[] = {
	[AVRO_LOGICAL_NONE] = {"", 0},
	[AVRO_LOGICAL_DECIMAL] = {"decimal", ON(BYTES) | ON(FIXED)},
	[AVRO_LOGICAL_UUID] = {"uuid", ON(STRING) | ON(FIXED)},
	[AVRO_LOGICAL_DATE] = {"date", ON(INT)},
	[AVRO_LOGICAL_TIME_MILLIS] = {"time-millis", ON(INT)},
	[AVRO_LOGICAL_TIME_MICROS] = {"time-micros", ON(LONG)},
	[AVRO_LOGICAL_TIMESTAMP_MILLIS] = {"timestamp-millis", ON(LONG)},
	[AVRO_LOGICAL_TIMESTAMP_MICROS] = {"timestamp-micros", ON(LONG)},
	[AVRO_LOGICAL_TIMESTAMP_NANOS] = {"timestamp-nanos", ON(LONG)},
	[AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS] = {"local-timestamp-millis", ON(LONG)},
	[AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS] = {"local-timestamp-micros", ON(LONG)},
	[AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS] = {"local-timestamp-nanos", ON(LONG)},
};

const char *avro_logical_name(enum avro_logical l)
{
	return logicals[l].name;
}

/*
 * A precision beyond what a fixed can hold would also be invalid. But the digits are there,
 * whatever the schema says of their number, and not every writer looks.
 */
static const char *parse_decimal(const json_t *json, struct avro_node *node)
{
	const json_t *precision = json_object_get(json, "precision");
	const json_t *scale = json_object_get(json, "scale");
	json_int_t digits = json_integer_value(precision), after_point = json_integer_value(scale);

	if (!json_is_integer(precision) || digits < 1 || (scale && !json_is_integer(scale)) ||
		after_point < 0 || after_point > digits)
		return NULL;
	if (after_point > AVRO_SCALE_MAX)
		return "a decimal of more than 16383 digits after the point";
	node->logical = AVRO_LOGICAL_DECIMAL;
	node->scale = (uint32_t)after_point;
	return NULL;
}

const char *avro_logical_parse(const json_t *json, struct avro_node *node)
{
	const char *name = json_string_value(json_object_get(json, "logicalType"));

	for (size_t i = AVRO_LOGICAL_DECIMAL; name && i < ARRAY_LEN(logicals); i++) {
		if (strcmp(name, logicals[i].name) != 0 || !(logicals[i].on & 1u << node->type))
			continue;
		if (i == AVRO_LOGICAL_DECIMAL)
			return parse_decimal(json, node);
		if (i != AVRO_LOGICAL_UUID || node->type == AVRO_TYPE_STRING || node->size == 16)
			node->logical = (enum avro_logical)i;
	}
	return NULL;
}

#include "payload.h"

#include "framing.h"

static struct schema_answer find(const struct schema_source *schemas, const struct schema_ref *ref)
{
	if (!schemas->find)
		return (struct schema_answer){
			.state = SCHEMA_UNKNOWN, .why = "no schema registry is configured"};
	return schemas->find(schemas->ctx, ref);
}

static const char *read_framed(struct arena *a, const struct read_names *names,
	const struct schema_source *schemas, const struct framing *f, struct slice payload,
	struct read_fields *ret, bool *ret_wait)
{
	struct schema_answer answer = find(schemas, &f->schema);
	char name[SCHEMA_REF_TEXT_BYTES];

	switch (answer.state) {
	case SCHEMA_FOUND:
		return read_fields_from_avro(a, names, answer.avro, f, payload, ret);
	case SCHEMA_IS_JSON:
		return read_fields_from_json(a, names, f->body, ret);
	case SCHEMA_UNKNOWN:
		return arena_printf(a, "%s: %s", schema_ref_text(&f->schema, name),
			answer.why ? answer.why : "unknown");
	case SCHEMA_AWAY:
		break;
	}
	*ret_wait = true;
	return arena_printf(a, "%s is not to be had now", schema_ref_text(&f->schema, name));
}

const char *payload_read_fields(struct arena *a, const struct read_names *names,
	const struct schema_source *schemas, struct slice headers, struct slice payload,
	struct read_fields *ret, bool *ret_wait)
{
	struct framing f;
	const char *why = framing_detect(headers, payload, &f);

	*ret_wait = false;
	if (why)
		return why;
	if (f.kind == FRAMING_NONE)
		return read_fields_from_json(a, names, payload, ret);
	return read_framed(a, names, schemas, &f, payload, ret, ret_wait);
}

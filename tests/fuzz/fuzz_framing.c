/* Input: what the source of schemas answers, length and value of the header that names the schema,
 * the payload. */
#include "avro_schema.h"
#include "codec.h"
#include "framing.h"
#include "fuzz.h"
#include "payload.h"

#define SCHEMA                                                                                     \
	"{\"type\":\"record\",\"name\":\"R\",\"fields\":["                                         \
	"{\"name\":\"kwh\",\"type\":[\"null\",\"string\",{\"type\":\"bytes\","                     \
	"\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}]},"                              \
	"{\"name\":\"other\",\"type\":{\"type\":\"map\",\"values\":\"double\"}}]}"

struct source {
	struct schema_answer answer;
	struct schema_ref asked;
	int asks;
};

static struct schema_answer find(void *ctx, const struct schema_ref *ref)
{
	struct source *s = ctx;

	s->asked = *ref;
	s->asks++;
	return s->answer;
}

static struct schema_answer answer(unsigned which)
{
	static struct avro_schema *schema;

	if (!schema)
		MUST(!avro_schema_parse(SLICE_LIT(SCHEMA), &schema, NULL));
	return (struct schema_answer){(enum schema_state)(which % (SCHEMA_AWAY + 1)), schema, "no"};
}

static bool is_zero(const uint8_t *p, size_t n)
{
	while (n > 0 && !p[n - 1])
		n--;
	return n == 0;
}

/* The body is the payload's end, and what names no schema is zero. */
static void check_frame(const struct framing *f, struct slice payload)
{
	bool by_guid = f->kind == FRAMING_SCHEMA && f->schema.kind == SCHEMA_BY_GUID;
	char text[SCHEMA_REF_TEXT_BYTES];

	MUST(f->body.n <= payload.n && f->body.p + f->body.n == payload.p + payload.n);
	MUST(by_guid || is_zero(f->schema.guid, sizeof(f->schema.guid)));
	MUST(!by_guid || !f->schema.number);
	MUST(f->kind == FRAMING_NONE || strlen(schema_ref_text(&f->schema, text)) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct read_names ours;
	static struct arena arena;
	struct slice rest = slice_of(data, size);
	struct source source = {.answer = answer(fuzz_byte(&rest))};
	const struct schema_source schemas = {find, &source};
	struct slice value = fuzz_take(&rest, fuzz_byte(&rest));
	const struct header header = {SLICE_LIT(FRAMING_HEADER), value};
	struct slice headers;
	struct read_fields fields;
	struct framing frame;
	const char *broken, *why;
	uint32_t cut;
	bool wait;

	arena_reset(&arena);
	headers = headers_encode(&arena, &header, value.n ? 1 : 0, &cut);
	broken = framing_detect(headers, rest, &frame);
	if (!broken)
		check_frame(&frame, rest);
	why = payload_read_fields(&arena, &ours, &schemas, headers, rest, &fields, &wait);
	MUST(source.asks == (!broken && frame.kind == FRAMING_SCHEMA));
	MUST(wait == (source.asks && source.answer.state == SCHEMA_AWAY));
	MUST(!wait || why);
	MUST(!source.asks || memcmp(&source.asked, &frame.schema, sizeof(frame.schema)) == 0);
	if (!why)
		fuzz_check_fields(&arena, &fields);
	return 0;
}

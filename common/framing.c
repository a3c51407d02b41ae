#include "framing.h"

#include "codec.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * The first byte says which: 00 and a big-endian id, 01 and a GUID (Confluent's SchemaId.java reads
 * both alike, in front of a payload or in a header). No JSON text begins with one of these, or with
 * the C3 of a single object.
 */
#define MAGIC_ID 0x00
#define MAGIC_GUID 0x01
#define SINGLE_OBJECT SLICE_LIT("\xc3\x01")

#define ID_BYTES 4
#define GLOBAL_ID_BYTES 8
#define GUID_BYTES 16
#define FINGERPRINT_BYTES 8

static uint64_t big_endian(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

static uint64_t little_endian(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

static bool starts_with(struct slice s, struct slice prefix)
{
	return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

/* Leaves in *s what follows. */
static const uint8_t *take(struct slice *s, size_t n)
{
	const uint8_t *p = s->p;

	if (s->n < n)
		return NULL;
	*s = slice_of(p + n, s->n - n);
	return p;
}

/*
 * Registries count from 1, so an id of zero is the upper half of 8 bytes: the default of Apicurio's
 * clients before 3.0 (DefaultIdHandler).
 */
static const char *take_id(struct slice *s, struct schema_ref *ret)
{
	const uint8_t *p = take(s, ID_BYTES);

	if (!p)
		return "the payload ends inside its schema id";
	ret->kind = SCHEMA_BY_ID;
	ret->number = big_endian(p, ID_BYTES);
	if (ret->number > INT32_MAX)
		return "the schema id is negative";
	if (ret->number)
		return NULL;
	if (!(p = take(s, GLOBAL_ID_BYTES - ID_BYTES)))
		return "the payload ends inside its 8-byte schema id";
	ret->kind = SCHEMA_BY_GLOBAL_ID;
	ret->number = big_endian(p, GLOBAL_ID_BYTES - ID_BYTES);
	return ret->number ? NULL : "the schema id is zero";
}

static const char *take_guid(struct slice *s, struct schema_ref *ret)
{
	const uint8_t *p = take(s, GUID_BYTES);

	if (!p)
		return "the payload ends inside its schema GUID";
	ret->kind = SCHEMA_BY_GUID;
	memcpy(ret->guid, p, GUID_BYTES);
	return NULL;
}

static const char *take_fingerprint(struct slice *s, struct schema_ref *ret)
{
	const uint8_t *p = take(s, FINGERPRINT_BYTES);

	if (!p)
		return "the payload ends inside its schema fingerprint";
	ret->kind = SCHEMA_BY_FINGERPRINT;
	ret->number = little_endian(p, FINGERPRINT_BYTES);
	return NULL;
}

static const char *in_front(struct framing *f)
{
	struct slice *s = &f->body;

	if (!s->n)
		return NULL;
	f->kind = FRAMING_SCHEMA;
	if (s->p[0] == MAGIC_ID) {
		take(s, 1);
		return take_id(s, &f->schema);
	}
	if (s->p[0] == MAGIC_GUID) {
		take(s, 1);
		return take_guid(s, &f->schema);
	}
	if (starts_with(*s, SINGLE_OBJECT)) {
		take(s, SINGLE_OBJECT.n);
		return take_fingerprint(s, &f->schema);
	}
	f->kind = FRAMING_NONE;
	return NULL;
}

static const char *in_header(struct slice header, struct schema_ref *ret)
{
	const uint8_t *magic = take(&header, 1);

	if (*magic == MAGIC_ID && header.n == ID_BYTES)
		return take_id(&header, ret) ? "the schema id in header " FRAMING_HEADER
					       " is zero or negative"
					     : NULL;
	if (*magic == MAGIC_GUID && header.n == GUID_BYTES)
		return take_guid(&header, ret);
	return "header " FRAMING_HEADER " is neither 00 and a 4-byte id nor 01 and a 16-byte GUID";
}

const char *framing_detect(struct slice headers, struct slice payload, struct framing *ret)
{
	struct slice header = headers_last(headers, FRAMING_HEADER);
	struct framing f = {.body = payload};
	const char *why;

	if (header.n && payload.n) {
		f.kind = FRAMING_SCHEMA;
		why = in_header(header, &f.schema);
	} else {
		why = in_front(&f);
	}
	if (!why)
		*ret = f;
	return why;
}

bool schema_ref_same(const struct schema_ref *a, const struct schema_ref *b)
{
	return a->kind == b->kind && a->number == b->number &&
	       memcmp(a->guid, b->guid, sizeof(a->guid)) == 0;
}

const char *schema_ref_text(const struct schema_ref *ref, char ret[static SCHEMA_REF_TEXT_BYTES])
{
	const uint8_t *g = ref->guid;

	switch (ref->kind) {
	case SCHEMA_BY_ID:
		snprintf(ret, SCHEMA_REF_TEXT_BYTES, "schema id %" PRIu64, ref->number);
		break;
	case SCHEMA_BY_GLOBAL_ID:
		snprintf(ret, SCHEMA_REF_TEXT_BYTES, "8-byte schema id %" PRIu64, ref->number);
		break;
	case SCHEMA_BY_GUID:
		snprintf(ret, SCHEMA_REF_TEXT_BYTES,
			"schema %02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
			"%02x%02x%02x%02x%02x%02x",
			g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10], g[11],
			g[12], g[13], g[14], g[15]);
		break;
	case SCHEMA_BY_FINGERPRINT:
		snprintf(ret, SCHEMA_REF_TEXT_BYTES, "schema fingerprint 0x%016" PRIx64,
			ref->number);
		break;
	}
	return ret;
}

#include "codec_parts.h"

#include <endian.h>
#include <inttypes.h>

/*
 * Every schema version that this worker reads, the newest of each schema last: it writes that one.
 * A later version is one more row, and a branch on the version in that record's reader.
 */
static const struct schema_version {
	enum schema_id id;
	int version;
	uint64_t fingerprint;
} schema_versions[] = {
	{SCHEMA_DEAD_LETTER_RECORD, 1, 0xfad842f8b5636387},
	{SCHEMA_PARKED_RECORD, 1, 0xbbffd4f027028f81},
	{SCHEMA_INBOX_RECORD, 1, 0x5f239dc845944de7},
	{SCHEMA_CHECKPOINT, 1, 0xb2275003afbb8a7f},
};

static const char *const schema_names[SCHEMA_COUNT] = {
	[SCHEMA_DEAD_LETTER_RECORD] = "DeadLetterRecord",
	[SCHEMA_PARKED_RECORD] = "ParkedRecord",
	[SCHEMA_INBOX_RECORD] = "InboxRecord",
	[SCHEMA_CHECKPOINT] = "Checkpoint",
};

uint64_t schema_fingerprint(enum schema_id id)
{
	size_t i = ARRAY_LEN(schema_versions);

	while (--i > 0 && schema_versions[i].id != id)
		;
	return schema_versions[i].fingerprint;
}

static const struct schema_version *version_find(uint64_t fingerprint)
{
	for (size_t i = 0; i < ARRAY_LEN(schema_versions); i++)
		if (schema_versions[i].fingerprint == fingerprint)
			return &schema_versions[i];
	return NULL;
}

int frame_open(struct wire_reader *r, enum schema_id id, struct slice bytes, struct err *err)
{
	const char *name = schema_names[id];
	const struct schema_version *version;
	uint64_t fingerprint;

	if (bytes.n < FRAME_BYTES || bytes.p[0] != 0xc3 || bytes.p[1] != 0x01)
		return err_set(err, ERR_DATA,
			"not a %s: no C3 01 and schema fingerprint at byte 0 of %zu", name,
			bytes.n);
	memcpy(&fingerprint, bytes.p + 2, sizeof(fingerprint));
	fingerprint = le64toh(fingerprint);
	version = version_find(fingerprint);
	if (!version)
		return err_set(err, ERR_CONFIG,
			"%s with the unknown schema fingerprint %016" PRIx64
			": written by a later version of meter-dlq; upgrade this worker",
			name, fingerprint);
	if (version->id != id)
		return err_set(err, ERR_DATA,
			"not a %s: its schema fingerprint at byte 2 is that of %s", name,
			schema_names[version->id]);
	*r = (struct wire_reader){
		bytes.p, bytes.p + FRAME_BYTES, bytes.p + bytes.n, name, err, false};
	return version->version;
}

void frame_write(struct wire_writer *w, enum schema_id id)
{
	uint64_t fingerprint = htole64(schema_fingerprint(id));

	wire_write_raw(w, SLICE_LIT("\xc3\x01"));
	wire_write_raw(w, slice_of(&fingerprint, sizeof(fingerprint)));
}

struct origin position_read(struct wire_reader *r, const char *name)
{
	struct origin position;

	position.topic = wire_read_bytes(r, name);
	position.partition = wire_read_int(r, name);
	position.offset = wire_read_long(r, name);
	return position;
}

void position_write(struct wire_writer *w, struct origin position)
{
	wire_write_bytes(w, position.topic);
	wire_write_long(w, position.partition);
	wire_write_long(w, position.offset);
}

#include "read_names.h"

#include "mem.h"

const struct slice read_names_ours[READ_FIELD_COUNT] = {
	[READ_METER_ID] = SLICE_INIT("meter_id"),
	[READ_READ_AT] = SLICE_INIT("read_at"),
	[READ_SEQUENCE] = SLICE_INIT("sequence"),
	[READ_KWH] = SLICE_INIT("kwh"),
	[READ_READING_TYPE] = SLICE_INIT("reading_type"),
	[READ_QUALITY] = SLICE_INIT("quality"),
};

/* READ_FIELD_COUNT: none of that name. */
static size_t find_ours(struct slice name)
{
	size_t f = 0;

	while (f < READ_FIELD_COUNT && !slice_eq(name, read_names_ours[f]))
		f++;
	return f;
}

static int add(const char *item, struct read_names *names, struct err *err)
{
	size_t name_bytes = strcspn(item, ":");
	size_t f = find_ours(slice_of(item, name_bytes));

	if (!item[name_bytes] || !item[name_bytes + 1])
		return err_set(err, ERR_CONFIG,
			"\"%.100s\" is not of the form FIELD:NAME, such as kwh:energy", item);
	if (f == READ_FIELD_COUNT)
		return err_set(err, ERR_CONFIG,
			"\"%.*s\" is none of meter_id, read_at, sequence, kwh, reading_type, "
			"quality",
			(int)name_bytes, item);
	if (!slice_is_null(names->theirs[f]))
		return err_set(err, ERR_CONFIG, "%.*s comes twice", SLICE_FMT(read_names_ours[f]));
	names->theirs[f] = slice_str(item + name_bytes + 1);
	return 0;
}

static int check_distinct(const struct read_names *names, struct err *err)
{
	for (size_t f = 0; f < READ_FIELD_COUNT; f++)
		for (size_t g = 0; g < f; g++)
			if (slice_eq(read_name(names, (enum read_field)f),
				    read_name(names, (enum read_field)g)))
				return err_set(err, ERR_CONFIG,
					"\"%.100s\" would be the name of both %.*s and %.*s",
					(const char *)read_name(names, (enum read_field)f).p,
					SLICE_FMT(read_names_ours[g]),
					SLICE_FMT(read_names_ours[f]));
	return 0;
}

int read_names_parse(char *const *items, size_t n, struct read_names *ret, struct err *err)
{
	struct read_names names = {0};

	for (size_t i = 0; i < n; i++)
		if (add(items[i], &names, err))
			return ERR_CONFIG;
	if (check_distinct(&names, err))
		return ERR_CONFIG;
	*ret = names;
	return 0;
}

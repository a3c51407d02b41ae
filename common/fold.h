/*
 * fold.h: the state of one DLQ partition as a fold over its records and those of the parked topic.
 * Restore and normal running use these same functions, on the same bytes. The loop's thread only.
 */
#ifndef COMMON_FOLD_H
#define COMMON_FOLD_H

#include "codec.h"
#include "ticket.h"

struct partition {
	int32_t number;
	struct tickets tickets;
	struct arena arena;	      /* holds what the checkpoint refers to */
	struct checkpoint checkpoint; /* partitions 0: none read yet */
};

void partition_free(struct partition *p);

/* Who folds: the seed of the key hash, and N, to check that every key hashes to its partition. */
struct fold_rules {
	struct hash_seed seed;
	int32_t partitions;
};

/*
 * Applies one DLQ record (value null: a tombstone). ERR_DATA for what is not ours, ERR_CONFIG for a
 * later schema version or a key of another partition; then nothing has changed.
 */
MUST_CHECK int fold_dlq(struct partition *p, const struct fold_rules *rules, struct slice key,
	struct slice value, int64_t offset, struct err *err);
MUST_CHECK int fold_parked(struct partition *p, const struct fold_rules *rules, struct slice key,
	struct slice value, int64_t offset, struct err *err);

#endif

/* check_txn.h: what the two halves of the transaction's check share. */
#ifndef SIM_CHECK_TXN_H
#define SIM_CHECK_TXN_H

#include "world.h"

/* One decided transaction while it is checked. */
struct txn_check {
	struct world *w;
	struct txn *t;
	struct read *touched; /* a list */
	struct arena arena;
	struct {
		bool written;
		int64_t inbox_offset;
		int64_t sources[SOURCE_TOPICS_MAX][PARTITIONS_MAX];
	} checkpoint[N_MAX]; /* as this transaction writes them */
	int64_t taken_to[N_MAX][SOURCE_TOPICS_MAX][PARTITIONS_MAX]; /* as what it takes in asks */
};

/* check_record.c: what one record of it says. */
void check_record(struct txn_check *c, struct part *part, int64_t offset);
/* check_read.c: whether that follows for one read, and what it becomes. */
void check_read(struct txn_check *c, struct read *r);

void check_touch(struct txn_check *c, struct read *r);

#endif

/*
 * batch.h: what one turn of the loop carries: dead letters taken in, entries to replay, and what
 * is written for them. Owns its Kafka messages and one arena; everything in it lives until
 * batch_clear. The loop's thread only.
 */
#ifndef WORKER_BATCH_H
#define WORKER_BATCH_H

#include "commit.h"
#include "log.h"
#include "loop.h"
#include "merge.h"

struct owned;

enum item_kind {
	ITEM_INTAKE, /* a dead letter whose key this worker owns, merged */
	ITEM_REPLAY, /* a due entry */
};

/* One read of the batch; a key occurs once. */
struct item {
	enum item_kind kind;
	struct owned *owned;
	struct key128 key;
	struct record *record; /* INTAKE: to be written; REPLAY: as it stands in the DLQ */
	struct meter_read
		*read; /* unless malformed; both in the arena of this batch or its donor */
	union {
		struct merge merge;   /* INTAKE */
		struct settle settle; /* REPLAY, once it is decided */
	};
	struct slice committed; /* REPLAY, settled as a conflict: the row's content */
	bool suffixed;		/* the form of its DLQ key */
	int64_t offset;		/* INTAKE that was put: where, once it has landed */
};

/* A dead letter of another owner's key. */
struct handover {
	int32_t partition;
	struct slice key;
	struct inbox inbox;
};

/* Growing arrays; plain data. */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n, cap;                                                                     \
	}
#define VEC_PUSH(vec)                                                                              \
	(*(__typeof__((vec)->v))vec_push(                                                          \
		(void **)&(vec)->v, &(vec)->n, &(vec)->cap, sizeof(*(vec)->v)))
/* Room for one more element, zeroed; returns it. */
void *vec_push(void **v, size_t *n, size_t *cap, size_t size);

/* Half of the key and the item's number + 1 (0: empty): eight of them to a cache line. */
struct batch_slot {
	uint32_t tag, number;
};

struct batch {
	struct arena arena;
	VEC(struct log_message) messages;
	VEC(struct item *) items;
	VEC(struct handover) handovers;
	VEC(struct log_record) records;	  /* the plan, once sealed */
	VEC(struct item *) record_items;  /* per record: the item it puts, or NULL */
	VEC(struct log_position) offsets; /* the next to take of every partition, at its end */
	/* Replay: the due items in key order, and the same as the sink wants them. */
	VEC(struct item *) due;
	VEC(const struct meter_read *) reads;
	struct outcome *outcomes;
	struct commit commit;
	struct sink_call call;	 /* under way, while calling */
	bool calling, delivered; /* a call is under way; one was made */
	/* Keys of this batch: open addressing over items, by key. */
	struct batch_slot *keys;
	size_t keys_mask;
	size_t bytes;		 /* payload bytes taken */
	bool took_in;		 /* dead letters were taken: positions must be written */
	struct loop_stats stats; /* what this batch will have done once it has landed */
	struct batch *donor;	 /* an earlier batch whose memory the replays refer to; owned */
};

struct batch *batch_new(void);
/* Releases messages and memory; the batch may be used again. */
void batch_clear(struct batch *b, struct log *log);
void batch_free(struct batch *b, struct log *log); /* accepts NULL; frees the donor too */

/* The item of that key, or NULL. b may be NULL. */
struct item *batch_find(const struct batch *b, struct key128 key);
/* A new item under that key, which must be new. Zeroed but for kind, owned and key. */
struct item *batch_add(
	struct batch *b, enum item_kind kind, struct owned *owned, struct key128 key);
/* Moves a message into the batch, so that slices of it live as long. */
void batch_keep(struct batch *b, struct log_message *m);
/* Orders the due items by key and prepares the arrays for the sink. */
void batch_sort_due(struct batch *b);

static inline bool batch_is_empty(const struct batch *b)
{
	return !b->items.n && !b->handovers.n && !b->took_in;
}

#endif

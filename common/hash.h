/* hash.h: the three hashes. Pure; any thread. */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include "slice.h"

/* Kafka's murmur2 (org.apache.kafka.common.utils.Utils.murmur2). */
uint32_t hash_murmur2(struct slice s);

/* The partition Java's default partitioner gives a key: positive murmur2 modulo n. n > 0. */
int32_t hash_partition(struct slice key, int32_t n);

/*
 * A key in memory: SipHash-2-4-128 under a seed drawn at start, so that nobody who writes keys
 * can craft two that collide.
 */
struct key128 {
	uint64_t hi, lo;
};
struct hash_seed {
	uint8_t bytes[16];
};

struct key128 hash_key(const struct hash_seed *seed, struct slice key);

static inline bool key128_eq(struct key128 a, struct key128 b)
{
	return a.hi == b.hi && a.lo == b.lo;
}

/* The first 8 bytes of SHA-256, as a big-endian number: the content hash (schemas/README.md). */
uint64_t hash_content(struct slice canonical);

/* All of SHA-256, as 64 lower-case hex digits and a NUL. */
void hash_sha256_text(struct slice s, char ret[static 65]);

/* 16 lower-case hex digits and a NUL. */
void hash_content_text(uint64_t content, char ret[static 17]);

#endif

#include "hash.h"

#include "mem.h"

#include <openssl/evp.h>
#include <sodium.h>

static uint32_t load_le32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t load_be64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

uint32_t hash_murmur2(struct slice s)
{
	const uint32_t m = 0x5bd1e995;
	uint32_t h = 0x9747b28c ^ (uint32_t)s.n;
	size_t i;

	for (i = 0; i + 4 <= s.n; i += 4) {
		uint32_t k = load_le32(s.p + i) * m;

		h = h * m ^ (k ^ k >> 24) * m;
	}
	switch (s.n - i) {
	case 3:
		h ^= (uint32_t)s.p[i + 2] << 16;
		__attribute__((fallthrough));
	case 2:
		h ^= (uint32_t)s.p[i + 1] << 8;
		__attribute__((fallthrough));
	case 1:
		h = (h ^ s.p[i]) * m;
		break;
	default:
		break;
	}
	h = (h ^ h >> 13) * m;
	return h ^ h >> 15;
}

int32_t hash_partition(struct slice key, int32_t n)
{
	/* Utils.toPositive clears the sign bit; it is no absolute value. */
	return (int32_t)(hash_murmur2(key) & 0x7fffffff) % n;
}

_Static_assert(crypto_shorthash_siphashx24_KEYBYTES == sizeof(struct hash_seed), "seed size");
_Static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(struct key128), "hash size");

struct key128 hash_key(const struct hash_seed *seed, struct slice key)
{
	uint8_t out[crypto_shorthash_siphashx24_BYTES];

	crypto_shorthash_siphashx24(out, key.p, key.n, seed->bytes);
	return (struct key128){.hi = load_be64(out), .lo = load_be64(out + 8)};
}

#define SHA256_BYTES 32

/*
 * libcrypto's uses the instructions that CPUs have for it, four times as fast here as libsodium's,
 * where the algorithm is fetched only once (crypto(7), "Performance").
 */
static void sha256(struct slice s, uint8_t ret[static SHA256_BYTES])
{
	static _Thread_local EVP_MD_CTX *ctx;
	bool ok;

	if (!ctx) {
		ctx = EVP_MD_CTX_new();
		if (!ctx || !EVP_DigestInit_ex2(ctx, EVP_MD_fetch(NULL, "SHA256", NULL), NULL))
			mem_exhausted("libcrypto has no SHA-256");
	}
	ok = EVP_DigestInit_ex2(ctx, NULL, NULL) && EVP_DigestUpdate(ctx, s.p, s.n) &&
	     EVP_DigestFinal_ex(ctx, ret, NULL);
	if (!ok)
		mem_exhausted("SHA-256 of libcrypto fails");
}

uint64_t hash_content(struct slice canonical)
{
	uint8_t out[SHA256_BYTES];

	sha256(canonical, out);
	return load_be64(out);
}

void hash_sha256_text(struct slice s, char ret[static 65])
{
	uint8_t out[SHA256_BYTES];

	sha256(s, out);
	sodium_bin2hex(ret, 65, out, sizeof(out));
}

void hash_content_text(uint64_t content, char ret[static 17])
{
	for (int i = 0; i < 16; i++)
		ret[i] = "0123456789abcdef"[content >> (60 - 4 * i) & 15];
	ret[16] = '\0';
}

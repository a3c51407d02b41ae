#include <criterion/criterion.h>

#include "hash.h"

/* From Kafka's own UtilsTest.testMurmur2 (Java's int as its bits). */
static const struct {
	const char *text;
	int32_t hash;
} murmur2_of_java[] = {
	{"21", -973932308},
	{"foobar", -790332482},
	{"a-little-bit-long-string", -985981536},
	{"a-little-bit-longer-string", -1486304829},
	{"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
	{"abc", 479470107},
};

Test(hash, murmur2_is_that_of_java)
{
	for (size_t i = 0; i < sizeof(murmur2_of_java) / sizeof(murmur2_of_java[0]); i++)
		cr_expect_eq((int32_t)hash_murmur2(slice_str(murmur2_of_java[i].text)),
			murmur2_of_java[i].hash, "%s", murmur2_of_java[i].text);
}

Test(hash, murmur2_takes_bytes_as_unsigned_in_body_and_tail)
{
	/* By a second implementation, in Python. */
	const uint8_t bytes[] = {0xFF, 0xFE, 0xFD, 0xFC, 0xFB, 0xFA, 0xF9};
	const int32_t hashes[] = {275646681, -311467685, 1717632651, 998637092, 2136149935,
		524068735, -1374838545, -166236347};

	for (size_t n = 0; n <= sizeof(bytes); n++)
		cr_expect_eq((int32_t)hash_murmur2(slice_of(bytes, n)), hashes[n], "%zu bytes", n);
}

Test(hash, partition_clears_the_sign_as_java_does)
{
	/* Utils.toPositive(murmur2) % n; with abs() the first two would differ. */
	cr_expect_eq(hash_partition(SLICE_LIT("21"), 50), 40);
	cr_expect_eq(hash_partition(SLICE_LIT("foobar"), 12), 6);
	cr_expect_eq(hash_partition(SLICE_LIT("a-little-bit-long-string"), 12), 8);
	cr_expect_eq(hash_partition(SLICE_LIT("abc"), 12), 3);
	cr_expect_eq(hash_partition(SLICE_LIT("foobar"), 1), 0);
}

Test(hash, key_hash_is_siphash_2_4_128)
{
	/* vectors_sip128 of the reference implementation (veorq/SipHash): key 00 01 .. 0f, input
	 * of no byte and of one byte 00. */
	struct hash_seed seed;
	struct key128 none, one;

	for (uint8_t i = 0; i < sizeof(seed.bytes); i++)
		seed.bytes[i] = i;
	none = hash_key(&seed, SLICE_LIT(""));
	one = hash_key(&seed, slice_of("\0", 1));
	cr_expect_eq(none.hi, 0xa3817f04ba25a8e6);
	cr_expect_eq(none.lo, 0x6df67214c7550293);
	cr_expect_eq(one.hi, 0xda87c1d86b99af44);
	cr_expect_eq(one.lo, 0x347659119b22fc45);
}

Test(hash, key_hash_depends_on_the_seed)
{
	struct hash_seed a = {{1}}, b = {{2}};
	struct slice key = SLICE_LIT("MTR-00000001|2026-07-17T00:00:00+00:00|1");

	cr_expect(!key128_eq(hash_key(&a, key), hash_key(&b, key)));
	cr_expect(key128_eq(hash_key(&a, key), hash_key(&a, key)));
}

/* FIPS 180-2, appendix B.1, and the digest of nothing. */
Test(hash, content_is_the_first_eight_bytes_of_sha256)
{
	cr_expect_eq(hash_content(SLICE_LIT("abc")), 0xba7816bf8f01cfea);
	cr_expect_eq(hash_content(SLICE_LIT("")), 0xe3b0c44298fc1c14);
	cr_expect_eq(hash_content(SLICE_NULL), 0xe3b0c44298fc1c14);
}

Test(hash, content_text_keeps_leading_zeros)
{
	char text[17];

	hash_content_text(0x00000000deadbeef, text);
	cr_assert_str_eq(text, "00000000deadbeef");
}

Test(hash, sha256_text_is_the_whole_digest)
{
	char text[65];

	hash_sha256_text(SLICE_LIT("abc"), text);
	cr_assert_str_eq(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

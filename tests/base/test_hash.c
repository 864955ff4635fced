#include "base/hash.h"

#include "tests/harness.h"

/* The values are on disks: docs/FORMAT.md, "Salt". */
static const struct {
    const char *bytes;
    size_t size;
    uint64_t hash;
} pinned[] = {
    { "", 0, UINT64_C(0x589c1fe371ecf641) },
    { "\x00\x00\xbb\x00\x00\x01\x00\x01\x0b\x00\x00\x02\x00\xf9\x2a", 15,
      UINT64_C(0x1cf210547dfc80c0) },
};

START_TEST(never_changes)
{
    ck_assert_uint_eq(hash_bytes(pinned[_i].bytes, pinned[_i].size, 0),
                      pinned[_i].hash);
}
END_TEST

/* Every byte and every bit of the seed counts, at any size and alignment. */
START_TEST(every_bit_counts)
{
    uint64_t state = harness_seed(2);
    uint8_t bytes[80], moved[90];

    for (size_t size = 0; size <= 70; size++) {
        uint64_t seed = harness_random(&state), h;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)harness_random(&state);
        h = hash_bytes(bytes, size, seed);
        memcpy(moved + size % 8, bytes, size);
        ck_assert_uint_eq(hash_bytes(moved + size % 8, size, seed), h);
        for (size_t bit = 0; bit < size * 8; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            ck_assert_uint_ne(hash_bytes(bytes, size, seed), h);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (unsigned bit = 0; bit < 64; bit++)
            ck_assert_uint_ne(
                hash_bytes(bytes, size, seed ^ UINT64_C(1) << bit), h);
        bytes[size] = 0;
        ck_assert_uint_ne(hash_bytes(bytes, size + 1, seed), h);
    }
}
END_TEST

/* Neighbours spread over few buckets and over many. */
START_TEST(spreads)
{
    static unsigned few[16], many[65536];
    unsigned worst = 0;
    char name[32];

    for (int i = 0; i < 65536; i++) {
        int n = snprintf(name, sizeof name, "host%d", i);
        uint64_t h = hash_bytes(name, (size_t)n, 0);

        few[h % 16]++;
        if (++many[h >> 48] > worst)
            worst = many[h >> 48];
    }
    for (int i = 0; i < 16; i++) {
        ck_assert_uint_gt(few[i], 65536 / 16 * 9 / 10);
        ck_assert_uint_lt(few[i], 65536 / 16 * 11 / 10);
    }
    ck_assert_uint_lt(worst, 12);
}
END_TEST

START_TEST(seeds_differ)
{
    ck_assert_uint_ne(hash_random_seed(), hash_random_seed());
}
END_TEST

TEST_MAIN("hash", LOOP(never_changes, pinned), TEST(every_bit_counts),
          TEST(spreads), TEST(seeds_differ))

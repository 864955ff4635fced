#include "base/crc32c.h"

#include "tests/harness.h"

/* RFC 3720 B.4, and the usual check value. */
static const struct {
    uint8_t first;
    int step;
    size_t size;
    uint32_t crc;
} vectors[] = {
    { 0x00, 0, 32, 0x8a9136aa }, { 0xff, 0, 32, 0x62a8ab43 },
    { 0x00, 1, 32, 0x46dd794e }, { 0x1f, -1, 32, 0x113fdb5c },
    { '1', 1, 9, 0xe3069283 },   { 0, 0, 0, 0 },
};

START_TEST(known_vectors)
{
    uint8_t bytes[32];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(vectors[_i].first + (int)i * vectors[_i].step);
    ck_assert_uint_eq(crc32c(slice_of(bytes, vectors[_i].size)),
                      vectors[_i].crc);
    ck_assert_uint_eq(crc32c_plain(0, slice_of(bytes, vectors[_i].size)),
                      vectors[_i].crc);
}
END_TEST

/* The twins agree, at once and in chunks, whatever size and alignment. */
START_TEST(twins_agree)
{
    uint64_t state = harness_seed(4);
    uint8_t bytes[300];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)harness_random(&state);
    for (int i = 0; i < 2000; i++) {
        uint64_t r = harness_random(&state);
        size_t from = r % 40, size = (r >> 8) % 250;
        size_t cut = size == 0 ? 0 : (r >> 16) % size;
        struct slice s = slice_of(bytes + from, size);
        uint32_t crc = crc32c(s);

        ck_assert_uint_eq(crc32c_plain(0, s), crc);
        ck_assert_uint_eq(crc32c_more(crc32c(slice_of(s.data, cut)),
                                      slice_of(s.data + cut, size - cut)),
                          crc);
    }
}
END_TEST

TEST_MAIN("crc32c", LOOP(known_vectors, vectors), TEST(twins_agree))

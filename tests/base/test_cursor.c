#include "base/cursor.h"

#include "tests/harness.h"

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

START_TEST(reads_big_endian)
{
    struct cursor c = cursor_of(slice_of(bytes, sizeof bytes));

    ck_assert_uint_eq(cursor_u8(&c), 1);
    ck_assert_uint_eq(cursor_u16(&c), 0x0203);
    ck_assert_uint_eq(cursor_u32(&c), 0x04050607);
    ck_assert_uint_eq(cursor_left(&c), 2);
    ck_assert_uint_eq(cursor_uint(&c, 0), 0);
    ck_assert(slice_eq(cursor_bytes(&c, 2), slice_of(bytes + 7, 2)));
    ck_assert(!c.failed);
    c = cursor_of(slice_of(bytes, 8));
    ck_assert_uint_eq(cursor_u64(&c), UINT64_C(0x0102030405060708));
    c = cursor_of(slice_of(bytes, 3));
    ck_assert_uint_eq(cursor_uint(&c, 3), 0x010203);
}
END_TEST

START_TEST(a_step_past_the_end_sticks)
{
    struct cursor c = cursor_of(slice_of(bytes, 3));

    ck_assert_uint_eq(cursor_u32(&c), 0);
    ck_assert(c.failed);
    ck_assert_uint_eq(cursor_u8(&c), 0);
    ck_assert_uint_eq(cursor_bytes(&c, 0).size, 0);
    ck_assert_uint_eq(cursor_varint(&c), 0);
    ck_assert(c.failed);
    c = cursor_of(slice_of(bytes, 3));
    ck_assert_uint_eq(cursor_bytes(&c, SIZE_MAX).size, 0);
    ck_assert(c.failed);
}
END_TEST

START_TEST(nothing_is_fine)
{
    struct cursor c = cursor_of((struct slice){ NULL, 0 });

    ck_assert_uint_eq(cursor_left(&c), 0);
    ck_assert_uint_eq(cursor_bytes(&c, 0).size, 0);
    ck_assert(!c.failed);
    ck_assert_uint_eq(cursor_u8(&c), 0);
    ck_assert(c.failed);
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    bool ok;
    uint64_t v;
} varints[] = {
    { "\x00", 1, true, 0 },
    { "\x7f", 1, true, 127 },
    { "\x80\x01", 2, true, 128 },
    { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, true, UINT64_MAX },
    { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, false, 0 },
    { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11, false, 0 },
    { "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, false, 0 },
    { "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9, false, 0 },
    { "\x80", 1, false, 0 },
    { "", 0, false, 0 },
};

START_TEST(varints_have_ends)
{
    struct cursor c = cursor_of(slice_of(varints[_i].bytes, varints[_i].size));

    ck_assert_uint_eq(cursor_varint(&c), varints[_i].v);
    ck_assert_int_eq(!c.failed, varints[_i].ok);
}
END_TEST

TEST_MAIN("cursor", TEST(reads_big_endian), TEST(a_step_past_the_end_sticks),
          TEST(nothing_is_fine), LOOP(varints_have_ends, varints))

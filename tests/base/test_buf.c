#include "base/buf.h"

#include "base/arena.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "tests/harness.h"

/* What is no limit of the buffer's. */
START_TEST(notes_what_the_system_refused)
{
    struct buf limited, b = BUF_INIT;
    struct arena *a = arena_new(0);
    unsigned long before = mem_failures();

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    arena_free(&a);
    return; /* they end a process that asks for so much */
#endif
    buf_init(&limited, 8);
    ck_assert_ptr_null(buf_reserve(&limited, 9));
    ck_assert_uint_eq(mem_failures(), before);
    ck_assert_ptr_null(buf_reserve(&b, (size_t)1 << 62));
    ck_assert_uint_eq(mem_failures(), before + 1);
    ck_assert_ptr_null(arena_alloc(a, (size_t)1 << 62));
    ck_assert_uint_eq(mem_failures(), before + 2);
    arena_free(&a);
    buf_fini(&limited);
    buf_fini(&b);
}
END_TEST

START_TEST(empty_has_no_memory)
{
    struct buf b = BUF_INIT;

    ck_assert_uint_eq(buf_slice(&b).size, 0);
    buf_put(&b, NULL, 0);
    buf_put_slice(&b, (struct slice){ NULL, 0 });
    ck_assert_ptr_null(b.data);
    ck_assert_str_eq(buf_cstr(&b), "");
    ck_assert_uint_eq(b.size, 0);
    buf_fini(&b);
}
END_TEST

START_TEST(appends)
{
    struct buf b = BUF_INIT;
    static const uint8_t bytes[] = { 'a', 'b', 'c', 1, 0, 2,   0,  0,
                                     0,   3,   0,   0, 0, 0,   0,  0,
                                     0,   4,   0,   0, 5, '-', '7' };

    buf_put(&b, "a", 1);
    buf_put_str(&b, "bc");
    buf_put_u8(&b, 1);
    buf_put_u16(&b, 2);
    buf_put_u32(&b, 3);
    buf_put_u64(&b, 4);
    buf_put_uint(&b, 5, 3);
    buf_printf(&b, "%d", -7);
    ck_assert(slice_eq(buf_slice(&b), slice_of(bytes, sizeof bytes)));
    ck_assert(memcmp(buf_cstr(&b), bytes, sizeof bytes) == 0);
    ck_assert_uint_eq(b.size, sizeof bytes);
    buf_clear(&b);
    ck_assert_uint_eq(b.size, 0);
    ck_assert_uint_gt(b.cap, 0);
    buf_fini(&b);
    ck_assert_ptr_null(b.data);
}
END_TEST

static const uint64_t numbers[] = { 0,          1,         127,
                                    128,        16383,     16384,
                                    UINT32_MAX, INT64_MAX, (uint64_t)INT64_MIN,
                                    UINT64_MAX };

START_TEST(varints_round_trip)
{
    struct buf b = BUF_INIT;
    struct cursor c;
    uint64_t v = numbers[_i];

    buf_put_varint(&b, v);
    buf_put_zigzag(&b, (int64_t)v);
    buf_put_zigzag(&b, -(int64_t)(v / 2));
    c = cursor_of(buf_slice(&b));
    ck_assert_uint_eq(cursor_varint(&c), v);
    ck_assert_int_eq(cursor_zigzag(&c), (int64_t)v);
    ck_assert_int_eq(cursor_zigzag(&c), -(int64_t)(v / 2));
    ck_assert(!c.failed);
    ck_assert_uint_eq(cursor_left(&c), 0);
    buf_fini(&b);
}
END_TEST

static const struct {
    int64_t v;
    size_t size;
    uint8_t first;
} zigzags[] = { { 0, 1, 0 },    { -1, 1, 1 },          { 1, 1, 2 },
                { -2, 1, 3 },   { 63, 1, 126 },        { -64, 1, 127 },
                { 64, 2, 128 }, { INT64_MIN, 10, 255 } };

START_TEST(room_is_made)
{
    struct buf b = BUF_INIT;
    uint8_t *at;

    buf_make_room(&b, 3);
    at = b.data;
    ck_assert(at != NULL);
    buf_put(&b, "abc", 3);
    ck_assert_ptr_eq(b.data, at);
    buf_make_room(&b, 0);
    buf_make_room(&b, 1000);
    ck_assert_uint_ge(b.cap, 1003);
    ck_assert(slice_eq_str(buf_slice(&b), "abc"));
    buf_fini(&b);
}
END_TEST

START_TEST(zigzag_keeps_small_ones_short)
{
    struct buf b = BUF_INIT;

    buf_put_zigzag(&b, zigzags[_i].v);
    ck_assert_uint_eq(b.size, zigzags[_i].size);
    ck_assert_uint_eq(b.data[0], zigzags[_i].first);
    buf_fini(&b);
}
END_TEST

/* Each append that no longer fits fails, and leaves what was there. */
START_TEST(failures_stick)
{
    for (int how = 0; how < 7; how++) {
        struct buf b;

        buf_init(&b, 10);
        buf_put(&b, "12345678", 8);
        ck_assert(!b.failed);
        if (how == 0)
            buf_put(&b, "abc", 3);
        else if (how == 1)
            buf_put_u32(&b, 1);
        else if (how == 2)
            buf_put_varint(&b, UINT64_MAX);
        else if (how == 3)
            buf_printf(&b, "%s", "abc");
        else if (how == 4)
            buf_put_uint(&b, 1, 3);
        else if (how == 5)
            ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
        else
            buf_printf(&b, "%300d", 1);
        ck_assert_msg(b.failed, "way %d", how);
        buf_put_u8(&b, 'x');
        ck_assert_uint_eq(b.size, 8);
        ck_assert_str_eq(buf_cstr(&b), "");
        buf_clear(&b);
        ck_assert(!b.failed);
        buf_put(&b, "1234567890", 10);
        ck_assert(!b.failed);
        ck_assert_uint_le(b.cap, 10);
        buf_fini(&b);
    }
}
END_TEST

/* Exactly to the cap, not a byte more. */
START_TEST(the_cap_can_be_reached)
{
    struct buf b;

    buf_init(&b, 1);
    buf_put_varint(&b, 127);
    ck_assert(!b.failed);
    buf_put_u8(&b, 1);
    ck_assert(b.failed);
    buf_clear(&b);
    buf_printf(&b, "%c", 'x');
    ck_assert(!b.failed);
    ck_assert_uint_eq(b.size, 1);
    buf_fini(&b);
}
END_TEST

START_TEST(prints_long_texts)
{
    static const int sizes[] = { 0, 1, 254, 255, 256, 257, 100000 };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct buf b = BUF_INIT;

        buf_put_str(&b, "<");
        buf_printf(&b, "%.*d>", sizes[i], 1);
        ck_assert_uint_eq(b.size, (size_t)(sizes[i] < 1 ? 1 : sizes[i]) + 2);
        ck_assert_uint_eq(b.data[b.size - 1], '>');
        ck_assert_uint_eq(b.data[b.size - 2], '1');
        ck_assert_uint_eq(b.data[b.size], '\0');
        buf_fini(&b);
    }
}
END_TEST

TEST_MAIN("buf", TEST(notes_what_the_system_refused), TEST(empty_has_no_memory),
          TEST(appends), LOOP(varints_round_trip, numbers), TEST(room_is_made),
          LOOP(zigzag_keeps_small_ones_short, zigzags), TEST(failures_stick),
          TEST(the_cap_can_be_reached), TEST(prints_long_texts))

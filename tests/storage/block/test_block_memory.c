/* Blocks that need memory of their own to be decoded. */
#include "storage/block/block.h"

#include <stdlib.h>

#include "tests/harness.h"

#define BASE UINT32_C(1735689600)

static bool without_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

/* The linker sends calls of malloc() here: see Makemodule.am. */
void *
__wrap_malloc(size_t size)
{
    return without_memory ? NULL : __real_malloc(size);
}

static void
check_no_memory(const struct points *p)
{
    struct points back = { 0 };
    struct buf b = BUF_INIT;
    struct error e;
    enum status st;

    block_encode(p, BASE, &b);
    ck_assert(points_reserve(&back, p->len));
    without_memory = true;
    st = block_decode(buf_slice(&b), BASE, &back, &e);
    without_memory = false;
    ck_assert_int_eq(st, ST_LIMIT);
    ck_assert_ptr_nonnull(strstr(e.text, "block: no memory for"));
    ck_assert_int_eq(block_decode(buf_slice(&b), BASE, &back, &e), ST_OK);
    ck_assert_uint_eq(back.len, p->len);
    points_fini(&back);
    buf_fini(&b);
}

/* Few that are not zero; and every second one a double that is no decimal. */
START_TEST(no_memory_is_no_damage)
{
    struct points p = { 0 };

    for (int i = 0; i < 360; i++) {
        struct point x = { .ts_ms = (BASE + (uint32_t)i * 10) * INT64_C(1000),
                           .v.i = i % 50 == 0 ? i * 1000 : 0 };

        if (_i == 1 && i % 2 == 0) {
            x.is_float = true;
            x.v.d = 1.0 / (i + 3);
        }
        ck_assert(points_add(&p, x));
    }
    check_no_memory(&p);
    points_fini(&p);
}
END_TEST

TEST_MAIN("block_memory", TIMES(no_memory_is_no_damage, 2))

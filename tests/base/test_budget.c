/* Budgets: what is taken from a part is taken from the whole. */
#include "base/budget.h"

#include "base/buf.h"
#include "tests/harness.h"

START_TEST(a_part_takes_from_the_whole)
{
    struct budget all = { .max = 1000 };
    struct budget *a = budget_new(600, &all), *b = budget_new(0, &all);

    ck_assert(budget_take(a, 600));
    ck_assert(!budget_take(a, 1));
    ck_assert_uint_eq(atomic_load(&a->refused), 1);
    ck_assert_uint_eq(atomic_load(&all.refused), 0);
    ck_assert(!budget_take(b, 401));
    ck_assert_uint_eq(atomic_load(&b->used), 0);
    ck_assert_uint_eq(atomic_load(&all.used), 600);
    ck_assert_uint_eq(atomic_load(&b->refused), 1);
    ck_assert_uint_eq(atomic_load(&all.refused), 1);
    ck_assert_uint_eq(budget_left(b), 400);
    ck_assert(budget_take(b, 400));
    ck_assert_uint_eq(budget_left(a), 0);
    budget_return(a, 600);
    budget_return(b, 400);
    ck_assert_uint_eq(atomic_load(&all.used), 0);
    ck_assert(!budget_take(a, SIZE_MAX));
    ck_assert_uint_eq(atomic_load(&all.used), 0);
    budget_unref(&a);
    budget_unref(&b);
}
END_TEST

START_TEST(none_counts_nothing)
{
    struct budget *none = NULL;

    ck_assert(budget_take(none, SIZE_MAX));
    budget_return(none, SIZE_MAX);
    ck_assert_ptr_null(budget_ref(none));
    budget_unref(&none);
    ck_assert_uint_eq(budget_left(none), SIZE_MAX);
}
END_TEST

START_TEST(buffers_take_before_they_grow)
{
    struct budget *budget = budget_new(1000, NULL);
    struct buf b, moved;

    buf_init_within(&b, 0, budget);
    budget_unref(&budget);
    budget = b.budget; /* the buffer's reference keeps it */
    buf_put(&b, "x", 1);
    ck_assert_uint_eq(atomic_load(&budget->used), b.cap);
    for (int i = 0; i < 2000; i++)
        buf_put_u8(&b, 'y');
    ck_assert(b.failed);
    ck_assert_uint_le(b.cap, 1000);
    ck_assert_uint_eq(atomic_load(&budget->used), b.cap);
    budget = budget_ref(budget);
    moved = b;
    buf_leave_budget(&moved);
    ck_assert_uint_eq(atomic_load(&budget->used), 0);
    buf_fini(&moved);
    ck_assert_uint_eq(atomic_load(&budget->used), 0);
    budget_unref(&budget);
}
END_TEST

TEST_MAIN("budget", TEST(a_part_takes_from_the_whole),
          TEST(none_counts_nothing), TEST(buffers_take_before_they_grow))

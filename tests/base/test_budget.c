/* Budgets: what is taken from a part is taken from the whole. */
#include "base/budget.h"

#include <pthread.h>

#include "base/arena.h"
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

struct refused {
    struct budget *budget;
    atomic_bool stop;
};

static void *
ask_for_too_much(void *arg)
{
    struct refused *r = arg;

    while (!atomic_load(&r->stop))
        ck_assert(!budget_take(r->budget, 1000));
    return NULL;
}

/* What is refused to one taker is never missing for another one. */
START_TEST(a_refusal_hides_no_room)
{
    struct budget budget = { .max = 999 };
    struct refused r = { .budget = &budget };
    pthread_t greedy;

    ck_assert_int_eq(pthread_create(&greedy, NULL, ask_for_too_much, &r), 0);
    for (int i = 0; i < 1000000; i++) {
        ck_assert(budget_take(&budget, 1));
        budget_return(&budget, 1);
    }
    atomic_store(&r.stop, true);
    ck_assert_int_eq(pthread_join(greedy, NULL), 0);
    ck_assert_uint_eq(budget_used(&budget), 0);
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

START_TEST(small_buffers_need_no_budget)
{
    struct budget budget = { .max = 10000 };
    char text[3000] = { 0 };
    struct buf a, b;

    buf_init_after(&a, 0, 4096, &budget);
    buf_init_after(&b, 12000, 4096, &budget);
    ck_assert(budget_take(&budget, 10000));
    buf_put(&a, text, 3000);
    ck_assert(!a.failed);
    buf_put(&a, text, 3000);
    ck_assert(a.failed);
    ck_assert_int_eq(a.fault, BUF_NO_BUDGET);
    ck_assert_uint_eq(a.size, 3000);
    budget_return(&budget, 10000);
    /* Once there is room it is counted as a whole, and not twice as much where
     * there is only room for what is needed. */
    buf_clear(&a);
    for (int i = 0; i < 3; i++)
        buf_put(&a, text, 3000);
    ck_assert(!a.failed);
    ck_assert_uint_ge(a.cap, 9000);
    ck_assert_uint_eq(budget_used(&budget), a.cap);
    a.size = 5000;
    buf_shrink(&a);
    ck_assert_uint_eq(a.cap, 5000);
    ck_assert_uint_eq(budget_used(&budget), 5000);
    for (int i = 0; i < 5; i++)
        buf_put(&b, text, 3000);
    ck_assert(b.failed);
    ck_assert_int_eq(b.fault, BUF_NO_BUDGET);
    buf_fini(&a);
    for (int i = 0; i < 5; i++)
        buf_put(&b, text, 3000);
    buf_clear(&b);
    budget.max = 0;
    for (int i = 0; i < 5; i++)
        buf_put(&b, text, 3000);
    ck_assert(b.failed);
    ck_assert_int_eq(b.fault, BUF_TOO_LARGE);
    buf_fini(&b);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(small_arenas_need_no_budget)
{
    struct budget budget = { .max = 100000 };
    struct arena *a = arena_new_after(0, 20000, &budget);

    ck_assert(budget_take(&budget, 100000));
    ck_assert_ptr_nonnull(arena_alloc(a, 4000));
    ck_assert_ptr_nonnull(arena_alloc(a, 4000));
    ck_assert_ptr_null(arena_alloc(a, 20000));
    budget_return(&budget, 100000);
    ck_assert_ptr_nonnull(arena_alloc(a, 20000));
    ck_assert_uint_gt(budget_used(&budget), 20000);
    arena_free(&a);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

TEST_MAIN("budget", TEST(small_buffers_need_no_budget),
          TEST(small_arenas_need_no_budget), TEST(a_part_takes_from_the_whole),
          TEST(a_refusal_hides_no_room), TEST(none_counts_nothing),
          TEST(buffers_take_before_they_grow))

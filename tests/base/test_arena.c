#include "base/arena.h"

#include "tests/harness.h"

START_TEST(hands_out_what_does_not_overlap)
{
    uint64_t state = harness_seed(1);
    struct arena *a = arena_new(0);
    uint8_t *parts[500];
    size_t sizes[500];

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 500; i++) {
            uint64_t r = harness_random(&state);

            sizes[i] = r % (i % 50 == 0 ? 200000 : 300);
            parts[i] = arena_alloc(a, sizes[i]);
            ck_assert_ptr_nonnull(parts[i]);
            ck_assert_uint_eq((uintptr_t)parts[i] % 16, 0);
            memset(parts[i], (int)(i % 251), sizes[i]);
        }
        for (size_t i = 0; i < 500; i++) {
            size_t same = 0;

            while (same < sizes[i] && parts[i][same] == i % 251)
                same++;
            ck_assert_uint_eq(same, sizes[i]);
        }
        arena_reset(a);
        ck_assert_uint_eq(arena_used(a), 0);
    }
    arena_free(&a);
    ck_assert_ptr_null(a);
    arena_free(&a);
}
END_TEST

static const struct {
    size_t max, size;
    bool ok;
} caps[] = {
    { 64, 64, true },
    { 64, 65, false },
    { 64, 0, true },
    { 63, 49, false },
    { 1, 1, false },
    { 16, 1, true },
    { 0, 1, true },
    { 0, SIZE_MAX, false },
    { 0, SIZE_MAX - 15, false },
    { 0, SIZE_MAX - 20, false },
};

START_TEST(keeps_to_its_cap)
{
    struct arena *a = arena_new(caps[_i].max);

    ck_assert_int_eq(arena_alloc(a, caps[_i].size) != NULL, caps[_i].ok);
    arena_free(&a);
}
END_TEST

START_TEST(a_rejection_changes_nothing)
{
    struct arena *a = arena_new(100);
    size_t used;

    ck_assert_ptr_nonnull(arena_alloc(a, 50));
    used = arena_used(a);
    ck_assert_ptr_null(arena_alloc(a, 50));
    ck_assert_uint_eq(arena_used(a), used);
    ck_assert_ptr_nonnull(arena_alloc(a, 30));
    ck_assert_ptr_null(arena_alloc(a, 1));
    arena_reset(a);
    ck_assert_ptr_nonnull(arena_alloc(a, 96));
    arena_free(&a);
}
END_TEST

START_TEST(arrays_are_zeroed)
{
    struct arena *a = arena_new(0);
    uint32_t *p = arena_alloc(a, 400);

    memset(p, 0xff, 400);
    arena_reset(a);
    p = arena_array(a, 100, sizeof *p);
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(p[i], 0);
    ck_assert_ptr_nonnull(arena_array(a, 0, 8));
    ck_assert_ptr_null(arena_array(a, SIZE_MAX / 2, 3));
    arena_free(&a);
}
END_TEST

START_TEST(arrays_grow)
{
    struct arena *a = arena_new(4096);
    int *list = NULL;
    size_t len = 0, cap = 0;

    while (len < 100) {
        list = arena_grow(a, list, len, &cap, sizeof *list);
        ck_assert_ptr_nonnull(list);
        ck_assert_int_eq(list[len], 0);
        list[len] = (int)len;
        len++; /* the array is copied up to here */
    }
    for (size_t i = 0; i < 100; i++)
        ck_assert_int_eq(list[i], (int)i);
    while (list != NULL)
        list = arena_grow(a, list, len++, &cap, sizeof *list);
    ck_assert_ptr_null(arena_grow(a, list, len, &cap, sizeof *list));
    arena_free(&a);
}
END_TEST

START_TEST(strings_end)
{
    struct arena *a = arena_new(32);

    ck_assert_str_eq(arena_strdup(a, slice_of("abcdef", 3)), "abc");
    ck_assert_str_eq(arena_strdup(a, (struct slice){ NULL, 0 }), "");
    ck_assert_ptr_null(arena_strdup(a, slice_of("x", 1)));
    ck_assert_ptr_null(arena_strdup(a, (struct slice){ NULL, SIZE_MAX }));
    arena_free(&a);
}
END_TEST

START_TEST(takes_what_a_buffer_has)
{
    struct arena *a = arena_new(32);
    struct buf b = BUF_INIT, small;
    struct slice s;

    s = arena_take(a, &b);
    ck_assert(s.data != NULL && s.size == 0);
    buf_put_str(&b, "abc");
    s = arena_take(a, &b);
    ck_assert_ptr_null(b.data);
    ck_assert_str_eq((const char *)s.data, "abc");
    ck_assert_uint_eq(s.size, 3);
    buf_init(&small, 2);
    buf_put_str(&small, "abc");
    ck_assert_ptr_null(arena_take(a, &small).data);
    buf_printf(&b, "%100d", 1);
    ck_assert_ptr_null(arena_take(a, &b).data);
    ck_assert_ptr_null(b.data);
    arena_free(&a);
}
END_TEST

START_TEST(absorbs_another)
{
    struct arena *a = arena_new(0), *b = arena_new(0), *c = arena_new(100000);
    char *texts[3];
    size_t used;

    texts[0] = arena_strdup(a, slice_str("one"));
    texts[1] = arena_strdup(b, slice_str("two"));
    ck_assert_ptr_nonnull(arena_alloc(b, 50000));
    texts[2] = arena_strdup(b, slice_str("three"));
    used = arena_used(a) + arena_used(b);
    ck_assert(arena_absorb(a, &b));
    ck_assert_ptr_null(b);
    ck_assert_uint_eq(arena_used(a), used);
    ck_assert_ptr_nonnull(arena_alloc(a, 3000));
    ck_assert_str_eq(texts[0], "one");
    ck_assert_str_eq(texts[1], "two");
    ck_assert_str_eq(texts[2], "three");
    /* Into an empty one, and where the cap is in the way. */
    ck_assert(arena_absorb(c, &a));
    ck_assert_str_eq(texts[2], "three");
    ck_assert_ptr_nonnull(arena_alloc(c, 100));
    b = arena_new(0);
    ck_assert_ptr_nonnull(arena_alloc(b, 90000));
    ck_assert(!arena_absorb(c, &b));
    ck_assert_ptr_nonnull(b);
    arena_free(&b);
    arena_free(&c);
}
END_TEST

START_TEST(keeps_to_a_budget)
{
    struct budget budget = { .max = 100000 };
    struct arena *a = arena_new_within(0, &budget);
    struct arena *b = arena_new_within(0, &budget), *c = arena_new(0);

    ck_assert_ptr_nonnull(arena_alloc(a, 60000));
    ck_assert_ptr_null(arena_alloc(b, 60000));
    ck_assert_ptr_nonnull(arena_alloc(c, 200000));
    ck_assert_ptr_nonnull(arena_alloc(b, 20000));
    ck_assert_uint_gt(atomic_load(&budget.used), 80000);
    /* What is taken over still counts, until it is freed. */
    ck_assert(arena_absorb(c, &b));
    b = arena_new_within(0, &budget);
    ck_assert_ptr_null(arena_alloc(b, 60000));
    arena_free(&c);
    arena_free(&a);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
    ck_assert_ptr_nonnull(arena_alloc(b, 60000));
    arena_reset(b);
    arena_free(&b);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

START_TEST(counts_what_lies_elsewhere)
{
    struct budget budget = { .max = 100000 };
    struct arena *a = arena_new_within(50000, &budget);
    struct arena *b = arena_new_within(0, &budget), *c = arena_new(0);

    ck_assert(!arena_charge(a, 50001));
    ck_assert(arena_charge(a, 40000));
    ck_assert_ptr_null(arena_alloc(a, 10001));
    ck_assert(arena_charge(b, 50000));
    ck_assert(!arena_charge(b, 20000));
    ck_assert_uint_eq(atomic_load(&budget.used), 90000);
    ck_assert(arena_absorb(c, &b));
    ck_assert_uint_eq(atomic_load(&budget.used), 40000);
    ck_assert_uint_eq(arena_used(c), 50000);
    arena_reset(a);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
    ck_assert(arena_charge(a, 50000));
    b = arena_new_within(0, &budget);
    ck_assert(arena_absorb(b, &a));
    ck_assert_uint_eq(atomic_load(&budget.used), 50000);
    arena_free(&b);
    arena_free(&c);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

/* What an arena took before stays in the budget that it had then. */
START_TEST(changes_its_budget)
{
    struct budget first = { .max = 0 };
    struct budget *second = budget_new(100000, NULL);
    struct arena *a = arena_new_within(0, &first);

    ck_assert_ptr_nonnull(arena_alloc(a, 5000));
    ck_assert(arena_charge(a, 300));
    arena_set_budget(a, second);
    ck_assert_uint_lt(atomic_load(&first.used), 6000);
    ck_assert_uint_ge(atomic_load(&first.used), 5000);
    ck_assert_uint_eq(atomic_load(&second->used), 300);
    ck_assert_ptr_nonnull(arena_alloc(a, 50000));
    ck_assert_ptr_null(arena_alloc(a, 90000));
    ck_assert_uint_eq(atomic_load(&second->refused), 1);
    budget_unref(&second); /* the arena's is the last one */
    arena_free(&a);
    ck_assert_uint_eq(atomic_load(&first.used), 0);
}
END_TEST

TEST_MAIN("arena", TEST(takes_what_a_buffer_has), TEST(changes_its_budget),
          TEST(counts_what_lies_elsewhere), TEST(keeps_to_a_budget),
          TEST(hands_out_what_does_not_overlap), LOOP(keeps_to_its_cap, caps),
          TEST(a_rejection_changes_nothing), TEST(arrays_are_zeroed),
          TEST(arrays_grow), TEST(strings_end), TEST(absorbs_another))

#include "query/aggregate/accumulate.h"

#include <math.h>
#include <string.h>

#include "tests/harness.h"

#define SERIES     9
#define TIMESTAMPS 40

/* What each series gives to each moment, and whether it gives anything. */
struct table {
    union number v[SERIES][TIMESTAMPS];
    size_t from[SERIES], len[SERIES];
};

static void
fill(struct table *t, uint64_t *state, bool doubles)
{
    for (size_t s = 0; s < SERIES; s++) {
        /* The first series gives all, so that no moment has no value. */
        t->from[s] = s == 0 ? 0 : harness_random(state) % TIMESTAMPS;
        t->len[s] = s == 0
                        ? TIMESTAMPS
                        : harness_random(state) % (TIMESTAMPS - t->from[s] + 1);
        for (size_t k = 0; k < TIMESTAMPS; k++) {
            uint64_t x = harness_random(state);

            if (!doubles)
                t->v[s][k].i = x % 3 == 0 ? (int64_t)x : (int64_t)(x % 100);
            else
                t->v[s][k].d =
                    x % 5 == 0 ? (double)NAN : (double)(x % 2000) / 7 - 100;
        }
    }
}

/* The values of moment 'k', in the order of the series. */
static size_t
column(const struct table *t, size_t k, union number *out)
{
    size_t n = 0;

    for (size_t s = 0; s < SERIES; s++)
        if (k >= t->from[s] && k < t->from[s] + t->len[s])
            out[n++] = t->v[s][k];
    return n;
}

static void
check(const struct aggregator *a, bool doubles, const struct table *t,
      const union number *got)
{
    for (size_t k = 0; k < TIMESTAMPS; k++) {
        union number v[SERIES], want;
        size_t n = column(t, k, v);

        want = aggregator_run(a, doubles, v, n);
        ck_assert_msg(doubles && isnan(want.d) ? isnan(got[k].d) != 0
                                               : want.i == got[k].i,
                      "%s: %a is not %a", a->name, got[k].d, want.d);
    }
}

START_TEST(the_same_as_one_by_one)
{
    const struct aggregator *a = aggregator_at((size_t)_i);
    uint64_t state = harness_seed(3) + (uint64_t)_i;
    struct arena *arena = arena_new(0);
    struct accumulator c;
    union number got[TIMESTAMPS];
    struct table t;

    ck_assert(accumulator_init(&c, a, SERIES, TIMESTAMPS, arena));
    ck_assert_uint_eq(c.cap, TIMESTAMPS);
    for (int doubles = 0; doubles <= 1; doubles++) {
        fill(&t, &state, doubles);
        accumulator_begin(&c, doubles, TIMESTAMPS);
        for (size_t s = 0; s < SERIES; s++)
            accumulator_add(&c, t.from[s], t.v[s] + t.from[s], t.len[s]);
        accumulator_end(&c, got);
        if (a->kind != KIND_NONE) /* none has one series */
            check(a, doubles, &t, got);
    }
    arena_free(&arena);
}
END_TEST

START_TEST(stretches_have_bounds)
{
    const struct aggregator *p99 = aggregator_find(slice_str("p99"));
    struct arena *arena = arena_new(0), *small = arena_new(1000);
    struct accumulator c;

    ck_assert(accumulator_init(&c, aggregator_find(slice_str("sum")), 10,
                               1000000, arena));
    ck_assert_uint_lt(c.cap, 10000);
    ck_assert(accumulator_init(&c, p99, 1000000, 1000000, arena));
    ck_assert_uint_eq(c.cap, 1);
    ck_assert(!accumulator_init(&c, p99, 1000000, 1000000, small));
    arena_free(&arena);
    arena_free(&small);
}
END_TEST

TEST_MAIN("accumulate", TIMES(the_same_as_one_by_one, 36),
          TEST(stretches_have_bounds))

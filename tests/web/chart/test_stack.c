/* Series, what is a gap in them, and series on each other. */
#include "web/chart/stack.h"

#include <math.h>

#include "tests/harness.h"

#define S INT64_C(1000)

static const struct {
    int64_t ts_s[8];
    size_t len;
    double gap_s; /* 0: none is usual */
} gaps[] = {
    { { 0 }, 0, 0 },
    { { 5 }, 1, 0 },
    { { 5, 9 }, 2, 0 },
    { { 0, 10, 20, 30 }, 4, 25 },
    { { 0, 10, 20, 90, 100, 110 }, 6, 25 },
    { { 0, 1, 2, 3, 100, 200, 300, 400 }, 8, 242.5 },
};

START_TEST(knows_gaps)
{
    int64_t ts_ms[8];
    struct chart_series s = { .ts_ms = ts_ms, .len = gaps[_i].len };
    double gap;

    for (size_t i = 0; i < 8; i++)
        ts_ms[i] = gaps[_i].ts_s[i] * S;
    gap = series_gap_ms(&s);
    if (gaps[_i].gap_s == 0)
        ck_assert(isinf(gap));
    else
        ck_assert_double_eq(gap, gaps[_i].gap_s * (double)S);
}
END_TEST

START_TEST(counts_numbers)
{
    const double v[] = { NAN, 4, -2, INFINITY, 10, NAN };
    struct series_numbers n =
        series_numbers_of(&(struct chart_series){ .v = v, .len = 6 });

    ck_assert_uint_eq(n.len, 3);
    ck_assert(n.min == -2 && n.max == 10 && n.avg == 4 && n.last == 10);
    ck_assert_uint_eq(series_numbers_of(&(struct chart_series){ 0 }).len, 0);
}
END_TEST

START_TEST(adds_series_of_the_same_times)
{
    const int64_t ts_ms[] = { 0, S, 2 * S };
    const double a[] = { 1, 2, 3 }, b[] = { 10, NAN, -30 };
    const struct chart_series series[] = {
        { .ts_ms = ts_ms, .v = a, .len = 3 },
        { .ts_ms = ts_ms, .v = a, .len = 3, .is_right = true },
        { .ts_ms = ts_ms, .v = b, .len = 3 },
    };
    struct arena *arena = arena_new(0);
    struct stack s;

    ck_assert_int_eq(stack_make(series, 3, arena, &s, NULL), ST_OK);
    ck_assert_uint_eq(s.len, 3);
    ck_assert(s.lo == -27 && s.hi == 11);
    ck_assert(s.base[0] == 0 && s.base[1] == 0 && s.base[2] == 0);
    stack_fill(&s, &series[0]);
    stack_add(&s);
    stack_fill(&s, &series[2]);
    ck_assert(s.v[0] == 10 && isnan(s.v[1]) && s.v[2] == -30);
    stack_add(&s);
    ck_assert(s.base[0] == 11 && s.base[1] == 2 && s.base[2] == -27);
    arena_free(&arena);
}
END_TEST

/* Between near points a series is on their line; in a gap and outside of its
 * times it is not there. */
START_TEST(aligns_series_of_other_times)
{
    const int64_t at[] = { 0, 10 * S, 20 * S, 90 * S, 100 * S, 110 * S };
    const int64_t other[] = { 5 * S, 15 * S, 50 * S, 95 * S, 120 * S };
    const double v[] = { 0, 10, 20, 90, 100, 110 }, one[] = { 1, 1, 1, 1, 1 };
    const struct chart_series series[] = {
        { .ts_ms = at, .v = v, .len = 6 },
        { .ts_ms = other, .v = one, .len = 5 },
    };
    struct arena *arena = arena_new(0);
    struct stack s;

    ck_assert_int_eq(stack_make(series, 2, arena, &s, NULL), ST_OK);
    ck_assert_uint_eq(s.len, 11);
    stack_fill(&s, &series[0]);
    for (size_t i = 0; i < s.len; i++) {
        double t = (double)s.ts_ms[i] / (double)S;

        ck_assert(i == 0 || s.ts_ms[i] > s.ts_ms[i - 1]);
        if (t == 50 || t == 120)
            ck_assert_msg(isnan(s.v[i]), "at %g", t);
        else
            ck_assert_msg(fabs(s.v[i] - t) < 1e-9, "%g at %g", s.v[i], t);
    }
    arena_free(&arena);
    arena = arena_new(1);
    ck_assert_int_eq(stack_make(series, 2, arena, &s, NULL), ST_LIMIT);
    arena_free(&arena);
}
END_TEST

/* Each series has a point at a time of its own. */
START_TEST(rejects_too_many_times)
{
    enum { SERIES = 20000 };
    struct arena *arena = arena_new(0);
    struct chart_series *series = arena_array(arena, SERIES, sizeof *series);
    int64_t *ts_ms = arena_array(arena, SERIES, sizeof *ts_ms);
    const double one = 1;
    struct error e;
    struct stack s;

    for (size_t i = 0; i < SERIES; i++) {
        ts_ms[i] = (int64_t)i;
        series[i] =
            (struct chart_series){ .ts_ms = &ts_ms[i], .v = &one, .len = 1 };
    }
    ck_assert_int_eq(stack_make(series, 1000, arena, &s, &e), ST_OK);
    ck_assert_int_eq(stack_make(series, SERIES, arena, &s, &e), ST_LIMIT);
    ck_assert_ptr_nonnull(strstr(e.text, "20000 series has 20000 times"));
    arena_free(&arena);
}
END_TEST

TEST_MAIN("stack", LOOP(knows_gaps, gaps), TEST(counts_numbers),
          TEST(adds_series_of_the_same_times),
          TEST(aligns_series_of_other_times), TEST(rejects_too_many_times))

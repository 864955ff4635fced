#include "query/model/aggregator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "query/downsample/arithmetic.h"

#define BIG   INT64_MAX
#define SMALL INT64_MIN

/* Each row: a name, values, and what they make as integers and as doubles; the
 * same values are fed to both. */
static const struct {
    const char *name;
    size_t len;
    int64_t in[8];
    int64_t as_int;
    double as_double;
} sames[] = {
    { "sum", 3, { 1, -2, 5 }, 4, 4 },
    { "zimsum", 2, { 7, 8 }, 15, 15 },
    { "pfsum", 2, { 7, 8 }, 15, 15 },
    { "min", 3, { 4, -9, 2 }, -9, -9 },
    { "max", 3, { -4, -9, -2 }, -2, -2 },
    { "mimmin", 3, { 4, 1, 2 }, 1, 1 },
    { "mimmax", 3, { 4, 1, 2 }, 4, 4 },
    { "range", 4, { 4, -9, 2, 6 }, 15, 15 },
    { "range", 1, { 4 }, 0, 0 },
    /* Integers truncate towards zero. */
    { "avg", 2, { 3, 4 }, 3, 3.5 },
    { "avg", 2, { -3, -4 }, -3, -3.5 },
    /* The upper one of an even number of values. */
    { "median", 4, { 40, 10, 30, 20 }, 30, 30 },
    { "median", 3, { 3, 1, 2 }, 2, 2 },
    { "none", 1, { 6 }, 6, 6 },
    { "mult", 3, { 2, -3, 4 }, -24, -24 },
    /* Of the whole population: variance 4, then 8/3. */
    { "dev", 8, { 2, 4, 4, 4, 5, 5, 7, 9 }, 2, 2 },
    { "dev", 3, { 2, 4, 6 }, 1, 1.6329931618554521 },
    { "dev", 1, { 42 }, 0, 0 },
    { "diff", 3, { 5, 100, 2 }, -3, -3 },
    { "diff", 1, { 5 }, 0, 0 },
    { "count", 3, { 0, 0, 0 }, 3, 3 },
    { "squareSum", 3, { 1, -2, 3 }, 14, 14 },
    { "first", 3, { 7, 8, 9 }, 7, 7 },
    { "last", 3, { 7, 8, 9 }, 9, 9 },
    /* LEGACY: (n + 1) p, between neighbours. */
    { "p50", 4, { 40, 10, 30, 20 }, 25, 25 },
    { "p50", 2, { 1, 2 }, 1, 1.5 },
    { "p75", 4, { 10, 20, 30, 40 }, 37, 37.5 },
    { "p90", 4, { 10, 20, 30, 40 }, 40, 40 },
    { "p95", 1, { 8 }, 8, 8 },
    { "p999", 3, { 3, 1, 2 }, 3, 3 },
    /* The estimated ones differ for integers alone. */
    { "ep50r3", 3, { 10, 20, 30 }, 20, 20 },
    { "ep50r3", 2, { 10, 20 }, 10, 15 },
    { "ep75r3", 4, { 10, 20, 30, 40 }, 30, 37.5 },
    { "ep50r7", 4, { 10, 20, 30, 40 }, 25, 25 },
    { "ep75r7", 4, { 10, 20, 30, 40 }, 32, 37.5 },
    { "ep90r7", 2, { 0, 10 }, 9, 10 },
};

START_TEST(the_same_for_both)
{
    const struct aggregator *a = aggregator_find(slice_str(sames[_i].name));
    union number i[8], d[8];

    ck_assert_ptr_nonnull(a);
    for (size_t k = 0; k < sames[_i].len; k++) {
        i[k].i = sames[_i].in[k];
        d[k].d = (double)sames[_i].in[k];
    }
    ck_assert_int_eq(aggregator_run(a, false, i, sames[_i].len).i,
                     sames[_i].as_int);
    ck_assert_double_eq(aggregator_run(a, true, d, sames[_i].len).d,
                        sames[_i].as_double);
}
END_TEST

/* Longs wrap. */
static const struct {
    const char *name;
    size_t len;
    int64_t in[3];
    int64_t out;
} wraps[] = {
    { "sum", 2, { BIG, 1 }, SMALL },
    { "avg", 2, { BIG, 1 }, SMALL / 2 },
    { "mult", 2, { BIG, 2 }, -2 },
    { "squareSum", 1, { INT64_C(1) << 32 }, 0 },
    { "diff", 2, { SMALL, BIG }, -1 },
    { "p50", 2, { BIG, BIG }, BIG },
    { "p50", 2, { SMALL, SMALL }, SMALL },
    { "min", 3, { BIG, 0, SMALL }, SMALL },
    { "range", 3, { BIG, 0, SMALL }, -1 },
    { "median", 2, { BIG, SMALL }, BIG },
};

START_TEST(integers_wrap)
{
    const struct aggregator *a = aggregator_find(slice_str(wraps[_i].name));
    union number v[3];

    memcpy(v, wraps[_i].in, sizeof v);
    ck_assert_int_eq(aggregator_run(a, false, v, wraps[_i].len).i,
                     wraps[_i].out);
}
END_TEST

/* NaN: skipped by most, kept by those that look at places. */
static const struct {
    const char *name;
    size_t len;
    double in[4];
    double out;
} nans[] = {
    { "sum", 3, { 1, NAN, 2 }, 3 },    { "sum", 2, { NAN, NAN }, NAN },
    { "avg", 3, { 1, NAN, 2 }, 1.5 },  { "avg", 1, { NAN }, NAN },
    { "min", 3, { NAN, 4, 2 }, 2 },    { "min", 1, { NAN }, NAN },
    { "min", 1, { INFINITY }, NAN },   { "max", 3, { NAN, 4, 2 }, 4 },
    { "max", 2, { NAN, NAN }, NAN },   { "median", 3, { NAN, 4, 2 }, 4 },
    { "median", 1, { NAN }, NAN },     { "count", 3, { NAN, 4, 2 }, 2 },
    { "count", 1, { NAN }, 0 },        { "squareSum", 2, { NAN, 3 }, 9 },
    { "squareSum", 1, { NAN }, NAN },  { "mult", 2, { NAN, 3 }, NAN },
    { "dev", 3, { NAN, 3, NAN }, 0 },  { "dev", 4, { NAN, 2, NAN, 4 }, 1 },
    { "dev", 1, { NAN }, NAN },        { "diff", 3, { NAN, 3, 5 }, 2 },
    { "diff", 3, { 3, 5, NAN }, NAN }, { "diff", 2, { NAN, 5 }, 0 },
    { "first", 2, { NAN, 5 }, NAN },   { "last", 2, { 5, NAN }, NAN },
    { "p50", 3, { NAN, 1, 2 }, 1.5 },  { "p99", 1, { NAN }, NAN },
    { "range", 3, { NAN, 4, 2 }, 2 },  { "range", 2, { NAN, NAN }, NAN },
};

START_TEST(nans_are_skipped)
{
    const struct aggregator *a = aggregator_find(slice_str(nans[_i].name));
    union number v[4];
    double out;

    memcpy(v, nans[_i].in, sizeof v);
    out = aggregator_run(a, true, v, nans[_i].len).d;
    if (isnan(nans[_i].out))
        ck_assert(isnan(out));
    else
        ck_assert_double_eq(out, nans[_i].out);
}
END_TEST

static const struct {
    const char *name;
    enum interpolation interpolation;
} methods[] = {
    { "sum", INTERPOLATE_LINEAR },    { "avg", INTERPOLATE_LINEAR },
    { "p99", INTERPOLATE_LINEAR },    { "zimsum", INTERPOLATE_ZIM },
    { "count", INTERPOLATE_ZIM },     { "first", INTERPOLATE_ZIM },
    { "squareSum", INTERPOLATE_ZIM }, { "mimmin", INTERPOLATE_MAX },
    { "mimmax", INTERPOLATE_MIN },    { "pfsum", INTERPOLATE_PREV },
    { "range", INTERPOLATE_LINEAR },
};

START_TEST(each_interpolates_its_way)
{
    ck_assert_int_eq(
        aggregator_find(slice_str(methods[_i].name))->interpolation,
        methods[_i].interpolation);
}
END_TEST

START_TEST(all_have_names)
{
    size_t n = 0, none = 0;

    for (; aggregator_at(n) != NULL; n++) {
        const struct aggregator *a = aggregator_at(n);

        ck_assert_ptr_eq(aggregator_find(slice_str(a->name)), a);
        none += a->kind == KIND_NONE;
        for (int doubles = 0; doubles < 2 && !aggregator_sorts(a); doubles++)
            ck_assert_ptr_nonnull(aggregator_arithmetic[a->kind].all[doubles]);
    }
    ck_assert_uint_eq(n, 36);
    ck_assert_uint_eq(none, 1);
    ck_assert_ptr_null(aggregator_find(slice_str("SUM")));
    ck_assert_ptr_null(aggregator_find(slice_str("squaresum")));
    ck_assert_ptr_null(aggregator_find(slice_str("")));
}
END_TEST

/* Many values take another way through the sort. */
START_TEST(percentiles_of_many)
{
    static union number i[1001], d[1001];
    const struct aggregator *a = aggregator_find(slice_str("p90"));

    for (int k = 0; k <= 1000; k++) {
        i[k].i = (k * 8) % 1001;
        d[k].d = (double)i[k].i;
    }
    /* Place 0.9 * 1002 = 901.8: between the values 900 and 901. */
    ck_assert_int_eq(aggregator_run(a, false, i, 1001).i, 900);
    ck_assert_double_eq_tol(aggregator_run(a, true, d, 1001).d, 900.8, 1e-9);
}
END_TEST

static int
ascending(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return (a > b) - (a < b);
}

/* Any number of values in any order, many of them equal: the median is what a
 * sort brings to its place, as integer and as double. */
START_TEST(selects_what_a_sort_would)
{
    uint64_t random = harness_seed((unsigned long)_i);
    const struct aggregator *a = aggregator_find(slice_str("median"));
    static union number i[600], d[600];
    static double sorted[600];

    for (size_t n = 0; n < 300; n++) {
        size_t len = 1 + harness_random(&random) % 600;
        uint64_t kinds = 1 + harness_random(&random) % (n % 3 == 0 ? 4 : 4000);
        bool ordered = harness_random(&random) % 4 == 0;

        for (size_t k = 0; k < len; k++) {
            i[k].i = ordered ? 40 - (int64_t)k
                             : (int64_t)(harness_random(&random) % kinds) - 50;
            sorted[k] = d[k].d = (double)i[k].i / 4;
        }
        qsort(sorted, len, sizeof *sorted, ascending);
        ck_assert(aggregator_run(a, true, d, len).d == sorted[len / 2]);
        ck_assert_int_eq(aggregator_run(a, false, i, len).i,
                         (int64_t)(sorted[len / 2] * 4));
    }
}
END_TEST

TEST_MAIN("aggregator", LOOP(the_same_for_both, sames),
          LOOP(integers_wrap, wraps), LOOP(nans_are_skipped, nans),
          LOOP(each_interpolates_its_way, methods), TEST(all_have_names),
          TEST(percentiles_of_many), TEST(selects_what_a_sort_would))

#include "web/axis/scale.h"

#include <math.h>

#include "tests/harness.h"

#define MIN(v) true, false, v, 0
#define MAX(v) false, true, 0, v
#define NO     false, false, 0, 0

static const struct {
    double lo, hi;
    struct scale_range range;
    size_t want;
    double from, to, first, step;
    size_t ticks;
} cases[] = {
    { 3, 97, { false, NO }, 5, 0, 100, 0, 20, 6 },
    { 60, 97, { false, NO }, 4, 60, 100, 60, 10, 5 },
    { -3, 7, { false, NO }, 6, -4, 8, -4, 2, 7 },
    { -90, -1, { false, NO }, 5, -100, 0, -100, 20, 6 },
    { 3, 97, { false, MIN(10) }, 5, 10, 100, 20, 20, 5 },
    { 3, 97, { false, MAX(50) }, 5, 0, 50, 0, 10, 6 },
    { 3, 97, { false, true, true, 0, 7 }, 7, 0, 7, 0, 1, 8 },
    { 5, 5, { false, NO }, 4, 4.5, 5.5, 4.5, 0.25, 5 },
    { 0, 0, { false, NO }, 4, -1, 1, -1, 0.5, 5 },
    { 1, -1, { false, NO }, 5, 0, 10, 0, 2, 6 },
    { 1, -1, { false, MIN(90) }, 4, 90, 100, 90, 2.5, 5 },
    { 3, 700, { true, NO }, 5, 1, 1000, 1, 1, 4 },
    { 3, 70, { true, NO }, 5, 1, 100, 1, 1, 7 },
    { 3, 700, { true, MIN(0) }, 5, 1, 1000, 1, 1, 4 },
    { 3, 700, { true, MIN(10) }, 5, 10, 1000, 10, 10, 7 },
    { 1e-9, 1e9, { true, NO }, 6, 1e-9, 1e9, 1e-9, 1e-9, 7 },
    { 1, -1, { true, NO }, 6, 1, 10, 1, 1, 4 },
    { 1,
      9,
      { true, true, true, 10, 10 * (1 + 2e-9) },
      6,
      10,
      10 * (1 + 2e-9),
      10,
      10,
      1 },
};

static bool
near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

START_TEST(fits_values)
{
    struct scale s;

    scale_make(&s, cases[_i].lo, cases[_i].hi, &cases[_i].range,
               cases[_i].want);
    ck_assert_msg(near(s.lo, cases[_i].from) && near(s.hi, cases[_i].to) &&
                      s.ticks_len == cases[_i].ticks &&
                      near(s.ticks[0], cases[_i].first) &&
                      near(s.step, cases[_i].step),
                  "%g to %g, %zu ticks from %g by %g", s.lo, s.hi, s.ticks_len,
                  s.ticks[0], s.step);
    ck_assert(near(scale_place(&s, s.lo) + 1, 1));
    ck_assert(near(scale_place(&s, s.hi), 1));
}
END_TEST

static double
any(uint64_t *seed)
{
    static const double odd[] = { 0,      -0.0, 1e308,    -1.7e308, 5e-324,
                                  1e-300, 1,    INFINITY, -INFINITY };
    uint64_t r = harness_random(seed);
    double v;

    if (r % 3 == 0)
        return odd[r / 3 % (sizeof odd / sizeof odd[0])];
    r = harness_random(seed);
    memcpy(&v, &r, sizeof v);
    return isnan(v) ? 1 : v;
}

START_TEST(is_sane_for_any_numbers)
{
    uint64_t seed = harness_seed(21);

    for (int i = 0; i < harness_rounds(100000); i++) {
        struct scale_range r = { i % 2, i % 3 == 0, i % 5 == 0, any(&seed),
                                 any(&seed) };
        double lo = any(&seed), hi = any(&seed);
        struct scale s;

        scale_make(&s, lo, hi, &r, (size_t)i % 30);
        ck_assert_msg(isfinite(s.lo) && isfinite(s.hi) && s.lo < s.hi &&
                          (!r.log || s.lo > 0),
                      "%d: %g to %g of %g to %g", i, s.lo, s.hi, lo, hi);
        ck_assert_uint_le(s.ticks_len, SCALE_TICKS_MAX);
        for (size_t k = 0; k < s.ticks_len; k++) {
            double place = scale_place(&s, s.ticks[k]);

            ck_assert_msg(place > -0.01 && place < 1.01, "%d: %g at %g", i,
                          s.ticks[k], place);
        }
        ck_assert(scale_place(&s, hi) <= 1001 || isnan(scale_place(&s, hi)));
    }
}
END_TEST

TEST_MAIN("scale", LOOP(fits_values, cases), TEST(is_sane_for_any_numbers))

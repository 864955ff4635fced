#include "query/downsample/downsample.h"

#include <math.h>
#include <string.h>

#include "tests/harness.h"

#define POINTS 400

struct random_dps {
    int64_t ts_ms[POINTS];
    union number v[POINTS];
    uint8_t kind[POINTS];
    struct dps dps;
};

static void
make_points(struct random_dps *p, uint64_t *state, size_t len)
{
    int64_t ms = INT64_C(1356998400000) + (int64_t)(harness_random(state) % 99);

    for (size_t i = 0; i < len; i++) {
        uint64_t x = harness_random(state);

        ms += 1 + (int64_t)(x % 7 == 0 ? x % 100000 : x % 900);
        p->ts_ms[i] = ms;
        p->kind[i] = x % 11 == 0 ? DP_NULL : x % 3 == 0 ? DP_INT : DP_DOUBLE;
        if (p->kind[i] == DP_INT)
            p->v[i].i = (int64_t)(x >> 8) % 9 - 4;
        else
            p->v[i].d = p->kind[i] == DP_NULL || x % 13 == 0
                            ? (double)NAN
                            : (double)((int64_t)(x >> 8) % 9 - 4);
    }
    p->dps = (struct dps){ p->ts_ms, p->v, p->kind, len };
}

static double
value(const struct dps *d, size_t i)
{
    return d->kind[i] == DP_INT ? (double)d->v[i].i : d->v[i].d;
}

/* Of the points of the bucket that holds 'ms': the first, the last, and the
 * first of the least and of the greatest; 'len' where there is none. */
struct naive {
    size_t first, last, least, most, len;
};

static struct naive
look_at(const struct downsample *spec, const struct dps *d, int64_t ms)
{
    struct naive n = { d->len, d->len, d->len, d->len, 0 };

    for (size_t i = 0; i < d->len; i++) {
        if (!spec->all &&
            d->ts_ms[i] / spec->interval_ms != ms / spec->interval_ms)
            continue;
        n.len++;
        n.last = i;
        if (n.first == d->len)
            n.first = i;
        if (isnan(value(d, i)))
            continue;
        if (n.least == d->len || value(d, i) < value(d, n.least))
            n.least = i;
        if (n.most == d->len || value(d, i) > value(d, n.most))
            n.most = i;
    }
    return n;
}

/* Is the i-th of the raw points kept? */
static bool
is_wanted(const struct downsample *spec, const struct dps *raw, size_t i)
{
    struct naive n = look_at(spec, raw, raw->ts_ms[i]);

    if (n.least == raw->len) /* of a bucket without a number */
        n.least = n.most = n.first;
    return i == n.least || i == n.most ||
           (spec->thin == THIN_M4 && (i == n.first || i == n.last));
}

START_TEST(keeps_what_a_naive_walk_keeps)
{
    static const int64_t intervals[] = { 0, 1, 1000, 7000, 60000, 86400000 };
    uint64_t state = harness_seed(5) + (uint64_t)_i;
    struct downsample spec = {
        .thin = _i % 2 == 0 ? THIN_MINMAX : THIN_M4,
        .interval_ms = intervals[_i / 2 % 6],
        .all = _i / 2 % 6 == 0,
    };
    struct random_dps raw, got;
    size_t n = 0;

    make_points(&raw, &state, _i < 2 ? 0 : harness_random(&state) % POINTS);
    got = raw;
    got.dps = (struct dps){ got.ts_ms, got.v, got.kind, raw.dps.len };
    thin_dps(&spec, &got.dps);
    for (size_t i = 0; i < raw.dps.len; i++) {
        if (!is_wanted(&spec, &raw.dps, i))
            continue;
        ck_assert_uint_lt(n, got.dps.len);
        ck_assert_int_eq(got.ts_ms[n], raw.ts_ms[i]);
        ck_assert_int_eq(got.kind[n], raw.kind[i]);
        ck_assert_int_eq(got.v[n].i, raw.v[i].i);
        n++;
    }
    ck_assert_uint_eq(n, got.dps.len);
}
END_TEST

/* Doubles could not tell them apart. */
START_TEST(large_integers_differ)
{
    int64_t ts[] = { 1000, 2000, 3000 };
    union number v[] = { { .i = INT64_MAX - 1 },
                         { .i = INT64_MAX - 2 },
                         { .i = INT64_MAX } };
    uint8_t kind[] = { DP_INT, DP_INT, DP_INT };
    struct dps d = { ts, v, kind, 3 };

    thin_dps(&(struct downsample){ .thin = THIN_MINMAX, .all = true }, &d);
    ck_assert_uint_eq(d.len, 2);
    ck_assert_int_eq(ts[0], 2000);
    ck_assert_int_eq(ts[1], 3000);
}
END_TEST

/* A day of the calendar, across midnight of UTC. */
START_TEST(follows_the_calendar)
{
    int64_t ts[] = { INT64_C(1356998400000), INT64_C(1356998460000),
                     INT64_C(1357016400000) };
    union number v[] = { { .i = 1 }, { .i = 2 }, { .i = 3 } };
    uint8_t kind[] = { DP_INT, DP_INT, DP_INT };
    struct dps d = { ts, v, kind, 3 };
    struct downsample spec = { .thin = THIN_MINMAX,
                               .calendar = true,
                               .interval_ms = 86400000,
                               .count = 1,
                               .unit = UNIT_D };

    ck_assert_int_eq(
        timezone_find(slice_str("America/New_York"), &spec.zone, NULL), ST_OK);
    thin_dps(&spec, &d);
    ck_assert_uint_eq(d.len, 3);
    spec.zone = timezone_utc();
    thin_dps(&spec, &d);
    ck_assert_uint_eq(d.len, 2);
    ck_assert_int_eq(v[1].i, 3);
}
END_TEST

TEST_MAIN("thin", TIMES(keeps_what_a_naive_walk_keeps, 240),
          TEST(large_integers_differ), TEST(follows_the_calendar))

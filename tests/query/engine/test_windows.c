/* A range shows what a wider one shows there, where the same hours are
 * scanned: of open rows a narrow one copies and unpacks only a part.  And no
 * query unpacks a row more often than it must. */
#include "query/parse/parse.h"

#include <stdlib.h>
#include <string.h>

#include "query/downsample/reading.h"
#include "tests/query/engine/world.h"

#define SERIES  5
#define HOURS   3
#define ROUNDS  40
#define QUERIES 40

static struct world w;
static struct arena *a;
static uint64_t state;
static size_t cut; /* queries that did not unpack all */

static void
setup(void)
{
    a = arena_new(0);
    w = open_world(4, 0);
}

static void
teardown(void)
{
    arena_free(&a);
    close_world(&w);
}

static int64_t
below(int64_t n)
{
    return (int64_t)(harness_random(&state) % (uint64_t)n);
}

/* A row at equal distances, which begins and ends anywhere in its hour. */
static void
put_row(struct series_point *p, int64_t hour_ms)
{
    static const int64_t steps[] = { 1000, 10000, 10000, 15000, 60000, 7001 };
    int64_t step_ms = steps[below(6)];
    int64_t ms = below(3) == 0 ? below(HOUR_MS) : below(step_ms);
    int64_t end_ms = below(3) == 0 ? below(HOUR_MS) : HOUR_MS;
    bool is_float = below(3) == 0;

    for (; ms < end_ms; ms += step_ms) {
        p->point = (struct point){ hour_ms + ms, { .i = below(2000) }, false };
        if (is_float)
            p->point = (struct point){ hour_ms + ms,
                                       { .d = (double)below(2000) / 100 },
                                       true };
        ck_assert_int_eq(store_put(w.store, p, 1, NULL, &e), ST_OK);
    }
}

static void
put_metric(const char *metric)
{
    struct series_rules rules = { true, true, true, 8, false };
    struct series_point p;
    struct tsuid tsuid;

    for (int s = 0; s < SERIES; s++) {
        char text[16];
        struct tag tag = { .key = slice_str("a") };

        (void)snprintf(text, sizeof text, "v%d", s);
        tag.value = slice_str(text);
        ck_assert_int_eq(series_resolve(w.series, &rules,
                                        &(struct series_text){
                                            0, slice_str(metric), &tag, 1 },
                                        &p.series, &tsuid, &e),
                         ST_OK);
        for (int h = 0; h < HOURS; h++)
            if (below(5) > 0)
                put_row(&p, T0 + h * HOUR_MS);
    }
}

/* The query stays until the next one. */
static void
ask(int64_t start_ms, int64_t end_ms, const char *m, struct query *q,
    struct query_result *out)
{
    const struct parse_options po = { .now_ms = T0 + 100 * HOUR_MS };
    struct parse_error pe;
    struct query_param params[] = { { slice_str("start"), { 0 } },
                                    { slice_str("end"), { 0 } },
                                    { slice_str("m"), slice_str(m) } };
    char *start = arena_alloc(a, 24), *end = arena_alloc(a, 24);

    (void)snprintf(start, 24, "%lld", (long long)start_ms);
    (void)snprintf(end, 24, "%lld", (long long)end_ms);
    params[0].value = slice_str(start);
    params[1].value = slice_str(end);
    ck_assert_msg(query_parse_uri(params, 3, &po, a, q, &pe) == ST_OK, "%s: %s",
                  m, pe.message.text);
    ck_assert_msg(engine_run(w.engine, q, CANCEL_NEVER, NULL, a, out, &pe) ==
                      ST_OK,
                  "%s: %s", m, pe.message.text);
}

/* Those of 'all' from the start to the end. */
static void
check_dps(const struct dps *some, const struct dps *all, int64_t start_ms,
          int64_t end_ms, const char *m)
{
    size_t from = times_seek(all->ts_ms, all->len, start_ms);
    size_t len = times_seek(all->ts_ms, all->len, end_ms + 1) - from;

    ck_assert_msg(some->len == len, "%s from %lld to %lld: %zu, not %zu", m,
                  (long long)start_ms, (long long)end_ms, some->len, len);
    for (size_t i = 0; i < len; i++)
        ck_assert_msg(some->ts_ms[i] == all->ts_ms[from + i] &&
                          some->kind[i] == all->kind[from + i] &&
                          (some->kind[i] == DP_NULL ||
                           some->v[i].i == all->v[from + i].i),
                      "%s from %lld to %lld, at %lld", m, (long long)start_ms,
                      (long long)end_ms, (long long)some->ts_ms[i]);
}

static void
check_range(const char *metric)
{
    static const char *const aggregators[] = { "sum",    "avg",   "max",
                                               "zimsum", "count", "dev" };
    static const char *const rates[] = { "", "", ":rate", ":rate{counter}",
                                         ":rate{dropcounter}" };
    static const char *const intervals[] = { "1s", "10s", "30s", "1m", "20m" };
    static const char *const functions[] = { "avg",  "sum",   "max", "first",
                                             "last", "count", "dev", "p50" };
    static const char *const fills[] = { "", "", "-nan", "-zero" };
    int64_t start_ms = T0 + below(HOURS * HOUR_MS);
    int64_t end_ms = start_ms + 1 + below(below(2) == 0 ? 600000 : HOUR_MS);
    char m[128], downsample[32] = "";
    struct query narrow, wide;
    struct query_result some, all;
    struct query_reading r, wider;

    if (below(4) > 0)
        (void)snprintf(downsample, sizeof downsample, ":%s-%s%s",
                       intervals[below(5)], functions[below(8)],
                       fills[below(4)]);
    (void)snprintf(m, sizeof m, "%s%s%s:%s%s", aggregators[below(6)],
                   rates[below(5)], downsample, metric,
                   below(3) == 0 ? "{a=*}" : "");
    ask(start_ms, end_ms, m, &narrow, &some);
    reading_make(&r, &narrow, &narrow.subs[0]);
    ask(r.from_base * INT64_C(1000),
        r.to_base * INT64_C(1000) + HOUR_MS - 20 * 60000, m, &wide, &all);
    reading_make(&wider, &wide, &wide.subs[0]);
    ck_assert_uint_eq(r.from_base, wider.from_base);
    ck_assert_uint_eq(r.to_base, wider.to_base);
    ck_assert_uint_eq(some.groups_len, all.groups_len);
    if (end_ms > wide.end_ms)
        end_ms = wide.end_ms;
    for (size_t i = 0; i < some.groups_len; i++) {
        struct dps *dps = &some.groups[i].dps;

        dps->len = times_seek(dps->ts_ms, dps->len, end_ms + 1);
        check_dps(dps, &all.groups[i].dps, start_ms, end_ms, m);
    }
    ck_assert_uint_eq(some.stats[0].points, all.stats[0].points);
    cut += some.stats[0].decoded < all.stats[0].decoded;
    query_fini(&narrow);
    query_fini(&wide);
    arena_reset(a);
}

START_TEST(shows_what_a_wider_one_shows)
{
    state = harness_seed((unsigned long)_i);
    for (int round = 0; round < ROUNDS; round++) {
        char metric[16];

        (void)snprintf(metric, sizeof metric, "m%d", round);
        put_metric(metric);
        for (int i = 0; i < QUERIES; i++)
            check_range(metric);
    }
    ck_assert_uint_gt(cut, ROUNDS * QUERIES / 10);
}
END_TEST

#define YEAR_HOURS (366 * 24) /* 2012 */

/* A point each hour of a leap year. */
static void
put_leap_year(void)
{
    static struct series_point p[YEAR_HOURS];
    struct series_rules rules = { true, true, true, 8, false };
    struct tag tag = { slice_str("a"), slice_str("v") };
    struct tsuid tsuid;

    ck_assert_int_eq(
        series_resolve(w.series, &rules,
                       &(struct series_text){ 0, slice_str("m"), &tag, 1 },
                       &p[0].series, &tsuid, &e),
        ST_OK);
    for (int64_t i = 0; i < YEAR_HOURS; i++)
        p[i] = (struct series_point){
            .series = p[0].series,
            .point = { T0 - (YEAR_HOURS - i) * HOUR_MS, { .i = i % 97 }, false }
        };
    ck_assert_int_eq(store_put(w.store, p, YEAR_HOURS, NULL, &e), ST_OK);
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
}

static const struct {
    const char *m;
    unsigned ends; /* of buckets that lie within rows */
} collected[] = {
    { "sum:1nc-p95:m", 0 },   { "sum:1nc-median:m", 0 },
    { "sum:1n-dev:m", 0 },    { "sum:1yc-p50:m", 0 },
    { "sum:2wc-p99:m", 0 },   { "sum:7d-mult:m", 0 },
    { "sum:0all-diff:m", 0 }, { "sum:100h-p95:m", YEAR_HOURS / 100 + 1 },
};

/* Functions that need all points of a bucket unpack each row once, and rows in
 * which a bucket ends twice, also by months of 31 days. */
START_TEST(buckets_unpack_rows_once)
{
    struct query q;
    struct query_result r;

    put_leap_year();
    ask(T0 - YEAR_HOURS * HOUR_MS, T0, collected[_i].m, &q, &r);
    ck_assert_uint_eq(r.stats[0].points, YEAR_HOURS);
    ck_assert_uint_ge(r.stats[0].decoded, YEAR_HOURS);
    ck_assert_uint_le(r.stats[0].decoded, YEAR_HOURS + collected[_i].ends * 6);
    query_fini(&q);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "windows",
               TIMES(shows_what_a_wider_one_shows, 4),
               LOOP(buckets_unpack_rows_once, collected))

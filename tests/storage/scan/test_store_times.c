/* The oldest and the newest point of a store, held against a model that knows
 * all points: several metrics, rollups beside them, in head and engine, before
 * and after deletions. */
#include "storage/scan/store_scan.h"

#include "tests/harness.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define T0      INT64_C(1356998400000)
#define METRICS 5
#define SERIES  4 /* of each metric; the last one is a rollup */
#define POINTS  400
#define ABSENT  INT64_MIN

static struct error e;

struct world {
    char *dir;
    struct store *s;
    struct store_options options;
    struct {
        unsigned metric, series;
        int64_t ts_ms; /* ABSENT: deleted */
    } points[POINTS];
    size_t len;
    uint64_t random;
};

static const uint8_t salts[] = { 0, 1 };

static void
world_open(struct world *w, int i)
{
    *w = (struct world){
        .dir = tempdir_new(),
        .random = harness_seed(20 + (unsigned long)i),
    };
    w->options = (struct store_options){ .dir = w->dir,
                                         .layout = KEY_LAYOUT_DEFAULT,
                                         .sync = WAL_SYNC_OFF };
    w->options.layout.salt_width = salts[i];
    w->options.layout.salt_buckets = salts[i] == 0 ? 1 : 3;
    ck_assert_msg(store_open(&w->options, &w->s, &e) == ST_OK, "%s", e.text);
}

static void
world_close(struct world *w)
{
    ck_assert_msg(store_close(&w->s, &e) == ST_OK, "%s", e.text);
    tempdir_free(&w->dir);
}

static struct slice
name(unsigned metric, unsigned series, uint8_t out[15])
{
    return tsuid_of(out, metric, series, series == SERIES - 1);
}

static void
put(struct world *w, unsigned metric, unsigned series, int64_t ts_ms)
{
    struct series_point p = { .point = { ts_ms, { .i = 7 }, false } };
    uint8_t bytes[15];
    uint64_t lsn;

    ck_assert_uint_lt(w->len, POINTS);
    ck_assert_int_eq(
        store_series(w->s, name(metric, series, bytes), false, &p.series, &e),
        ST_OK);
    ck_assert_int_eq(store_put(w->s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(w->s, lsn, false, &e), ST_OK);
    w->points[w->len].metric = metric;
    w->points[w->len].series = series;
    w->points[w->len++].ts_ms = ts_ms;
}

static void
drop(struct world *w, unsigned metric, unsigned series, int64_t from_ms,
     int64_t to_ms)
{
    uint8_t bytes[15];
    uint64_t deleted, lsn;

    ck_assert_int_eq(store_delete(w->s, name(metric, series, bytes), from_ms,
                                  to_ms, &deleted, &lsn, &e),
                     ST_OK);
    for (size_t i = 0; i < w->len; i++)
        if (w->points[i].metric == metric && w->points[i].series == series &&
            w->points[i].ts_ms >= from_ms && w->points[i].ts_ms <= to_ms)
            w->points[i].ts_ms = ABSENT;
}

static bool
is_cancelled(void *ctx)
{
    (void)ctx;
    return true;
}

/* Without rollups, and with them. */
static void
compare(struct world *w)
{
    for (unsigned least = 0; least < 2; least++) {
        const struct store_times_spec spec = { least, CANCEL_NEVER };
        struct point_times expected = POINT_TIMES_NONE, got;

        for (size_t i = 0; i < w->len; i++)
            if (w->points[i].ts_ms != ABSENT &&
                (least == 0 || w->points[i].series < SERIES - 1))
                point_times_widen(&expected, w->points[i].ts_ms,
                                  w->points[i].ts_ms);
        ck_assert_msg(store_times(w->s, &spec, &got, &e) == ST_OK, "%s",
                      e.text);
        ck_assert_int_eq(got.oldest_ms, expected.oldest_ms);
        ck_assert_int_eq(got.newest_ms, expected.newest_ms);
    }
}

static void
flush(struct world *w)
{
    ck_assert_msg(store_flush(w->s, &e) == ST_OK, "%s", e.text);
}

/* The same from the head, from the engine, and after the next start. */
static void
compare_everywhere(struct world *w)
{
    compare(w);
    flush(w);
    compare(w);
    ck_assert_int_eq(store_close(&w->s, &e), ST_OK);
    ck_assert_int_eq(store_open(&w->options, &w->s, &e), ST_OK);
    compare(w);
}

START_TEST(an_empty_store_has_none)
{
    const struct store_times_spec spec = { 1, CANCEL_NEVER };
    struct point_times got;
    struct world w;

    world_open(&w, _i);
    ck_assert_int_eq(store_times(w.s, &spec, &got, &e), ST_OK);
    ck_assert(point_times_are_none(&got));
    put(&w, 0, 0, T0);
    drop(&w, 0, 0, 0, POINT_MAX_TS_MS);
    ck_assert_int_eq(store_times(w.s, &spec, &got, &e), ST_OK);
    ck_assert(point_times_are_none(&got));
    put(&w, 0, SERIES - 1, T0); /* a rollup alone */
    compare_everywhere(&w);
    ck_assert_int_eq(store_times(w.s, &spec, &got, &e), ST_OK);
    ck_assert(point_times_are_none(&got));
    world_close(&w);
}
END_TEST

START_TEST(points_at_the_ends_of_time)
{
    struct world w;

    world_open(&w, _i);
    put(&w, 1, 0, T0 + 5);
    compare_everywhere(&w);
    put(&w, 1, 1, POINT_MAX_TS_MS);
    put(&w, 3, 1, 0);
    compare_everywhere(&w);
    drop(&w, 1, 1, POINT_MAX_TS_MS, POINT_MAX_TS_MS);
    drop(&w, 3, 1, 0, 0);
    compare_everywhere(&w);
    world_close(&w);
}
END_TEST

/* Within an hour the newest point need not have come last. */
START_TEST(points_in_any_order)
{
    struct world w;

    world_open(&w, _i);
    put(&w, 0, 0, T0 + 5000);
    put(&w, 0, 0, T0 + 9000);
    put(&w, 0, 0, T0 + 1000);
    put(&w, 0, 0, T0 + 7000);
    compare_everywhere(&w);
    world_close(&w);
}
END_TEST

/* Spans that have rollups alone, before and behind the points. */
START_TEST(rollups_around_points)
{
    struct world w;

    world_open(&w, _i);
    for (int64_t i = -40; i <= 40; i++)
        put(&w, 2, SERIES - 1, T0 + i * 5 * HOUR_MS);
    put(&w, 2, 0, T0 - HOUR_MS);
    put(&w, 2, 1, T0 + 2 * HOUR_MS);
    compare_everywhere(&w);
    drop(&w, 2, 0, 0, POINT_MAX_TS_MS);
    compare_everywhere(&w);
    drop(&w, 2, 1, 0, POINT_MAX_TS_MS);
    compare_everywhere(&w);
    world_close(&w);
}
END_TEST

START_TEST(anything_at_random)
{
    struct world w;

    world_open(&w, _i % 2);
    w.random += (uint64_t)_i * 1000;
    while (w.len < POINTS / 2) {
        unsigned metric = (unsigned)(harness_random(&w.random) % METRICS);
        unsigned series = (unsigned)(harness_random(&w.random) % SERIES);
        int64_t width = HOUR_MS << harness_random(&w.random) % 16;
        int64_t from =
            T0 + (int64_t)(harness_random(&w.random) % (uint64_t)width);

        switch (harness_random(&w.random) % 12) {
        case 0:
            flush(&w);
            break;
        case 1:
            drop(&w, metric, series, from, from + width);
            break;
        case 2:
            compare(&w);
            break;
        default:
            put(&w, metric, series, from);
        }
    }
    compare_everywhere(&w);
    world_close(&w);
}
END_TEST

START_TEST(ends_when_it_is_cancelled)
{
    const struct store_times_spec spec = { 1, { is_cancelled, NULL } };
    struct point_times got;
    struct world w;

    world_open(&w, _i);
    put(&w, 0, 0, T0);
    ck_assert_int_eq(store_times(w.s, &spec, &got, &e), ST_BUSY);
    world_close(&w);
}
END_TEST

TEST_MAIN("store_times", LOOP(an_empty_store_has_none, salts),
          LOOP(points_at_the_ends_of_time, salts),
          LOOP(points_in_any_order, salts), LOOP(rollups_around_points, salts),
          TIMES(anything_at_random, 40), LOOP(ends_when_it_is_cancelled, salts))

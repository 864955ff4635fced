/* Weeks in the place of rows, held against a model that knows all points: after
 * late points, deletions and starts, by each way of a scan, with some weeks
 * rejected; what a scan lends is each point once. */
#include "storage/store/store.h"

#include <time.h>

#include "storage/scan/store_scan.h"
#include "storage/store/store_priv.h"
#include "storage/store/store_retention.h"
#include "tests/harness.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define SERIES 10 /* the last one is a rollup, which scans do not take */
#define WEEKS  5
#define T0     UINT32_C(1356566400) /* a week begins: 2012-12-27 */
#define DAYS   (WEEKS * WEEK_DAYS)
#define END    (T0 + WEEKS * WEEK_S)
#define POINTS 6000

static struct error e;

struct world {
    char *dir;
    struct store *s;
    struct store_options options;
    struct clock clock;
    int64_t now_ms;
    uint64_t random;
    struct {
        unsigned series;
        int64_t ts_ms;
        double value;
        bool gone;
    } points[POINTS];
    size_t len;
    /* Points came to weeks before the raw cut that have no hourly values yet.
     */
    bool fresh[SERIES][WEEKS];
};

static int64_t
now_ms(const struct clock *c)
{
    (void)c;
    return (int64_t)(END + WEEK_S) * 1000;
}

static uint64_t
below(struct world *w, uint64_t n)
{
    return harness_random(&w->random) % n;
}

/* Of even series values are integers, of odd ones quarters: sums are exact. */
static double
value_of(struct world *w, unsigned series)
{
    double v = (double)below(w, 4000) - 2000;

    return series % 2 == 0 ? v : v / 4;
}

static struct slice
name(unsigned series, uint8_t out[15])
{
    return tsuid_of(out, 0, series, series == SERIES - 1);
}

static const struct {
    uint8_t salt_width, row_hours;
    bool in_memory;
} layouts[] = { { 1, 6, false }, { 0, 24, false }, { 1, 1, true } };

static void
open_store(struct world *w)
{
    ck_assert_msg(store_open(&w->options, &w->s, &e) == ST_OK, "%s", e.text);
}

static void
world_open(struct world *w, int i)
{
    struct kv_batch *b = kv_batch_new();

    *w = (struct world){
        .dir = tempdir_new(),
        .clock = { .now_ms = now_ms },
        .random = harness_seed(40 + (unsigned long)i),
    };
    w->options = (struct store_options){
        .dir = layouts[i].in_memory ? NULL : w->dir,
        .layout = KEY_LAYOUT_DEFAULT,
        .clock = &w->clock,
        .summary_delay_ms = 1,
        .sync = WAL_SYNC_OFF,
    };
    w->options.layout.salt_width = layouts[i].salt_width;
    w->options.layout.salt_buckets = layouts[i].salt_width == 0 ? 1 : 3;
    w->options.layout.row_hours = layouts[i].row_hours;
    open_store(w);
    for (unsigned k = 0; k < SERIES; k++) {
        uint8_t tsuid[15], key[1 + TSUID_MAX];

        kv_batch_put(b, slice_of(key, key_series(name(k, tsuid), key)),
                     slice_of("\0\0\0\1", 4));
    }
    ck_assert_int_eq(store_write(w->s, b, NULL, &e), ST_OK);
    kv_batch_free(&b);
}

static void
world_close(struct world *w)
{
    ck_assert_int_eq(store_close(&w->s, &e), ST_OK);
    tempdir_free(&w->dir);
}

static void
put_only(struct world *w, unsigned series, int64_t ts_ms, double v)
{
    bool is_float = series % 2 == 1;
    struct series_point p = { .point = { ts_ms, { .d = v }, is_float } };
    uint8_t bytes[15];
    uint64_t lsn;

    if (!is_float)
        p.point.v.i = (int64_t)v;
    ck_assert_int_eq(
        store_series(w->s, name(series, bytes), false, &p.series, &e), ST_OK);
    ck_assert_int_eq(store_put(w->s, &p, 1, &lsn, &e), ST_OK);
}

static void
put(struct world *w, unsigned series, int64_t ts_ms)
{
    double v = value_of(w, series);

    if (w->len == POINTS)
        return;
    put_only(w, series, ts_ms, v);
    for (size_t i = 0; i < w->len; i++)
        w->points[i].gone |=
            w->points[i].series == series && w->points[i].ts_ms == ts_ms;
    w->points[w->len].series = series;
    w->points[w->len].ts_ms = ts_ms;
    w->points[w->len++].value = v;
}

/* From a time on, of any series. */
static void
put_some(struct world *w, uint64_t len, uint32_t from)
{
    while (len-- > 0)
        put(w, (unsigned)below(w, SERIES),
            (from + (int64_t)below(w, END - from)) * 1000);
}

static void
drop(struct world *w)
{
    unsigned series = (unsigned)below(w, SERIES);
    int64_t from = ((int64_t)T0 + (int64_t)below(w, WEEKS * WEEK_S)) * 1000;
    int64_t to = from + (int64_t)below(w, (uint64_t)WEEK_S * 1000);
    uint8_t bytes[15];
    uint64_t deleted, lsn;

    ck_assert_int_eq(
        store_delete(w->s, name(series, bytes), from, to, &deleted, &lsn, &e),
        ST_OK);
    for (size_t i = 0; i < w->len; i++)
        w->points[i].gone |= w->points[i].series == series &&
                             w->points[i].ts_ms >= from &&
                             w->points[i].ts_ms <= to;
}

/* -- scans ----------------------------------------------------------------- */

struct sums {
    uint64_t count;
    double sum;
};

struct seen {
    struct sums days[SERIES][DAYS];
    size_t weeks, rows;
    bool lacks_rows;
};

static unsigned
series_of(struct slice tsuid)
{
    ck_assert_uint_eq(tsuid.size, 9);
    return (unsigned)key_get_uint(tsuid.data + 6, 3) - 1;
}

static void
see_week(struct world *w, struct store_scan *scan, const struct store_row *row,
         bool rejects, struct seen *seen)
{
    unsigned series = series_of(row->tsuid);

    if (rejects && below(w, 3) == 0) {
        store_scan_reject(scan);
        return;
    }
    seen->weeks++;
    for (unsigned i = row->day; i < row->day_end; i++) {
        const struct summary *day = &row->week->day[i];
        struct sums *s = &seen->days[series][(row->base - T0) / DAY_S + i];
        struct sums hours = { 0 };

        for (unsigned h = 24 * i; h < 24 * (i + 1); h++) {
            union number sum = row->week->hour.sum[h];

            hours.count += row->week->count[h];
            if (row->week->count[h] > 0)
                hours.sum += row->week->all_int ? (double)sum.i : sum.d;
        }
        ck_assert_uint_eq(hours.count, day->count);
        s->count += day->count;
        if (day->count > 0)
            s->sum += row->week->all_int ? (double)day->sum.i : day->sum.d;
        ck_assert(day->count == 0 || s->sum == hours.sum);
    }
}

static void
see_row(const struct store_row *row, struct seen *seen)
{
    struct points p = { 0 };
    unsigned series = series_of(row->tsuid);

    seen->rows++;
    ck_assert_int_eq(store_row_points(row, &p, &e), ST_OK);
    for (size_t i = 0; i < p.len; i++) {
        struct sums *s = &seen->days[series][(p.ts_ms[i] / 1000 - T0) / DAY_S];

        s->count++;
        s->sum += p.is_float[i] ? p.v[i].d : (double)p.v[i].i;
    }
    points_fini(&p);
}

static struct mask *
mask_of(const struct key_layout *layout, uint32_t from, uint32_t to)
{
    struct mask *m = mask_new();

    mask_add_fixed(m, KEY_TABLE(TABLE_ROWS));
    if (layout->salt_width > 0)
        mask_add_any(m, 1);
    mask_add_fixed(m, slice_of("\0\0\1", 3));
    mask_add_steps(m, key_span_base(layout, from), key_span_base(layout, to),
                   key_span_s(layout), 4);
    mask_add_fixed(m, slice_of("\0\0\1", 3));
    mask_add_any(m, 3);
    return m;
}

static void
scan(struct world *w, enum access_path way, uint32_t from, uint32_t to,
     bool rejects, struct seen *seen)
{
    static struct slice listed[3][SERIES];
    static uint8_t names[SERIES][15];
    const struct key_layout *layout = store_layout(w->s);
    size_t len = layout->salt_buckets;
    struct mask_set *masks = mask_set_new();
    struct mask *m = mask_of(layout, from, to);
    struct scan_spec specs[3];
    struct store_scan *scans[3];
    struct scan_counts counts;

    mask_set_give(masks, &m);
    for (size_t i = 0; i < len; i++)
        specs[i] = (struct scan_spec){ .masks = masks,
                                       .bucket = (unsigned)i,
                                       .path = way,
                                       .from_base = from,
                                       .to_base = to,
                                       .series = listed[i],
                                       .metric = slice_of("\0\0\1", 3),
                                       .weeks = true,
                                       .hours = HOURS_ALL };
    for (unsigned k = 0; k < SERIES - 1; k++) {
        struct slice t = name(k, names[k]);
        struct scan_spec *spec = &specs[key_salt(layout, t)];

        listed[spec->bucket][spec->series_len++] = t;
    }
    ck_assert_int_eq(store_scans_open(w->s, specs, len, scans, &e), ST_OK);
    for (size_t i = 0; i < len; i++) {
        struct store_row row;

        while (store_scan_next(scans[i], &row))
            if (row.week != NULL)
                see_week(w, scans[i], &row, rejects, seen);
            else
                see_row(&row, seen);
        ck_assert_msg(store_scan_close(&scans[i], &counts, ST_OK, &e) == ST_OK,
                      "%s", e.text);
        seen->lacks_rows |= counts.lacks_rows;
    }
    mask_set_free(&masks);
}

static void
check(struct world *w, enum access_path way, uint32_t from, uint32_t to,
      bool rejects, struct seen *seen)
{
    static struct sums want[SERIES][DAYS];
    int64_t from_ms = (int64_t)from * 1000, end_ms = (int64_t)to * 1000;

    memset(want, 0, sizeof want);
    memset(seen, 0, sizeof *seen);
    scan(w, way, from, to, rejects, seen);
    for (size_t i = 0; i < w->len; i++) {
        struct sums *s = &want[w->points[i].series]
                              [(w->points[i].ts_ms / 1000 - T0) / DAY_S];

        if (w->points[i].gone || w->points[i].ts_ms < from_ms ||
            w->points[i].ts_ms >= end_ms + HOUR_MS)
            continue;
        s->count++;
        s->sum += w->points[i].value;
    }
    for (size_t k = 0; k < SERIES - 1; k++)
        for (size_t d = 0; d < DAYS; d++)
            ck_assert_msg(want[k][d].count == seen->days[k][d].count &&
                              want[k][d].sum == seen->days[k][d].sum,
                          "series %zu, day %zu: %llu points, sum %g, not %llu "
                          "and %g (way %d, from %u to %u)",
                          k, d, (unsigned long long)seen->days[k][d].count,
                          seen->days[k][d].sum,
                          (unsigned long long)want[k][d].count, want[k][d].sum,
                          (int)way, from, to);
}

static const enum access_path ways[] = { SCAN_HINTS, SCAN_RANGE, SCAN_SEEKS };

static void
check_some(struct world *w, bool rejects)
{
    static struct seen seen;
    uint32_t from = T0 + (uint32_t)below(w, WEEKS * 168) * 3600;
    uint32_t to = from + (uint32_t)below(w, (END - from) / 3600) * 3600;

    check(w, ways[below(w, 3)], from, to, rejects, &seen);
    check(w, ways[below(w, 3)], T0, END - 3600, rejects, &seen);
}

/* -- summarising ----------------------------------------------------------- */

/* All weeks are summarised, and no entry is stale. */
static bool
is_summarised(struct world *w)
{
    struct buf value = BUF_INIT;
    bool all = true;

    for (unsigned i = 0; i < store_layout(w->s)->salt_buckets && all; i++) {
        uint8_t key[2];

        all = kv_get(store_kv(w->s),
                     slice_of(key, key_weeks_state(store_layout(w->s), i, key)),
                     &value, &e) == ST_OK &&
              value.size == 4 && key_get_uint(value.data, 4) >= END;
    }
    buf_fini(&value);
    return all;
}

static void
summarise(struct world *w)
{
    ck_assert_int_eq(store_flush(w->s, &e), ST_OK);
    for (int i = 0; i < 60000 && !is_summarised(w); i++)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    ck_assert(is_summarised(w));
    memset(w->fresh, 0, sizeof w->fresh);
}

static void
reopen(struct world *w)
{
    if (w->options.dir == NULL)
        return;
    ck_assert_msg(store_close(&w->s, &e) == ST_OK, "%s", e.text);
    open_store(w);
}

START_TEST(weeks_stand_for_rows)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, _i);
    for (int turn = 0; turn < 40; turn++) {
        put_some(&w, below(&w, 150), T0);
        if (below(&w, 3) == 0)
            ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
        if (below(&w, 3) == 0)
            drop(&w);
        if (below(&w, 8) == 0)
            reopen(&w);
        check_some(&w, below(&w, 2) == 0);
        if (below(&w, 3) != 0)
            continue;
        summarise(&w);
        check_some(&w, false);
        check_some(&w, true);
        check(&w, ways[below(&w, 3)], T0, END - 3600, false, &seen);
        ck_assert_uint_gt(seen.weeks, 0);
    }
    world_close(&w);
}
END_TEST

/* Of a week that is summarised no row is read, but those of who has late
 * points. */
START_TEST(late_points_cost_their_series_alone)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, 0);
    for (unsigned k = 0; k < SERIES - 1; k++)
        for (uint32_t t = T0; t < END; t += 6 * 3600)
            put(&w, k, (int64_t)t * 1000);
    summarise(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    ck_assert_uint_eq(seen.rows, 0);
    ck_assert_uint_eq(seen.weeks, (SERIES - 1) * WEEKS);
    put(&w, 3, (int64_t)(T0 + WEEK_S + 7) * 1000);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    ck_assert_uint_eq(seen.weeks, (SERIES - 1) * WEEKS - 1);
    ck_assert_uint_eq(seen.rows, 28);
    summarise(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    ck_assert_uint_eq(seen.rows, 0);
    ck_assert_uint_eq(seen.weeks, (SERIES - 1) * WEEKS);
    world_close(&w);
}
END_TEST

/* A start does not wait, and late rows do not hold it up for ever. */
START_TEST(summaries_come_in_time)
{
    static struct world w;
    uint64_t before;

    world_open(&w, 0);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    w.options.summary_delay_ms = 3600000;
    open_store(&w);
    for (uint32_t t = T0; t < END; t += 6 * 3600)
        put(&w, 1, (int64_t)t * 1000);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    open_store(&w);
    while (store_counts(w.s).weeks_written < WEEKS)
        (void)usleep(1000);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    w.options.summary_delay_ms = 50;
    open_store(&w);
    before = store_counts(w.s).weeks_written;
    while (store_counts(w.s).weeks_written == before) {
        put_only(&w, 1, (int64_t)T0 * 1000, 1);
        ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
        (void)usleep(5000);
    }
    world_close(&w);
}
END_TEST

/* -- hourly values that outlive their points ------------------------------- */

#define HOURLY_CUT (T0 + WEEK_S)
#define RAW_CUT    (T0 + 3 * WEEK_S)

static const struct store_cut cuts = { 1, RAW_CUT *INT64_C(1000),
                                       HOURLY_CUT *INT64_C(1000) };

static void
set_cuts(struct world *w)
{
    ck_assert_int_eq(store_cuts_set(w->s, &cuts, 1, &e), ST_OK);
    for (size_t i = 0; i < w->len; i++)
        w->points[i].gone |= w->points[i].ts_ms < cuts.hourly_ms;
}

static void
expire(struct world *w)
{
    struct store_drop d = { .before = cuts };

    set_cuts(w);
    ck_assert_msg(store_drop_rows(w->s, &d, &e) == ST_OK, "%s", e.text);
}

/* Rows of raw points before the cut, of series that are no rollups. */
static size_t
count_old_rows(struct world *w)
{
    struct store_drop d = { .before = { 1, RAW_CUT * INT64_C(1000),
                                        RAW_CUT * INT64_C(1000) },
                            .dry_run = true };

    ck_assert_int_eq(store_drop_rows(w->s, &d, &e), ST_OK);
    return d.dropped.rows;
}

static bool
has_points_of(const struct world *w, unsigned series, int64_t ts_ms)
{
    uint32_t week = week_base((uint32_t)(ts_ms / 1000));

    for (size_t i = 0; i < w->len; i++)
        if (w->points[i].series == series && !w->points[i].gone &&
            week_base((uint32_t)(w->points[i].ts_ms / 1000)) == week)
            return true;
    return false;
}

/* Where the week has hourly values they stay as they are. */
static void
put_late(struct world *w)
{
    unsigned series = (unsigned)below(w, SERIES - 1);
    int64_t ts_ms =
        (HOURLY_CUT + (int64_t)below(w, RAW_CUT - HOURLY_CUT)) * 1000;
    bool *fresh = &w->fresh[series][(ts_ms / 1000 - T0) / WEEK_S];

    if (*fresh) /* who knows whether they have them by now */
        return;
    if (has_points_of(w, series, ts_ms)) {
        put_only(w, series, ts_ms, 77);
    } else {
        put(w, series, ts_ms);
        *fresh = true;
    }
}

/* Of days whose points are gone only whole ones can be deleted.  Late points
 * that would come to light by that are dropped first. */
static void
drop_old(struct world *w)
{
    unsigned series = (unsigned)below(w, SERIES - 1);
    int64_t from = ((int64_t)T0 + (int64_t)below(w, WEEKS * WEEK_S)) * 1000;
    int64_t to = from + (int64_t)below(w, (uint64_t)WEEK_S * 2000);
    uint8_t bytes[15];
    uint64_t deleted, lsn;

    summarise(w);
    expire(w);
    ck_assert_int_eq(
        store_delete(w->s, name(series, bytes), from, to, &deleted, &lsn, &e),
        ST_OK);
    for (size_t i = 0; i < w->len; i++) {
        int64_t ms = w->points[i].ts_ms, day = ms - ms % DAY_MS;
        bool whole = day >= from && day + DAY_MS - 1 <= to;

        w->points[i].gone |=
            w->points[i].series == series &&
            (ms < RAW_CUT * INT64_C(1000) ? whole : ms >= from && ms <= to);
    }
}

static void
forget_states(struct world *w)
{
    struct kv_batch *b = kv_batch_new();

    for (unsigned i = 0; i < store_layout(w->s)->salt_buckets; i++) {
        uint8_t key[2];

        kv_batch_delete(
            b, slice_of(key, key_weeks_state(store_layout(w->s), i, key)));
    }
    ck_assert_int_eq(kv_write(store_kv(w->s), b, &e), ST_OK);
    kv_batch_free(&b);
}

/* As a copy is: nothing is said to be summed up, and nothing will be. */
static void
without_states(struct world *w)
{
    forget_states(w);
    w->options.no_summaries = true;
    reopen(w);
}

static void
check_old(struct world *w)
{
    static struct seen seen;
    uint32_t from = T0 + (uint32_t)below(w, DAYS - 3) * DAY_S;
    uint32_t to =
        from + (2 + (uint32_t)below(w, (END - from) / DAY_S - 2)) * DAY_S;

    check(w, ways[below(w, 3)], from, to - 3600, false, &seen);
    ck_assert(!seen.lacks_rows);
    check(w, ways[below(w, 3)], T0, END - 3600, false, &seen);
    ck_assert(!seen.lacks_rows);
}

/* Of what expired no row is left, and nothing is missing. */
static void
check_all_expired(struct world *w)
{
    summarise(w);
    check_old(w);
    expire(w);
    ck_assert_uint_eq(count_old_rows(w), 0);
    check_old(w);
}

START_TEST(hourly_values_outlive_points)
{
    static struct world w;

    world_open(&w, _i);
    for (int n = 0; n < 600; n++) {
        unsigned series = (unsigned)below(&w, SERIES);
        int64_t at = T0 + (int64_t)below(&w, WEEKS * WEEK_S);

        if (series % 2 == 0 || at < HOURLY_CUT || at >= RAW_CUT)
            put(&w, series, at * 1000);
    }
    summarise(&w);
    ck_assert_uint_gt(count_old_rows(&w), 60);
    expire(&w);
    ck_assert_uint_eq(count_old_rows(&w), 0);
    for (int turn = 0; turn < 30; turn++) {
        for (uint64_t n = below(&w, 3); n > 0; n--)
            put_late(&w);
        check_old(&w);
        if (below(&w, 4) == 0)
            drop_old(&w);
        check_old(&w);
        if (below(&w, 3) == 0)
            ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
        check_old(&w);
        if (below(&w, 3) == 0)
            summarise(&w);
        if (below(&w, 3) == 0)
            expire(&w);
        check_old(&w);
        if (below(&w, 6) != 0)
            continue;
        summarise(&w);
        if (w.options.dir != NULL && below(&w, 2) == 0)
            forget_states(&w);
        reopen(&w);
        summarise(&w);
        check_old(&w);
    }
    check_all_expired(&w);
    world_close(&w);
}
END_TEST

/* A series without an entry may have rows, in the head, too. */
START_TEST(hourly_values_need_no_state)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, _i);
    for (int n = 0; n < 250; n++)
        put(&w, (unsigned)below(&w, SERIES / 2),
            (T0 + (int64_t)below(&w, WEEKS * WEEK_S)) * 1000);
    summarise(&w);
    set_cuts(&w);
    without_states(&w);
    for (int turn = 0; turn < 9; turn++)
        check(&w, ways[turn % 3], HOURLY_CUT, END - 3600, true, &seen);
    w.options.no_summaries = false;
    reopen(&w);
    if (w.options.dir != NULL)
        summarise(&w);
    expire(&w);
    ck_assert_uint_eq(count_old_rows(&w), 0);
    without_states(&w);
    for (int turn = 0; turn < 60; turn++) {
        put_late(&w);
        check_old(&w);
        if (below(&w, 5) == 0)
            ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    }
    w.options.no_summaries = false;
    reopen(&w);
    if (w.options.dir != NULL)
        check_all_expired(&w);
    world_close(&w);
}
END_TEST

/* The first row is read; then all expire.  No states are copied. */
static void
put_and_expire(void *ctx, struct slice key, struct slice value,
               struct kv_batch *b)
{
    struct world *w = ctx;

    if (key.data[0] != TABLE_WEEKS || key.size > 2)
        kv_batch_put(b, key, value);
    if (key.data[0] == TABLE_ROWS)
        expire(w);
}

static void
put_no_more(void *ctx, struct kv_batch *b)
{
    (void)ctx;
    (void)b;
}

START_TEST(a_copy_has_hourly_values_of_what_expires_meanwhile)
{
    static struct world w;
    struct kv_recode rules = { put_and_expire, put_no_more, &w };
    struct kv_copying copying = { .recode = &rules };
    struct kv *copy;

    world_open(&w, _i);
    put_some(&w, 300, HOURLY_CUT);
    summarise(&w);
    ck_assert_int_eq(
        kv_open(&(struct kv_options){ .place = KV_MEMORY }, &copy, &e), ST_OK);
    ck_assert_int_eq(store_copy(w.s, copy, &copying, &e), ST_OK);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    w.options.kv = copy;
    w.options.dir = NULL;
    open_store(&w);
    check_old(&w);
    summarise(&w);
    check_old(&w);
    world_close(&w);
}
END_TEST

/* Late points that only the log has, more of them than the head takes. */
START_TEST(a_replay_leaves_hourly_values)
{
    static struct world w;

    world_open(&w, _i);
    if (w.options.dir != NULL) {
        put_some(&w, 600, T0);
        summarise(&w);
        expire(&w);
        for (int n = 0; n < 400; n++)
            put_late(&w);
        store_flusher_stop(w.s);
        store_destroy(w.s);
        w.options.head_bytes = 1000;
        open_store(&w);
        check_old(&w);
        check_all_expired(&w);
    }
    world_close(&w);
}
END_TEST

/* Of weeks that are not summarised, nothing goes. */
START_TEST(points_stay_until_they_are_summarised)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, _i);
    if (w.options.dir == NULL) {
        world_close(&w);
        return;
    }
    w.options.summary_delay_ms = 3600000;
    reopen(&w);
    put_some(&w, 300, HOURLY_CUT);
    ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    expire(&w);
    ck_assert_uint_gt(count_old_rows(&w), 50);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    w.options.summary_delay_ms = 1;
    reopen(&w);
    check_all_expired(&w);
    world_close(&w);
}
END_TEST

/* Of a copy, which has entries and no state: late points, or deletions, and
 * then the cut. */
static void
change_a_copy(int layout, bool deletes)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, layout);
    put_some(&w, 600, HOURLY_CUT);
    summarise(&w);
    without_states(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    for (int n = 0; n < 20 && !deletes; n++)
        put(&w, (unsigned)below(&w, SERIES - 1),
            (HOURLY_CUT + (int64_t)below(&w, RAW_CUT - HOURLY_CUT)) * 1000);
    for (int n = 0; n < 5 && deletes; n++)
        drop(&w);
    ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    set_cuts(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    w.options.no_summaries = false;
    reopen(&w);
    if (w.options.dir != NULL)
        check_all_expired(&w);
    world_close(&w);
}

START_TEST(late_points_in_a_copy_count)
{
    change_a_copy(_i, false);
}
END_TEST

START_TEST(deletions_in_a_copy_count)
{
    change_a_copy(_i, true);
}
END_TEST

TEST_MAIN("store_weeks", LOOP(late_points_in_a_copy_count, layouts),
          LOOP(deletions_in_a_copy_count, layouts),
          LOOP(weeks_stand_for_rows, layouts),
          LOOP(hourly_values_outlive_points, layouts),
          LOOP(hourly_values_need_no_state, layouts),
          LOOP(a_copy_has_hourly_values_of_what_expires_meanwhile, layouts),
          LOOP(a_replay_leaves_hourly_values, layouts),
          LOOP(points_stay_until_they_are_summarised, layouts),
          TEST(late_points_cost_their_series_alone),
          TEST(summaries_come_in_time))

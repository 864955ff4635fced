/* A store whose weeks are summed up, with a model that knows all its points:
 * what a scan lends, by each way of it, with some weeks rejected, is each point
 * once. */
#pragma once

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
};

static inline int64_t
now_ms(const struct clock *c)
{
    (void)c;
    return (int64_t)(END + WEEK_S) * 1000;
}

static inline uint64_t
below(struct world *w, uint64_t n)
{
    return harness_random(&w->random) % n;
}

/* Of even series values are integers, of odd ones quarters: sums are exact. */
static inline double
value_of(struct world *w, unsigned series)
{
    double v = (double)below(w, 4000) - 2000;

    return series % 2 == 0 ? v : v / 4;
}

static inline struct slice
name(unsigned series, uint8_t out[15])
{
    return tsuid_of(out, 0, series, series == SERIES - 1);
}

static const struct {
    uint8_t salt_width, row_hours;
    bool in_memory;
} layouts[] = { { 1, 6, false }, { 0, 24, false }, { 1, 1, true } };

static inline void
open_store(struct world *w)
{
    ck_assert_msg(store_open(&w->options, &w->s, &e) == ST_OK, "%s", e.text);
}

static inline void
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
    w->options.row_value_bytes = i == 1 ? 20 : 0; /* so that rows have parts */
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

static inline void
world_close(struct world *w)
{
    ck_assert_int_eq(store_close(&w->s, &e), ST_OK);
    tempdir_free(&w->dir);
}

static inline enum status
try_put(struct world *w, unsigned series, int64_t ts_ms, double v)
{
    bool is_float = series % 2 == 1;
    struct series_point p = { .point = { ts_ms, { .d = v }, is_float } };
    uint8_t bytes[15];
    uint64_t lsn;

    if (!is_float)
        p.point.v.i = (int64_t)v;
    ck_assert_int_eq(
        store_series(w->s, name(series, bytes), false, &p.series, &e), ST_OK);
    return store_put(w->s, &p, 1, &lsn, &e);
}

static inline void
add_to_model(struct world *w, unsigned series, int64_t ts_ms, double v)
{
    for (size_t i = 0; i < w->len; i++)
        w->points[i].gone |=
            w->points[i].series == series && w->points[i].ts_ms == ts_ms;
    w->points[w->len].series = series;
    w->points[w->len].ts_ms = ts_ms;
    w->points[w->len++].value = v;
}

static inline void
put(struct world *w, unsigned series, int64_t ts_ms)
{
    double v = value_of(w, series);

    if (w->len == POINTS)
        return;
    ck_assert_int_eq(try_put(w, series, ts_ms, v), ST_OK);
    add_to_model(w, series, ts_ms, v);
}

/* From a time on, of any series. */
static inline void
put_some(struct world *w, uint64_t len, uint32_t from)
{
    while (len-- > 0)
        put(w, (unsigned)below(w, SERIES),
            (from + (int64_t)below(w, END - from)) * 1000);
}

static inline void
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
    bool lacks_rows, lacks_weeks;
};

static inline unsigned
series_of(struct slice tsuid)
{
    ck_assert_uint_eq(tsuid.size, 9);
    return (unsigned)key_get_uint(tsuid.data + 6, 3) - 1;
}

static inline void
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
        /* The first hours of a day may have been rows, before a cut. */
        struct sums hours = { .sum = s->sum };

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

static inline void
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

static inline struct mask *
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

static inline void
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
                                       .want.weeks = true,
                                       .want.hours = HOURS_ALL };
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
        seen->lacks_weeks |= counts.lacks_weeks;
    }
    mask_set_free(&masks);
}

static inline void
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

static inline void
check_some(struct world *w, bool rejects)
{
    static struct seen seen;
    uint32_t from = T0 + (uint32_t)below(w, WEEKS * 168) * 3600;
    uint32_t to = from + (uint32_t)below(w, (END - from) / 3600) * 3600;

    check(w, ways[below(w, 3)], from, to, rejects, &seen);
    check(w, ways[below(w, 3)], T0, END - 3600, rejects, &seen);
}

/* Replaces the value of a series' week. */
static inline void
damage_entry(struct world *w, unsigned series, uint32_t week)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t tsuid[15], key[ROW_KEY_MAX];
    size_t size = key_week(store_layout(w->s), name(series, tsuid), week, key);

    kv_batch_put(b, slice_of(key, size), slice_str("no hourly values"));
    ck_assert_int_eq(kv_write(store_kv(w->s), b, &e), ST_OK);
    kv_batch_free(&b);
}

/* -- summarising ----------------------------------------------------------- */

/* All weeks are summarised, and no entry is stale. */
static inline bool
is_summarised(struct world *w)
{
    struct buf value = BUF_INIT;
    bool all = true;

    for (unsigned i = 0; i < store_layout(w->s)->salt_buckets && all; i++) {
        uint8_t key[2];

        all = kv_get(store_kv(w->s),
                     slice_of(key, key_weeks_state(store_layout(w->s), i, key)),
                     &value, &e) == ST_OK &&
              value.size == WEEKS_STATE_SIZE &&
              key_get_uint(value.data, 4) >= END;
    }
    buf_fini(&value);
    return all;
}

static inline void
summarise(struct world *w)
{
    ck_assert_int_eq(store_flush(w->s, &e), ST_OK);
    for (int i = 0; i < 60000 && !is_summarised(w); i++)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    ck_assert(is_summarised(w));
}

static inline void
reopen(struct world *w)
{
    if (w->options.dir == NULL)
        return;
    ck_assert_msg(store_close(&w->s, &e) == ST_OK, "%s", e.text);
    open_store(w);
}

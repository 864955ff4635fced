/* Rows of several hours, held against a model that knows points only. */
#include "storage/store/store.h"

#include "base/mem.h"
#include "storage/place/format.h"
#include "storage/scan/column.h"
#include "storage/scan/store_scan.h"
#include "storage/store/store_priv.h"
#include "tests/harness.h"
#include "tests/nomem.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define T0_S   1356998400u /* a day begins */
#define HOURS  30          /* of the model */
#define SERIES 7
#define MINUTE 60000
#define SLOTS  (HOURS * 60) /* a point a minute, or none */
#define ABSENT INT64_MIN

static struct error e;

struct world {
    char *dir;
    struct store_options options;
    struct store *s;
    int64_t values[SERIES][SLOTS]; /* bits, where a series has decimals */
    size_t rows_of_one_block;      /* that were read */
};

/* Hours of a row, and the bytes of its value: 0, parts are for rows that are
 * larger than these. */
static const struct span {
    uint8_t hours;
    size_t value_bytes;
} spans[] = { { 1, 0 }, { 6, 0 }, { 24, 0 }, { 6, 250 }, { 24, 900 } };

static void
open_world(struct world *w)
{
    ck_assert_msg(store_open(&w->options, &w->s, &e) == ST_OK, "%s", e.text);
}

static struct world *
world_new(const struct span *span)
{
    struct world *w = mem_new(sizeof *w);

    w->dir = tempdir_new();
    w->options = (struct store_options){ .dir = w->dir,
                                         .layout = KEY_LAYOUT_DEFAULT,
                                         .sync = WAL_SYNC_OFF };
    w->options.layout.row_hours = span->hours;
    w->options.row_value_bytes = span->value_bytes;
    for (size_t i = 0; i < SERIES; i++)
        for (size_t k = 0; k < SLOTS; k++)
            w->values[i][k] = ABSENT;
    open_world(w);
    return w;
}

static void
world_free(struct world **wp)
{
    ck_assert_int_eq(store_close(&(*wp)->s, &e), ST_OK);
    tempdir_free(&(*wp)->dir);
    free(*wp);
    *wp = NULL;
}

static int64_t
ms_of(size_t slot)
{
    return (int64_t)T0_S * 1000 + (int64_t)slot * MINUTE;
}

static void
put(struct world *w, unsigned series, size_t slot, int64_t value)
{
    struct series_point p = { .point = { ms_of(slot), { .i = value }, false } };
    uint8_t bytes[TSUID_BYTES];
    uint64_t lsn;

    if (series % 2 == 1) {
        p.point.is_float = true;
        p.point.v.d = (double)value / 100;
    }
    ck_assert_int_eq(
        store_series(w->s, tsuid(bytes, series), false, &p.series, &e), ST_OK);
    ck_assert_int_eq(store_put(w->s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(w->s, lsn, false, &e), ST_OK);
    w->values[series][slot] = p.point.v.i;
}

/* Runs of points, of a random series, at a random time. */
static void
put_some(struct world *w, uint64_t *r)
{
    unsigned series = (unsigned)(harness_random(r) % SERIES);
    size_t from = harness_random(r) % SLOTS;
    size_t step = 1 + harness_random(r) % 40;

    for (size_t i = 0; i < 20 && from < SLOTS; i++, from += step)
        put(w, series, from, (int64_t)(harness_random(r) % 1000));
}

static void
delete_some(struct world *w, uint64_t *r)
{
    unsigned series = (unsigned)(harness_random(r) % SERIES);
    size_t from = harness_random(r) % SLOTS;
    size_t to = from + harness_random(r) % 300;
    uint8_t bytes[TSUID_BYTES];
    uint64_t deleted, want = 0;

    for (size_t k = from; k <= to && k < SLOTS; k++) {
        want += w->values[series][k] != ABSENT;
        w->values[series][k] = ABSENT;
    }
    ck_assert_int_eq(store_delete(w->s, tsuid(bytes, series), ms_of(from),
                                  ms_of(to), &deleted, NULL, &e),
                     ST_OK);
    ck_assert_uint_eq(deleted, want);
}

/* Names that the engine gathers, and looks for whatever is asked for in. */
static void
write_name(struct world *w)
{
    struct kv_batch *b = kv_batch_new();

    kv_batch_put(b,
                 slice_str("ukn"
                           "name"),
                 slice_str("id"));
    ck_assert_int_eq(store_write(w->s, b, NULL, &e), ST_OK);
    kv_batch_free(&b);
}

/* Hours of the head become blocks there, which lie over what is stored. */
static void
encode_head(struct world *w)
{
    const struct encode_rule rule = { .wall_s = INT64_MAX };

    lock_take(&w->s->flush_lock);
    for (unsigned b = 0; b < store_layout(w->s)->salt_buckets; b++)
        (void)head_encode(w->s->head, b, &rule);
    lock_drop(&w->s->flush_lock);
}

static struct mask_set *
masks_of(const struct world *w, unsigned bucket, uint32_t from, uint32_t to)
{
    const struct key_layout *layout = store_layout(w->s);
    uint8_t head[] = { TABLE_ROWS, (uint8_t)bucket, 0, 0, 1 };
    struct mask_set *set = mask_set_new();
    struct mask *m = mask_new();

    mask_add_fixed(m, slice_of(head, sizeof head));
    mask_add_steps(m, key_span_base(layout, from), key_span_base(layout, to),
                   key_span_s(layout), 4);
    mask_add_fixed(m, slice_of("\0\0\1", 3));
    mask_add_any(m, 3);
    mask_set_give(set, &m);
    return set;
}

/* As a column, and where times are even as values alone, it has the same. */
static void
check_column(const struct store_row *row, const struct points *p)
{
    struct arena *a = arena_new(0);
    struct points scratch = { 0 }, spaced = { 0 };
    struct column c = { 0 }, all;
    struct spacing s;
    uint32_t read;

    ck_assert_int_eq(column_add_row(&c, row, a, &read, &e), ST_OK);
    ck_assert_int_eq(column_unpack(&c, &scratch, &all, &e), ST_OK);
    ck_assert_uint_eq(all.len, p->len);
    ck_assert_int_eq(c.first_ms, p->ts_ms[0]);
    ck_assert_int_eq(c.last_ms, p->ts_ms[p->len - 1]);
    ck_assert_int_eq(memcmp(all.ts_ms, p->ts_ms, p->len * sizeof *p->ts_ms), 0);
    ck_assert_int_eq(memcmp(all.v, p->v, p->len * sizeof *p->v), 0);
    ck_assert_int_eq(store_row_spaced(row, ALL_VALUES, &spaced, &s, &e), ST_OK);
    ck_assert_uint_eq(spaced.len, p->len);
    ck_assert_int_eq(memcmp(spaced.v, p->v, p->len * sizeof *p->v), 0);
    if (s.even) {
        ck_assert_int_eq(s.first_ms, p->ts_ms[0]);
        ck_assert_int_eq(s.first_ms + (int64_t)(p->len - 1) * s.step_ms,
                         p->ts_ms[p->len - 1]);
        ck_assert(p->len > 1 || s.step_ms == 0);
    }
    points_fini(&scratch);
    points_fini(&spaced);
    arena_free(&a);
}

/* The hours of a bucket come in order, and rows of one block; each series'
 * points are the model's. */
static void
check_bucket(struct world *w, unsigned bucket, enum access_path way,
             uint32_t from_hour, uint32_t to_hour, uint64_t *seen)
{
    const struct key_layout *layout = store_layout(w->s);
    uint32_t from = T0_S + from_hour * 3600, to = T0_S + to_hour * 3600;
    struct mask_set *masks = masks_of(w, bucket, from, to);
    uint8_t bytes[SERIES][TSUID_BYTES], before[ROW_KEY_MAX + 4] = { 0 };
    struct slice listed[SERIES];
    struct scan_spec spec = { .masks = masks,
                              .bucket = bucket,
                              .path = way,
                              .from_base = from,
                              .to_base = to,
                              .series = listed };
    struct points p = { 0 };
    struct store_scan *scan;
    struct store_row row;
    size_t before_size = 0;
    bool one_block;

    for (unsigned i = 0; i < SERIES; i++) {
        struct slice t = tsuid(bytes[i], i);

        spec.metric = slice_of(t.data, 3);
        if (key_salt(layout, t) == bucket)
            listed[spec.series_len++] = t;
    }
    ck_assert_int_eq(store_scans_open(w->s, &spec, 1, &scan, &e), ST_OK);
    while (store_scan_next(scan, &row)) {
        unsigned series = (unsigned)key_get_uint(row.tsuid.data + 6, 3);
        uint8_t now[ROW_KEY_MAX + 4];
        size_t size = key_row(layout, row.tsuid, row.base, now);

        key_put_uint(now + size, row.base, 4);
        size += 4;
        ck_assert(
            slice_cmp(slice_of(before, before_size), slice_of(now, size)) < 0);
        memcpy(before, now, size);
        before_size = size;
        points_clear(&p);
        ck_assert_int_eq(store_row_points(&row, &p, &e), ST_OK);
        ck_assert_uint_gt(p.len, 0);
        check_column(&row, &p);
        one_block = hour_base(p.ts_ms[p.len - 1]) != row.base;
        w->rows_of_one_block += one_block;
        if (one_block)
            ck_assert_uint_eq(row.base, key_span_base(layout, row.base));
        for (size_t i = 0; i < p.len; i++) {
            size_t slot = (size_t)(p.ts_ms[i] - ms_of(0)) / MINUTE;
            uint32_t base = hour_base(p.ts_ms[i]);

            ck_assert(base >= from && base <= to);
            if (one_block)
                ck_assert_uint_eq(key_span_base(layout, base), row.base);
            else
                ck_assert_uint_eq(base, row.base);
            ck_assert_int_eq(p.v[i].i, w->values[series][slot]);
        }
        *seen += p.len;
    }
    ck_assert_int_eq(store_scan_close(&scan, NULL, ST_OK, &e), ST_OK);
    points_fini(&p);
    mask_set_free(&masks);
}

static void
check_hours(struct world *w, enum access_path way, uint32_t from_hour,
            uint32_t to_hour)
{
    uint64_t want = 0, seen = 0;

    for (size_t i = 0; i < SERIES; i++)
        for (size_t k = from_hour * 60; k < (to_hour + 1) * 60; k++)
            want += w->values[i][k] != ABSENT;
    for (unsigned b = 0; b < store_layout(w->s)->salt_buckets; b++)
        check_bucket(w, b, way, from_hour, to_hour, &seen);
    ck_assert_uint_eq(seen, want);
}

static void
check_last(struct world *w, unsigned series, size_t until)
{
    uint8_t bytes[TSUID_BYTES];
    struct point p;
    enum status st =
        store_last(w->s, tsuid(bytes, series), ms_of(until), &p, &e);

    for (size_t k = until + 1; k-- > 0;)
        if (w->values[series][k] != ABSENT) {
            ck_assert_int_eq(st, ST_OK);
            ck_assert_int_eq(p.ts_ms, ms_of(k));
            ck_assert_int_eq(p.v.i, w->values[series][k]);
            return;
        }
    ck_assert_int_eq(st, ST_NOT_FOUND);
}

/* The keys of the table of rows; '*parts' of them are no spans'. */
static size_t
count_keys(struct world *w, size_t *parts)
{
    const struct key_layout *layout = store_layout(w->s);
    struct kv_iter *it = kv_iter_open(store_kv(w->s), KEY_TABLE(TABLE_ROWS));
    size_t rows = 0;
    uint32_t base;

    *parts = 0;
    for (bool on = kv_iter_seek(it, KEY_TABLE(TABLE_ROWS)); on;
         on = kv_iter_next(it)) {
        ck_assert(key_base(layout, kv_iter_key(it), &base));
        *parts += base != key_span_base(layout, base);
        rows++;
    }
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_OK);
    return rows;
}

static void
check_times(struct world *w)
{
    const struct store_times_spec spec = { .least_tagk = 1 };
    struct point_times want = POINT_TIMES_NONE, times;

    for (size_t i = 0; i < SERIES; i++)
        for (size_t k = 0; k < SLOTS; k++)
            if (w->values[i][k] != ABSENT)
                point_times_widen(&want, ms_of(k), ms_of(k));
    ck_assert_int_eq(store_times(w->s, &spec, &times, &e), ST_OK);
    ck_assert_int_eq(times.oldest_ms, want.oldest_ms);
    ck_assert_int_eq(times.newest_ms, want.newest_ms);
}

/* Nothing of what is deleted is left, no part of a row either. */
static void
check_all_is_deleted(struct world *w)
{
    size_t parts;

    for (unsigned i = 0; i < SERIES; i++) {
        uint8_t bytes[TSUID_BYTES];
        uint64_t deleted, want = 0;

        for (size_t k = 0; k < SLOTS; k++) {
            want += w->values[i][k] != ABSENT;
            w->values[i][k] = ABSENT;
        }
        ck_assert_int_eq(store_delete(w->s, tsuid(bytes, i), 0, INT64_MAX,
                                      &deleted, NULL, &e),
                         ST_OK);
        ck_assert_uint_eq(deleted, want);
    }
    ck_assert_uint_eq(count_keys(w, &parts), 0);
}

START_TEST(all_is_as_the_model_says)
{
    static const enum access_path ways[] = { SCAN_HINTS, SCAN_RANGE,
                                             SCAN_SEEKS };
    struct world *w = world_new(&spans[_i]);
    uint64_t r = harness_seed((uint64_t)_i + 1);
    size_t parts;

    for (int i = 0; i < 400; i++) {
        uint32_t from = (uint32_t)(harness_random(&r) % HOURS);
        uint32_t to = from + (uint32_t)(harness_random(&r) % (HOURS - from));
        unsigned what = (unsigned)(harness_random(&r) % 16);

        if (what < 9)
            put_some(w, &r);
        else if (what < 11)
            delete_some(w, &r);
        else if (what < 12)
            ck_assert_int_eq(store_flush(w->s, &e), ST_OK);
        else if (what < 13)
            encode_head(w);
        else if (what == 13 && i % 4 == 0) {
            ck_assert_int_eq(store_close(&w->s, &e), ST_OK);
            open_world(w);
        }
        if (what == 14)
            write_name(w);
        if (i % 3 == 0) {
            check_hours(w, ways[harness_random(&r) % 3], from, to);
            check_last(w, (unsigned)(harness_random(&r) % SERIES),
                       harness_random(&r) % SLOTS);
        }
    }
    ck_assert_uint_eq(store_layout(w->s)->row_hours, spans[_i].hours);
    ck_assert((w->rows_of_one_block > 0) == (spans[_i].hours > 1));
    ck_assert_int_eq(store_flush(w->s, &e), ST_OK);
    (void)count_keys(w, &parts);
    ck_assert((parts > 0) == (spans[_i].value_bytes > 0));
    check_times(w);
    check_all_is_deleted(w);
    world_free(&w);
}
END_TEST

/* The newest of some times at or before one; none: ABSENT. */
static int64_t
newest(const int64_t *times, size_t len, int64_t until)
{
    int64_t best = ABSENT;

    for (size_t i = 0; i < len; i++)
        if (times[i] <= until && times[i] > best)
            best = times[i];
    return best;
}

/* From 1970 to the last second, among another series' points that are dense
 * here and there, with clocks of any time. */
START_TEST(points_far_apart_have_a_newest_one)
{
    uint64_t r = harness_seed((uint64_t)_i + 10);
    struct clock clock = { .fixed_ms = ms_of(0) };
    struct world w = { .options.layout = { 0, 1, 3, 3, 3, spans[_i].hours },
                       .options.clock = &clock };
    int64_t times[40];
    uint8_t bytes[TSUID_BYTES];

    open_world(&w);
    for (size_t i = 0; i < 40; i++) {
        struct series_point p = { .point = { 0, { .i = 1 }, false } };
        int64_t around = (int64_t)(harness_random(&r) % POINT_MAX_TS_MS);

        times[i] = i % 3 == 0 && i > 0 ? times[i - 1] - times[i - 1] % HOUR_MS
                                       : around;
        for (unsigned k = 0; k < 30; k++) {
            p.point.ts_ms = k == 0 ? times[i] : times[i] / 2 + k * HOUR_MS;
            ck_assert_int_eq(
                store_series(w.s, tsuid(bytes, k > 0), false, &p.series, &e),
                ST_OK);
            ck_assert_int_eq(store_put(w.s, &p, 1, NULL, &e), ST_OK);
        }
        if (i % 8 == 5)
            ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
        for (int k = 0; k < 20; k++) {
            int64_t at = times[harness_random(&r) % (i + 1)];
            int64_t until =
                k % 4 == 0   ? POINT_MAX_TS_MS
                : k % 4 == 1 ? at - k % 3
                             : (int64_t)(harness_random(&r) % POINT_MAX_TS_MS);
            int64_t want = newest(times, i + 1, until);
            struct point last;
            enum status st;

            clock.fixed_ms = k % 3 == 0 ? at : ms_of(0);
            st = store_last(w.s, tsuid(bytes, 0), until, &last, &e);
            ck_assert_int_eq(st, want == ABSENT ? ST_NOT_FOUND : ST_OK);
            ck_assert(want == ABSENT || last.ts_ms == want);
        }
    }
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
}
END_TEST

/* Reads some hours of a series, and says how that ended. */
static enum status
scan_hours(struct world *w, unsigned series, uint32_t from, uint32_t to)
{
    uint8_t bytes[TSUID_BYTES];
    struct slice t = tsuid(bytes, series);
    const struct scan_spec spec = {
        .bucket = key_salt(store_layout(w->s), t),
        .path = SCAN_SEEKS,
        .from_base = T0_S + from * HOUR_S,
        .to_base = T0_S + to * HOUR_S,
        .series = &t,
        .series_len = 1,
        .metric = slice_of(t.data, 3),
    };
    struct store_scan *scan;
    struct store_row row;

    ck_assert_int_eq(store_scans_open(w->s, &spec, 1, &scan, &e), ST_OK);
    while (store_scan_next(scan, &row))
        ;
    return store_scan_close(&scan, NULL, ST_OK, &e);
}

/* A row for which there is no memory stays open, the others are flushed, and
 * nothing is lost. */
START_TEST(a_row_without_memory_is_set_aside)
{
    struct world *w = world_new(&spans[_i]);
    uint64_t r = harness_seed((uint64_t)_i + 1);
    struct store_counts c = { 0 };

    ck_assert_int_eq(store_close(&w->s, &e), ST_OK);
    w->options.dir = NULL; /* an engine that fails is another matter */
    open_world(w);
    for (unsigned n = 0; n == 0 || nomem_failed(); n++) {
        uint64_t flushed = store_counts(w->s).rows_flushed;
        uint64_t aside = c.rows_set_aside;
        enum status st;

        for (unsigned i = 0; i < SERIES; i++)
            put(w, i, (n + 60 * i) % SLOTS, n);
        ck_assert(nomem_begin(n));
        st = store_flush(w->s, &e);
        nomem_end();
        ck_assert_msg(st == ST_OK || nomem_failed(), "%s", e.text);
        c = store_counts(w->s);
        if (c.rows_set_aside > aside)
            ck_assert_uint_gt(c.rows_flushed, flushed);
        check_hours(w, SCAN_HINTS, 0, HOURS - 1);
        put_some(w, &r);
    }
    ck_assert_uint_gt(c.rows_set_aside, 0);
    check_all_is_deleted(w);
    world_free(&w);
}
END_TEST

/* A part that is damaged, or missing, fails who reads its hour, and no other;
 * new points replace it, and the damaged value is kept. */
START_TEST(a_damaged_part_makes_way)
{
    struct world *w = world_new(&(struct span){ 6, 250 });
    const struct key_layout *layout = store_layout(w->s);
    struct kv_batch *b = kv_batch_new();
    uint8_t bytes[TSUID_BYTES], key[ROW_KEY_MAX];
    struct slice part;
    size_t parts;

    for (size_t k = 0; k < 360; k++)
        put(w, 1, k, (int64_t)(k * k * 7919 % 100003));
    ck_assert_int_eq(store_flush(w->s, &e), ST_OK);
    (void)count_keys(w, &parts);
    ck_assert_uint_eq(parts, 5);
    part =
        slice_of(key, key_row_part(layout, tsuid(bytes, 1), T0_S + 7200, key));
    if (_i == 0)
        kv_batch_delete(b, part);
    else
        kv_batch_put(b, part, slice_str("damage"));
    ck_assert_int_eq(store_write(w->s, b, NULL, &e), ST_OK);
    kv_batch_free(&b);
    ck_assert_int_eq(scan_hours(w, 1, 0, 1), ST_OK);
    ck_assert_int_eq(scan_hours(w, 1, 3, 5), ST_OK);
    ck_assert_int_eq(scan_hours(w, 1, 0, 5), ST_CORRUPT);
    for (size_t k = 120; k < 180; k++)
        w->values[1][k] = ABSENT;
    put(w, 1, 150, 1);
    ck_assert_int_eq(store_flush(w->s, &e), ST_OK);
    check_hours(w, SCAN_SEEKS, 0, 5);
    ck_assert_uint_eq(store_counts(w->s).rows_quarantined, _i == 0 ? 0 : 1);
    ck_assert_uint_eq(store_counts(w->s).rows_unreadable, _i == 0 ? 1 : 0);
    world_free(&w);
}
END_TEST

/* A WAL of more than the head holds, with rows that are larger than a value, is
 * replayed: the replay flushes them. */
START_TEST(large_rows_are_replayed)
{
    struct world *w = world_new(&(struct span){ 6, 250 });
    struct world copy = { .options = w->options };
    char *dir = tempdir_new(), command[300];

    for (unsigned i = 0; i < SERIES; i++)
        for (size_t k = 0; k < 360; k += 1 + i)
            put(w, i, k, (int64_t)(k * k * 7919 % 100003));
    ck_assert_int_lt(
        snprintf(command, sizeof command, "cp -a %s/. %s", w->dir, dir),
        (int)sizeof command);
    ck_assert_int_eq(system(command), 0);
    memcpy(copy.values, w->values, sizeof copy.values);
    copy.options.dir = dir;
    copy.options.head_bytes = 2048;
    open_world(&copy);
    ck_assert_uint_gt(store_counts(copy.s).rows_flushed, 0);
    check_hours(&copy, SCAN_HINTS, 0, 5);
    ck_assert_int_eq(store_close(&copy.s, &e), ST_OK);
    tempdir_free(&dir);
    world_free(&w);
}
END_TEST

/* One series at 1 kHz of doubles that do not compress: more than the engine
 * takes as one value.  All that is put is flushed and read, also by others. */
START_TEST(a_row_of_any_size_is_stored)
{
    struct world w = { .options.layout = KEY_LAYOUT_DEFAULT };
    const size_t len = 8800000, step = 4000;
    struct series_point *points = mem_new_array(step, sizeof *points);
    struct point_times times;
    uint8_t bytes[TSUID_BYTES];
    uint64_t r = harness_seed(1), lsn, deleted;
    size_t parts;

    open_world(&w);
    for (size_t i = 0; i < len; i += step) {
        series_ref series;

        ck_assert_int_eq(store_series(w.s, tsuid(bytes, 1), false, &series, &e),
                         ST_OK);
        for (size_t k = 0; k < step; k++)
            points[k] = (struct series_point){
                .series = series,
                .point = { ms_of(0) + (int64_t)(i + k), { .d = 0 }, true },
            };
        for (size_t k = 0; k < step; k++)
            points[k].point.v.d = (double)harness_random(&r) / 3e10;
        ck_assert_int_eq(store_put(w.s, points, step, &lsn, &e), ST_OK);
    }
    put(&w, 2, 0, 1);
    ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    ck_assert_uint_eq(store_counts(w.s).head_rows, 0);
    ck_assert_uint_eq(count_keys(&w, &parts), 4);
    ck_assert_uint_eq(parts, 2);
    ck_assert_int_eq(store_times(w.s,
                                 &(struct store_times_spec){ .least_tagk = 1 },
                                 &times, &e),
                     ST_OK);
    ck_assert_int_eq(times.newest_ms, ms_of(0) + (int64_t)len - 1);
    ck_assert_int_eq(
        store_delete(w.s, tsuid(bytes, 1), 0, INT64_MAX, &deleted, NULL, &e),
        ST_OK);
    ck_assert_uint_eq(deleted, len);
    ck_assert_uint_eq(count_keys(&w, &parts), 1);
    free(points);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
}
END_TEST

static size_t
count_rows(struct world *w)
{
    struct kv_iter *it = kv_iter_open(store_kv(w->s), slice_str(""));
    size_t n = 0;

    for (bool on = kv_iter_seek(it, slice_str("r")); on; on = kv_iter_next(it))
        n += kv_iter_key(it).data[0] == 'r';
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_OK);
    return n;
}

/* A day of more series than a turn of flushing takes: each span is written
 * once, whatever the order in which the hours came. */
START_TEST(a_span_is_written_once)
{
    struct world w = { .options.layout = { 0, 1, 3, 3, 3, 6 } };
    uint8_t bytes[TSUID_BYTES];
    struct store_counts c;

    open_world(&w);
    for (unsigned hour = 0; hour < 12; hour++)
        for (unsigned i = 0; i < 2000; i++) {
            struct series_point p = { .point = {
                                          ms_of(hour % 2 * 300 + hour / 2 * 60),
                                          { .i = hour },
                                          false } };

            ck_assert_int_eq(
                store_series(w.s, tsuid(bytes, i), false, &p.series, &e),
                ST_OK);
            ck_assert_int_eq(store_put(w.s, &p, 1, NULL, &e), ST_OK);
        }
    ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    c = store_counts(w.s);
    ck_assert_uint_eq(c.rows_flushed, 22000);
    ck_assert_uint_eq(c.rows_merged + c.rows_rewritten, 0);
    ck_assert_uint_eq(count_rows(&w), 4000);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
}
END_TEST

TEST_MAIN("store_spans", LOOP(all_is_as_the_model_says, spans),
          TEST(a_span_is_written_once),
          LOOP(points_far_apart_have_a_newest_one, spans),
          LOOP(a_row_without_memory_is_set_aside, spans),
          TIMES(a_damaged_part_makes_way, 2), TEST(large_rows_are_replayed),
          TEST(a_row_of_any_size_is_stored))

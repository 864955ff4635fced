/* The store, on LevelDB and in memory: every case runs on both. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/place/format.h"
#include "storage/scan/store_scan.h"
#include "storage/store/store_priv.h"
#include "tests/harness.h"
#include "tests/storage/encoding.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define T0      INT64_C(1356998400000) /* a span begins */
#define SPAN_MS (6 * HOUR_MS)

static struct error e;

/* Of the case that runs. */
static char *dir;
static struct store_options o;
static struct store *s;

static const struct engine_kind {
    const char *name;
    bool on_disk;
} kinds[] = { { "memory", false }, { "leveldb", true } };

/* With a folder of its own. */
static void
set_options(int kind)
{
    dir = tempdir_new();
    o = (struct store_options){
        .dir = kinds[kind].on_disk ? dir : NULL,
        .layout = KEY_LAYOUT_DEFAULT,
        .sync = WAL_SYNC_OFF,
    };
}

static void
open_store(void)
{
    ck_assert_msg(store_open(&o, &s, &e) == ST_OK, "%s", e.text);
}

static void
open_kind(int kind)
{
    set_options(kind);
    open_store();
}

static void
close_store(void)
{
    ck_assert_msg(store_close(&s, &e) == ST_OK, "%s", e.text);
}

static void
teardown(void)
{
    close_store();
    tempdir_free(&dir);
}

/* A kill -9 in the process: everything is dropped as it stands. */
static void
abandon(void)
{
    store_flusher_stop(s);
    store_destroy(s);
    s = NULL;
}

static series_ref
series(unsigned i)
{
    uint8_t bytes[9];
    series_ref ref = SERIES_REF_NONE;

    ck_assert_int_eq(store_series(s, tsuid(bytes, i), false, &ref, &e), ST_OK);
    return ref;
}

static void
put(unsigned i, int64_t ts_ms, int64_t v)
{
    struct series_point p = { .series = series(i),
                              .point = { ts_ms, { .i = v }, false } };
    uint64_t lsn = 0;

    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(p.status, ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, false, &e), ST_OK);
}

/* All points of series i, by the way given. */
static void
read_series(unsigned i, enum access_path way, struct points *out,
            struct scan_counts *counts)
{
    uint8_t bytes[9], head[2 + 3];
    struct slice t = tsuid(bytes, i);
    struct mask_set *set = mask_set_new();
    struct mask *m = mask_new();
    struct scan_spec spec = { .path = way, .to_base = 4294965600u };
    struct store_scan *scan;
    struct store_row row;

    spec.bucket = key_salt(store_layout(s), t);
    head[0] = TABLE_ROWS;
    head[1] = (uint8_t)spec.bucket;
    memcpy(head + 2, t.data, 3);
    mask_add_fixed(m, slice_of(head, 5));
    mask_add_steps(m, 0, key_span_base(store_layout(s), spec.to_base),
                   key_span_s(store_layout(s)), 4);
    mask_add_fixed(m, slice_of(t.data + 3, 6));
    mask_set_give(set, &m);
    spec.masks = set;
    spec.metric = slice_of(t.data, 3);
    spec.series = &t;
    spec.series_len = 1;
    spec.want.summaries = true;
    points_clear(out);
    ck_assert_int_eq(store_scans_open(s, &spec, 1, &scan, &e), ST_OK);
    while (store_scan_next(scan, &row)) {
        ck_assert(slice_eq(row.tsuid, t));
        ck_assert_int_eq(store_row_points(&row, out, &e), ST_OK);
    }
    ck_assert_int_eq(store_scan_close(&scan, counts, ST_OK, &e), ST_OK);
    mask_set_free(&set);
}

static const enum access_path ways[] = { SCAN_HINTS, SCAN_RANGE, SCAN_SEEKS };

static void
check_range(unsigned i, int64_t from_ms, int64_t step_ms, size_t len,
            int64_t first)
{
    struct points p = { 0 };

    for (size_t w = 0; w < 3; w++) {
        read_series(i, ways[w], &p, NULL);
        ck_assert_uint_eq(p.len, len);
        for (size_t k = 0; k < len; k++) {
            ck_assert_int_eq(p.ts_ms[k], from_ms + (int64_t)k * step_ms);
            ck_assert_int_eq(p.v[k].i, first + (int64_t)k);
        }
    }
    points_fini(&p);
}

START_TEST(points_come_back)
{
    open_kind(_i);
    for (int k = 0; k < 1000; k++)
        put(7, T0 + k * 3000, k);
    check_range(7, T0, 3000, 1000, 0);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    check_range(7, T0, 3000, 1000, 0);
    ck_assert_uint_eq(store_counts(s).points_added, 1000);
    close_store();
    if (o.dir != NULL) {
        open_store();
        check_range(7, T0, 3000, 1000, 0);
        close_store();
    }
}
END_TEST

static uint64_t
count_keys(enum table table)
{
    struct kv_iter *it = kv_iter_open(store_kv(s), slice_str(""));
    uint8_t first = (uint8_t)table;
    uint64_t n = 0;

    for (bool on = kv_iter_seek(it, slice_of(&first, 1));
         on && kv_iter_key(it).data[0] == first; on = kv_iter_next(it))
        n++;
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_OK);
    return n;
}

START_TEST(an_hour_is_one_row)
{
    open_kind(_i);
    for (int k = 0; k < 1000; k++)
        put(7, T0 + k * 3000, k);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    ck_assert_uint_eq(count_keys(TABLE_ROWS), 1);
}
END_TEST

START_TEST(late_points_are_merged_and_the_last_write_wins)
{
    struct points p = { 0 };

    open_kind(_i);
    for (int k = 0; k < 100; k += 2)
        put(7, T0 + k * 1000, k);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    for (int k = 99; k > 0; k -= 2)
        put(7, T0 + k * 1000, k);
    put(7, T0 + 50 * 1000, -50);
    put(7, T0 + 51 * 1000, -51);
    for (int pass = 0; pass < 2; pass++) {
        read_series(7, SCAN_HINTS, &p, NULL);
        ck_assert_uint_eq(p.len, 100);
        for (int k = 0; k < 100; k++)
            ck_assert_int_eq(p.v[k].i, k == 50 || k == 51 ? -k : k);
        ck_assert_int_eq(store_flush(s, &e), ST_OK);
    }
    ck_assert_uint_eq(count_keys(TABLE_ROWS), 1);
    ck_assert_uint_eq(store_counts(s).rows_merged, 1);
    points_fini(&p);
}
END_TEST

/* Only the first time is it new: older rows are not looked for then. */
START_TEST(a_new_series_is_merged_as_any_other)
{
    struct points p = { 0 };
    uint8_t bytes[9];
    series_ref ref;

    open_kind(_i);
    for (int k = 0; k < 6; k++) {
        ck_assert_int_eq(store_series(s, tsuid(bytes, 7), true, &ref, &e),
                         ST_OK);
        put(7, T0 + k * 1000, k);
        put(7, T0 + SPAN_MS + k * 1000, 10 + k);
        ck_assert_int_eq(store_flush(s, &e), ST_OK);
    }
    ck_assert_uint_eq(store_counts(s).rows_merged, 10);
    ck_assert_uint_eq(count_keys(TABLE_ROWS), 2);
    read_series(7, SCAN_HINTS, &p, NULL);
    ck_assert_uint_eq(p.len, 12);
    for (int k = 0; k < 12; k++)
        ck_assert_int_eq(p.v[k].i, k < 6 ? k : 4 + k);
    points_fini(&p);
}
END_TEST

START_TEST(a_crash_loses_nothing)
{
    open_kind(1);
    for (int k = 0; k < 500; k++)
        put(3, T0 + k * 10000, k);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    for (int k = 500; k < 1000; k++)
        put(3, T0 + k * 10000, k);
    abandon();
    open_store();
    check_range(3, T0, 10000, 1000, 0);
    for (int k = 1000; k < 1500; k++)
        put(3, T0 + k * 10000, k);
    abandon();
    open_store();
    check_range(3, T0, 10000, 1500, 0);
    close_store();
    open_store();
    ck_assert_uint_eq(store_counts(s).head_rows, 0);
    check_range(3, T0, 10000, 1500, 0);
}
END_TEST

START_TEST(batches_and_deletions_are_replayed_in_order)
{
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT;
    uint8_t bytes[9];
    uint64_t deleted = 0;

    open_kind(1);
    kv_batch_put(b, slice_str("m1"), slice_str("old"));
    kv_batch_put(b, slice_str("m2"), slice_str("x"));
    ck_assert_int_eq(store_write(s, b, NULL, &e), ST_OK);
    ck_assert_uint_eq(kv_batch_len(b), 2);
    kv_batch_clear(b);
    kv_batch_put(b, slice_str("m1"), slice_str("new"));
    kv_batch_delete(b, slice_str("m2"));
    ck_assert_int_eq(store_write(s, b, NULL, &e), ST_OK);
    for (int k = 0; k < 100; k++)
        put(3, T0 + k * 1000, k);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    for (int k = 100; k < 200; k++)
        put(3, T0 + k * 1000, k);
    ck_assert_int_eq(
        store_delete(s, tsuid(bytes, 3), 0, T0 + 149999, &deleted, NULL, &e),
        ST_OK);
    ck_assert_uint_eq(deleted, 150);
    check_range(3, T0 + 150000, 1000, 50, 150);
    abandon();
    open_store();
    check_range(3, T0 + 150000, 1000, 50, 150);
    ck_assert_int_eq(kv_get(store_kv(s), slice_str("m1"), &value, &e), ST_OK);
    ck_assert(slice_eq_str(buf_slice(&value), "new"));
    ck_assert_int_eq(kv_get(store_kv(s), slice_str("m2"), &value, &e),
                     ST_NOT_FOUND);
    kv_batch_free(&b);
    buf_fini(&value);
}
END_TEST

START_TEST(deletes_exactly_the_range)
{
    uint8_t bytes[9];
    uint64_t deleted;

    open_kind(_i);
    for (int k = 0; k < 3 * 360; k++)
        put(3, T0 + k * 10000, k);
    put(4, T0 + 5000, 1);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    /* From the middle of the first hour to the last point of all. */
    ck_assert_int_eq(store_delete(s, tsuid(bytes, 3), T0 + 1000 * 1000,
                                  T0 + 1079 * 10000, &deleted, NULL, &e),
                     ST_OK);
    ck_assert_uint_eq(deleted, 980);
    check_range(3, T0, 10000, 100, 0);
    check_range(4, T0 + 5000, 1, 1, 1);
    ck_assert_uint_eq(count_keys(TABLE_ROWS), 2);
}
END_TEST

START_TEST(masks_read_only_what_they_take)
{
    struct points p = { 0 };
    struct scan_counts c;

    open_kind(_i);
    for (unsigned i = 1; i <= 2000; i++)
        for (int h = 0; h < 4; h++)
            put(i, T0 + h * SPAN_MS, h);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    ck_assert_uint_eq(count_keys(TABLE_ROWS), 8000);
    read_series(77, SCAN_HINTS, &p, &c);
    ck_assert_uint_eq(p.len, 4);
    ck_assert_uint_eq(c.rows, 4);
    /* One seek a span and a step behind each match: not the 125 rows that a
     * span of the bucket has. */
    ck_assert_uint_le(c.keys, 4 * 3 + 2);
    ck_assert_uint_le(c.seeks, 4 * 2 + 2);
    read_series(77, SCAN_SEEKS, &p, &c);
    ck_assert_uint_eq(p.len, 4);
    ck_assert_uint_le(c.keys, 4 * 2 + 2);
    read_series(77, SCAN_RANGE, &p, &c);
    ck_assert_uint_eq(p.len, 4);
    ck_assert_uint_ge(c.keys, 300);
    points_fini(&p);
}
END_TEST

START_TEST(finds_the_last_point)
{
    struct point p;
    uint8_t bytes[9];

    open_kind(_i);
    put(1, T0, 1);
    put(1, T0 + 5 * HOUR_MS, 2);
    put(2, T0 + 9 * HOUR_MS, 9);
    for (int pass = 0; pass < 2; pass++) {
        ck_assert_int_eq(
            store_last(s, tsuid(bytes, 1), POINT_MAX_TS_MS, &p, &e), ST_OK);
        ck_assert_int_eq(p.v.i, 2);
        ck_assert_int_eq(store_last(s, tsuid(bytes, 1), T0 + HOUR_MS, &p, &e),
                         ST_OK);
        ck_assert_int_eq(p.v.i, 1);
        ck_assert_int_eq(store_last(s, tsuid(bytes, 1), T0 - 1, &p, &e),
                         ST_NOT_FOUND);
        ck_assert_int_eq(store_last(s, tsuid(bytes, 3), T0, &p, &e),
                         ST_NOT_FOUND);
        ck_assert_int_eq(store_flush(s, &e), ST_OK);
    }
}
END_TEST

START_TEST(rejects_what_no_row_can_hold)
{
    struct series_point p[3];
    uint64_t lsn;

    open_kind(_i);
    for (int k = 0; k < 3; k++)
        p[k] = (struct series_point){ .series = series(1),
                                      .point = { T0 + k, { .i = k }, false } };
    p[1].point.ts_ms = POINT_MAX_TS_MS + 1;
    ck_assert_int_eq(store_put(s, p, 3, &lsn, &e), ST_INVALID);
    ck_assert_int_eq(p[0].status, ST_OK);
    ck_assert_int_eq(p[1].status, ST_INVALID);
    ck_assert_int_eq(p[2].status, ST_OK);
    p[1].point.ts_ms = -1;
    ck_assert_int_eq(store_put(s, p, 3, &lsn, &e), ST_INVALID);
    ck_assert_int_eq(p[1].status, ST_INVALID);
    p[1].point.ts_ms = POINT_MAX_TS_MS;
    p[2].series = SERIES_REF_NONE;
    ck_assert_int_eq(store_put(s, p, 3, &lsn, &e), ST_NOT_FOUND);
    ck_assert_int_eq(p[1].status, ST_OK);
    ck_assert_int_eq(p[2].status, ST_NOT_FOUND);
}
END_TEST

/* Another series has its place in the head by then. */
START_TEST(a_forgotten_series_is_not_another_one)
{
    struct series_point p = { .point = { .ts_ms = T0 } };
    series_ref other = SERIES_REF_NONE;
    uint64_t lsn;

    open_kind(_i);
    p.series = series(1);
    head_evict(s->head, 0, UINT32_MAX);
    for (unsigned i = 2;
         series_ref_bucket(other) != series_ref_bucket(p.series); i++)
        other = series(i);
    ck_assert_uint_eq((uint32_t)other, (uint32_t)p.series);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_NOT_FOUND);
    p.series = other;
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
}
END_TEST

/* Its row is of the hour that is now, and is flushed for that. */
START_TEST(an_idle_series_leaves_memory)
{
    struct series_point p = { .point = { .v.i = 1 } };
    int64_t give_up_us = clock_monotonic_us() + 60 * INT64_C(1000000);
    uint64_t lsn;

    set_options(_i);
    o.series_idle_ms = 1000;
    open_store();
    p.series = series(1);
    p.point.ts_ms = clock_now_ms(&clock_system);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    while (store_counts(s).series_forgotten == 0 &&
           clock_monotonic_us() < give_up_us)
        (void)usleep(20000);
    ck_assert_uint_eq(store_counts(s).series_forgotten, 1);
    ck_assert_uint_eq(store_counts(s).head_series, 0);
    ck_assert_uint_eq(store_counts(s).head_points, 0);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_NOT_FOUND);
}
END_TEST

/* They were written to just now, idle series leave only in an hour, and a purge
 * watches them; it learns that it does not know of all that were written to. */
START_TEST(flushed_series_make_room_for_new_ones)
{
    enum { MOST = 64, MADE = 400, OPEN = 8 };
    bool kept;
    int64_t give_up_us = clock_monotonic_us() + 60 * INT64_C(1000000);

    set_options(_i);
    o.head_series = MOST;
    open_store();
    store_watch_series(s, INT64_MAX);
    ck_assert(store_forget_series(s, NULL, 0, &kept));
    for (unsigned i = 0; i < MADE; i++)
        put(i, T0, 1);
    ck_assert_uint_eq(store_counts(s).head_series, MADE);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    while (store_counts(s).head_series > MOST &&
           clock_monotonic_us() < give_up_us) {
        for (unsigned i = 0; i < OPEN; i++)
            put(i, T0 + 1000, 2);
        (void)usleep(20000);
    }
    ck_assert_uint_le(store_counts(s).head_series, MOST);
    ck_assert_uint_ge(store_counts(s).head_series, OPEN);
    ck_assert(!store_forget_series(s, NULL, 0, &kept));
    for (unsigned i = 0; i < MADE; i++)
        check_range(i, T0, 1000, i < OPEN ? 2 : 1, 1);
}
END_TEST

START_TEST(a_small_head_flushes_early)
{
    set_options(_i);
    o.head_bytes = 32 << 10;
    open_store();
    for (int k = 0; k < 400; k++)
        for (unsigned i = 1; i <= 100; i++)
            put(i, T0 + k * 1000, k);
    ck_assert_uint_le(store_counts(s).head_bytes, (32 << 10) + 4096);
    ck_assert_uint_gt(store_counts(s).rows_flushed, 0);
    for (unsigned i = 1; i <= 100; i += 9)
        check_range(i, T0, 1000, 400, 0);
}
END_TEST

/* What is left behind by a flushing that failed while points came: two open
 * rows of one hour.  The older one must not be written over the younger one. */
START_TEST(two_rows_of_an_hour_are_flushed_in_order)
{
    struct points p = { 0 };
    struct head_flushing *rows =
        mem_new_array(HEAD_PASS_ROWS + ROW_HOURS_MAX, sizeof *rows);
    struct head_pass flushing;

    open_kind(_i);
    put(3, T0, 1);
    put(3, T0 + 1000, 2);
    head_pass_begin(&flushing, s->head, series_ref_bucket(series(3)),
                    &(struct flush_rule){ .all = true }, 0);
    ck_assert_uint_eq(head_pass_next(&flushing, rows), 1);
    put(3, T0 + 1000, 3);
    put(3, T0 + 2000, 4);
    head_pass_done(&flushing, rows, 1);
    free(rows);
    ck_assert_uint_eq(store_counts(s).head_rows, 2);
    for (int pass = 0; pass < 2; pass++) {
        read_series(3, SCAN_HINTS, &p, NULL);
        ck_assert_uint_eq(p.len, 3);
        ck_assert_int_eq(p.v[0].i, 1);
        ck_assert_int_eq(p.v[1].i, 3);
        ck_assert_int_eq(p.v[2].i, 4);
        ck_assert_int_eq(store_flush(s, &e), ST_OK);
        ck_assert_uint_eq(store_counts(s).head_rows, 0);
    }
    points_fini(&p);
}
END_TEST

START_TEST(the_journal_is_trimmed)
{
    set_options(1);
    o.wal_segment_bytes = 4096;
    open_store();
    for (int k = 0; k < 20000; k++)
        put(1 + (unsigned)k % 10, T0 + k * 100, k);
    ck_assert_uint_gt(store_counts(s).wal.segments, 5);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    ck_assert_uint_le(store_counts(s).wal.segments, 2);
    ck_assert_uint_le(store_counts(s).wal.bytes, 8192);
}
END_TEST

/* As the engine has it. */
static struct slice
only_row(struct kv_iter **it)
{
    uint8_t first = TABLE_ROWS;

    *it = kv_iter_open(store_kv(s), slice_str(""));
    ck_assert(kv_iter_seek(*it, slice_of(&first, 1)));
    ck_assert_int_eq(kv_iter_key(*it).data[0], TABLE_ROWS);
    return kv_iter_value(*it);
}

/* Values of each size come back, with and without zeros behind. */
START_TEST(rows_of_any_size_come_back)
{
    static const int sizes[] = { 2, 10, 40, 60, 100, 200, 400, 900 };
    struct points p = { 0 };

    set_options(_i);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        uint64_t state = harness_seed(3);
        struct kv_iter *it;
        struct slice value;

        open_store();
        for (int k = 0; k < sizes[n]; k++)
            put(1, T0 + k * 1000, (int64_t)harness_random(&state) >> 1);
        ck_assert_int_eq(store_flush(s, &e), ST_OK);
        value = only_row(&it);
        ck_assert_int_eq(value.data[0] == 2,
                         kv_traits(store_kv(s))->wants_padding &&
                             sizes[n] >= 10 && sizes[n] <= 100);
        ck_assert_int_eq(kv_iter_close(&it, &e), ST_OK);
        for (size_t w = 0; w < 3; w++) {
            state = harness_seed(3);
            read_series(1, ways[w], &p, NULL);
            ck_assert_uint_eq(p.len, (size_t)sizes[n]);
            for (size_t k = 0; k < p.len; k++)
                ck_assert_int_eq(p.v[k].i,
                                 (int64_t)harness_random(&state) >> 1);
        }
        close_store();
    }
    points_fini(&p);
}
END_TEST

START_TEST(other_folders_are_rejected)
{
    struct store *second;
    char path[4096];
    FILE *f;

    open_kind(1);
    ck_assert_int_ne(store_open(&o, &second, &e), ST_OK);
    ck_assert_ptr_null(second);
    close_store();
    (void)snprintf(path, sizeof path, "%s/FORMAT", dir);
    ck_assert_int_eq(remove(path), 0);
    open_store(); /* by its copy, of which it is made again */
    close_store();
    ck_assert_int_eq(remove(path), 0);
    (void)snprintf(path, sizeof path, "%s/FORMAT.1", dir);
    ck_assert_int_eq(remove(path), 0);
    (void)snprintf(path, sizeof path, "%s/LOCK", dir);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_ne(store_open(&o, &s, &e), ST_OK);
    ck_assert_msg(strstr(e.text, "no FORMAT") != NULL, "%s", e.text);
    ck_assert_int_ne(access(path, F_OK), 0); /* nothing is left there */
    (void)snprintf(path, sizeof path, "%s/FORMAT", dir);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    (void)fputs("something else\n", f);
    (void)fclose(f);
    ck_assert_int_ne(store_open(&o, &s, &e), ST_OK);
}
END_TEST

/* Readers see every acknowledged point, while rows are flushed under them. */
struct race {
    _Atomic int acknowledged;
    _Atomic bool done;
};

static void *
read_on(void *arg)
{
    struct race *r = arg;
    struct points p = { 0 };

    for (size_t n = 0; !atomic_load(&r->done); n++) {
        int at_least = atomic_load(&r->acknowledged);

        read_series(5, ways[n % 3], &p, NULL);
        ck_assert_uint_ge(p.len, (size_t)at_least);
        for (size_t k = 0; k < p.len; k++)
            ck_assert_int_eq(p.ts_ms[k], T0 + (int64_t)k * 500);
    }
    points_fini(&p);
    return NULL;
}

static void *
flush_on(void *arg)
{
    struct race *r = arg;
    struct error mine;

    for (size_t n = 0; !atomic_load(&r->done); n++)
        if (encode_all(s) == 0 || n % 3 == 0)
            ck_assert_int_eq(store_flush(s, &mine), ST_OK);
    return NULL;
}

START_TEST(readers_miss_nothing_while_rows_are_flushed)
{
    struct race r = { 0 };
    pthread_t threads[2];

    open_kind(_i);
    ck_assert_int_eq(pthread_create(&threads[0], NULL, read_on, &r), 0);
    ck_assert_int_eq(pthread_create(&threads[1], NULL, flush_on, &r), 0);
    for (int k = 0; k < 3000; k++) {
        put(5, T0 + k * 500, k);
        atomic_store(&r.acknowledged, k + 1);
    }
    atomic_store(&r.done, true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    check_range(5, T0, 500, 3000, 0);
}
END_TEST

/* Random puts, flushes, deletions and crashes against a plain array. */
START_TEST(agrees_with_a_plain_array)
{
    enum { SERIES = 5, SLOTS = 3000 };
    static int64_t model[SERIES][SLOTS]; /* 0: no point */
    uint64_t state = harness_seed(20261121 + (unsigned long)_i);
    struct points p = { 0 };

    set_options(_i);
    memset(model, 0, sizeof model);
    o.wal_segment_bytes = 20000;
    open_store();
    for (int n = 0; n < 6000; n++) {
        unsigned i = (unsigned)(harness_random(&state) % SERIES);
        size_t slot = harness_random(&state) % SLOTS;
        uint64_t dice = harness_random(&state) % 1000;
        uint8_t bytes[9];

        if (dice < 5) {
            ck_assert_int_eq(store_flush(s, &e), ST_OK);
        } else if (dice > 985) {
            (void)encode_all(s);
        } else if (dice < 8 && o.dir != NULL) {
            abandon();
            open_store();
        } else if (dice < 15) {
            size_t to = slot + harness_random(&state) % 500;

            ck_assert_int_eq(
                store_delete(s, tsuid(bytes, i + 1), T0 + (int64_t)slot * 7000,
                             T0 + (int64_t)to * 7000, NULL, NULL, &e),
                ST_OK);
            for (size_t k = slot; k <= to && k < SLOTS; k++)
                model[i][k] = 0;
        } else {
            model[i][slot] = n + 1;
            put(i + 1, T0 + (int64_t)slot * 7000, n + 1);
        }
    }
    for (unsigned i = 0; i < SERIES; i++)
        for (size_t w = 0; w < 3; w++) {
            size_t at = 0;

            read_series(i + 1, ways[w], &p, NULL);
            for (size_t k = 0; k < SLOTS; k++) {
                if (model[i][k] == 0)
                    continue;
                ck_assert_uint_lt(at, p.len);
                ck_assert_int_eq(p.ts_ms[at], T0 + (int64_t)k * 7000);
                ck_assert_int_eq(p.v[at].i, model[i][k]);
                at++;
            }
            ck_assert_uint_eq(at, p.len);
        }
    points_fini(&p);
}
END_TEST

TEST_MAIN_WITH(NULL, teardown, "store", LOOP(points_come_back, kinds),
               LOOP(an_hour_is_one_row, kinds),
               LOOP(late_points_are_merged_and_the_last_write_wins, kinds),
               LOOP(a_new_series_is_merged_as_any_other, kinds),
               TEST(a_crash_loses_nothing),
               TEST(batches_and_deletions_are_replayed_in_order),
               LOOP(deletes_exactly_the_range, kinds),
               LOOP(masks_read_only_what_they_take, kinds),
               LOOP(finds_the_last_point, kinds),
               LOOP(rejects_what_no_row_can_hold, kinds),
               LOOP(a_forgotten_series_is_not_another_one, kinds),
               LOOP(an_idle_series_leaves_memory, kinds),
               LOOP(flushed_series_make_room_for_new_ones, kinds),
               LOOP(a_small_head_flushes_early, kinds),
               LOOP(two_rows_of_an_hour_are_flushed_in_order, kinds),
               TEST(the_journal_is_trimmed),
               LOOP(rows_of_any_size_come_back, kinds),
               TEST(other_folders_are_rejected),
               LOOP(readers_miss_nothing_while_rows_are_flushed, kinds),
               LOOP(agrees_with_a_plain_array, kinds))

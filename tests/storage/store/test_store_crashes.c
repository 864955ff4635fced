/* Crashes at timestamps that chance seldom finds.  Each life of a store is a
 * process that ends without a goodbye. */
#include "storage/store/store_priv.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/process/log.h"
#include "storage/kv/engine.h"
#include "storage/scan/store_scan.h"
#include "storage/wal/wal_files.h"
#include "storage/wal/wal_priv.h"
#include "tests/harness.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define T0 INT64_C(1356998400000)

/* Behind all points.  A look-up goes back from here in windows of time, each a
 * call of the engine: from POINT_MAX_TS_MS they would be thousands. */
#define LATEST_MS (T0 + 24 * HOUR_MS)

static struct error e;
static char *dir;
static bool salted; /* of sixteen buckets */

static struct store *
open_store(void)
{
    struct store_options o = { .dir = dir,
                               .layout = { salted, salted ? 16 : 1, 3, 3, 3,
                                           6 },
                               .sync = WAL_SYNC_ALWAYS };
    struct store *s;

    ck_assert_msg(store_open(&o, &s, &e) == ST_OK, "%s", e.text);
    return s;
}

static void
live(void (*life)(struct store *s))
{
    pid_t child = fork();

    if (child == 0) {
        life(open_store());
        harness_die();
    }
    harness_wait_dead(child);
}

static void
put(struct store *s, unsigned i, int64_t value)
{
    struct series_point p = { .point = { T0, { .i = value }, false } };
    uint8_t bytes[TSUID_BYTES];
    uint64_t lsn;

    ck_assert_int_eq(store_series(s, tsuid(bytes, i), false, &p.series, &e),
                     ST_OK);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, true, &e), ST_OK);
}

static void
expect(struct store *s, unsigned i, int64_t value)
{
    uint8_t bytes[TSUID_BYTES];
    struct point p;

    ck_assert_msg(store_last(s, tsuid(bytes, i), LATEST_MS, &p, &e) == ST_OK,
                  "series %u: %s", i, e.text);
    ck_assert_int_eq(p.v.i, value);
}

/* -- a segment begins while points of known series come ---------------------
 */

static void
put_across_segments(struct store *s)
{
    put(s, 1, 1);
    put(s, 2, 6);
    wal_rotate(s->wal);
    put(s, 2, 7);
}

static void
trim_what_is_not_needed(struct store *s)
{
    uint8_t bytes[TSUID_BYTES];
    uint64_t lsn;

    expect(s, 2, 7);
    ck_assert_int_eq(
        store_delete(s, tsuid(bytes, 1), 0, POINT_MAX_TS_MS, NULL, &lsn, &e),
        ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, true, &e), ST_OK);
    lock_take(&s->flush_lock);
    ck_assert_int_eq(store_trim(s, &e), ST_OK);
    lock_drop(&s->flush_lock);
}

static void
expect_seven(struct store *s)
{
    expect(s, 2, 7);
}

START_TEST(each_segment_defines_its_series)
{
    dir = tempdir_new();
    live(put_across_segments);
    live(trim_what_is_not_needed);
    live(expect_seven);
    tempdir_free(&dir);
}
END_TEST

/* -- a record that is lost takes few points of later ones with it -----------
 */

#define PUTS 500

static void
put_often(struct store *s)
{
    for (int i = 0; i < PUTS; i++)
        put(s, 1, i);
}

static enum status
count_definitions(void *ctx, uint64_t segment, uint8_t type,
                  struct slice payload, struct error *why)
{
    struct wal_points_reader r;
    size_t *count = ctx;

    (void)segment, (void)why;
    if (type != RECORD_POINTS)
        return ST_OK;
    wal_points_read(&r, payload);
    while (wal_points_next(&r))
        *count += r.tsuid.size > 0;
    ck_assert(!r.c.failed);
    return ST_OK;
}

START_TEST(series_are_defined_again_now_and_then)
{
    char path[600];
    struct wal *wal;
    size_t count = 0;

    dir = tempdir_new();
    live(put_often);
    (void)snprintf(path, sizeof path, "%s/journal", dir);
    ck_assert_int_eq(
        wal_open(&(struct wal_options){ .medium = wal_files_new(path) }, &wal,
                 &e),
        ST_OK);
    ck_assert_int_eq(wal_replay(wal, count_definitions, &count, &e), ST_OK);
    ck_assert_int_eq(wal_close(&wal, &e), ST_OK);
    ck_assert_uint_ge(count, PUTS / 100);
    ck_assert_uint_le(count, PUTS / 10);
    tempdir_free(&dir);
}
END_TEST

/* -- a deletion meets a damaged row ---------------------------------------- */

static void
delete_over_damage(struct store *s)
{
    uint8_t bytes[TSUID_BYTES], key[ROW_KEY_MAX];
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT;
    struct slice t = tsuid(bytes, 1), k;
    uint64_t lsn, gone;

    put(s, 1, 1);
    put(s, 2, 7);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    k = slice_of(key, key_row(store_layout(s), t, hour_base(T0), key));
    ck_assert_int_eq(kv_get(store_kv(s), k, &value, &e), ST_OK);
    value.data[value.size / 2] ^= 1;
    kv_batch_put(b, k, buf_slice(&value));
    ck_assert_int_eq(kv_write(store_kv(s), b, &e), ST_OK);
    ck_assert_int_eq(store_delete(s, t, 0, POINT_MAX_TS_MS, &gone, &lsn, &e),
                     ST_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.text, "checksum"));
}

START_TEST(damage_under_a_deletion_keeps_no_store_closed)
{
    dir = tempdir_new();
    live(delete_over_damage);
    live(expect_seven);
    tempdir_free(&dir);
}
END_TEST

/* -- the WAL fails, a row is damaged ----------------------------------- */

static ssize_t
write_nothing(int fd, const void *data, size_t size)
{
    (void)fd, (void)data, (void)size;
    errno = EIO;
    return -1;
}

static int
sync_fine(int fd)
{
    return fdatasync(fd);
}

static void
wait_until_it_writes(struct store *s)
{
    enum status status = ST_IO;

    for (int i = 0; i < 6000 && status != ST_OK; i++) {
        usleep(10000);
        status = wal_status(s->wal, &e);
    }
    ck_assert_msg(status == ST_OK, "%s", e.text);
}

/* One WAL write fails, and the disk is well again. */
static void
fail_one_write(struct store *s)
{
    const struct wal_io bad = { write_nothing, sync_fine };
    const struct wal_io well = { write, sync_fine };
    struct series_point p = { .point = { T0, { .i = 5 }, false } };
    uint8_t bytes[TSUID_BYTES];
    uint64_t lsn = 0;

    ck_assert_int_eq(store_series(s, tsuid(bytes, 1), false, &p.series, &e),
                     ST_OK);
    *wal_files_io(s->wal->medium) = bad;
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, false, &e), ST_BUSY);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_BUSY);
    *wal_files_io(s->wal->medium) = well;
}

START_TEST(rejected_points_are_counted_in_the_head)
{
    struct store *s;

    dir = tempdir_new();
    s = open_store();
    fail_one_write(s);
    wait_until_it_writes(s);
    ck_assert_uint_eq(store_counts(s).head_points, 0);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
    tempdir_free(&dir);
}
END_TEST

/* Neither the trimming of the WAL nor its recovery waits for it. */
START_TEST(a_damaged_row_makes_way)
{
    const uint8_t table = TABLE_QUARANTINE;
    struct store *s;
    struct kv_batch *b;
    uint8_t bytes[TSUID_BYTES], key[ROW_KEY_MAX];
    struct slice k;
    struct kv_iter *it;

    dir = tempdir_new();
    s = open_store();
    b = kv_batch_new();
    put(s, 1, 1);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    k = slice_of(key, key_row(&s->layout, tsuid(bytes, 1), T0 / 1000, key));
    kv_batch_put(b, k, slice_str("\3damaged"));
    ck_assert_int_eq(kv_write(store_kv(s), b, &e), ST_OK);
    kv_batch_free(&b);
    put(s, 1, 5);
    put(s, 2, 6);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    ck_assert_uint_eq(store_counts(s).head_rows, 0);
    ck_assert_uint_eq(store_counts(s).wal.segments, 1);
    ck_assert_uint_eq(store_counts(s).rows_quarantined, 1);
    expect(s, 1, 5);
    expect(s, 2, 6);
    it = kv_iter_open(store_kv(s), slice_of(&table, 1));
    ck_assert(kv_iter_seek(it, slice_of(&table, 1)));
    ck_assert(slice_eq(slice_of(kv_iter_key(it).data + 1, k.size), k));
    ck_assert(slice_eq_str(kv_iter_value(it), "\3damaged"));
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_OK);
    fail_one_write(s);
    wait_until_it_writes(s);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
    tempdir_free(&dir);
}
END_TEST

/* Of a row of several hours, only the damaged hour makes way. */
START_TEST(intact_hours_of_a_damaged_row_stay)
{
    struct store *s;
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT, stored = BUF_INIT;
    uint8_t bytes[TSUID_BYTES], key[ROW_KEY_MAX], bad[40] = { 0 };
    struct series_point p = { .point = { T0, { .i = 1 }, false } };
    struct row_blocks parts = { .split = BUF_INIT };
    struct slice k;
    struct point last;
    uint64_t lsn;

    dir = tempdir_new();
    s = open_store();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(store_series(s, tsuid(bytes, 1), false, &p.series, &e),
                         ST_OK);
        p.point.ts_ms = T0 + i * HOUR_MS;
        ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    }
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    k = slice_of(key, key_row(&s->layout, tsuid(bytes, 1), T0 / 1000, key));
    ck_assert_int_eq(kv_get(store_kv(s), k, &stored, &e), ST_OK);
    ck_assert_int_eq(
        row_blocks_of(&s->layout, T0 / 1000, buf_slice(&stored), &parts, &e),
        ST_OK);
    ck_assert_uint_gt(parts.blocks[1].size, 0);
    bad[0] = parts.blocks[1].data[0];
    memset(bad + 1, 0xff, sizeof bad - 1);
    parts.blocks[1] = slice_of(bad, sizeof bad);
    row_value_put(&s->layout, T0 / 1000, &parts, &value);
    kv_batch_put(b, k, buf_slice(&value));
    ck_assert_int_eq(kv_write(store_kv(s), b, &e), ST_OK);
    row_blocks_fini(&parts);
    p.point.v.i = 9; /* a point of the damaged hour */
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    ck_assert_uint_eq(store_counts(s).rows_quarantined, 1);
    ck_assert_uint_eq(store_counts(s).rows_unreadable, 0);
    expect(s, 1, 9);
    ck_assert_int_eq(
        store_last(s, tsuid(bytes, 1), T0 + HOUR_MS - 1, &last, &e), ST_OK);
    ck_assert_int_eq(last.v.i, 1);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
    kv_batch_free(&b);
    buf_fini(&value);
    buf_fini(&stored);
    tempdir_free(&dir);
}
END_TEST

static void
put_and_close(struct store *s)
{
    put(s, 1, 1);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
}

/* Flips a bit in the first block of each table of the engine. */
static void
damage_tables(void)
{
    char path[600];
    struct dirent *entry;
    size_t tables = 0;
    DIR *d;

    (void)snprintf(path, sizeof path, "%s/engine", dir);
    d = opendir(path);
    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d)) != NULL) {
        FILE *f;
        int byte;

        if (strstr(entry->d_name, ".ldb") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/engine/%s", dir, entry->d_name);
        f = fopen(path, "r+b");
        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(fseek(f, 12, SEEK_SET), 0);
        byte = getc(f);
        ck_assert_int_eq(fseek(f, 12, SEEK_SET), 0);
        ck_assert_int_eq(putc(byte ^ 1, f), byte ^ 1);
        ck_assert_int_eq(fclose(f), 0);
        tables++;
    }
    ck_assert_int_eq(closedir(d), 0);
    ck_assert_uint_ge(tables, 1);
}

/* What the engine cannot read is replaced, and nothing is in quarantine. */
START_TEST(an_unreadable_row_is_replaced)
{
    const uint8_t table = TABLE_QUARANTINE;
    struct buf value = BUF_INIT;
    uint8_t bytes[TSUID_BYTES], key[ROW_KEY_MAX];
    struct slice k;
    struct store *s;
    struct kv_iter *it;

    dir = tempdir_new();
    live(put_and_close);
    damage_tables();
    s = open_store();
    put(s, 1, 5);
    ck_assert_msg(store_flush(s, &e) == ST_OK, "%s", e.text);
    ck_assert_uint_eq(store_counts(s).head_rows, 0);
    ck_assert_uint_eq(store_counts(s).rows_unreadable, 1);
    ck_assert_uint_eq(store_counts(s).rows_quarantined, 0);
    k = slice_of(key, key_row(&s->layout, tsuid(bytes, 1), T0 / 1000, key));
    ck_assert_int_eq(kv_get(store_kv(s), k, &value, &e), ST_OK);
    buf_fini(&value);
    it = kv_iter_open(store_kv(s), slice_of(&table, 1));
    ck_assert(!kv_iter_seek(it, slice_of(&table, 1)));
    (void)!kv_iter_close(&it, NULL);
    (void)!store_close(&s, &e);
    tempdir_free(&dir);
}
END_TEST

/* -- the WAL's disk is slow ------------------------------------------------ */

static _Atomic bool disk_waits, disk_released, disk_gave_up;

/* Until the test lets it go, or five seconds have passed. */
static ssize_t
write_slowly(int fd, const void *data, size_t size)
{
    atomic_store(&disk_waits, true);
    for (int i = 0; i < 500 && !atomic_load(&disk_released); i++)
        usleep(10000);
    if (!atomic_load(&disk_released))
        atomic_store(&disk_gave_up, true);
    return write(fd, data, size);
}

struct slow_put {
    struct store *s;
    pthread_t thread;
    series_ref series;
    bool deletes;
};

static void *
put_many(void *arg)
{
    struct slow_put *w = arg;
    struct error mine;
    uint8_t bytes[TSUID_BYTES];
    uint64_t lsn = 0;

    for (int i = 0; i < 2000 && !w->deletes; i++) {
        struct series_point p = { .series = w->series,
                                  .point = { T0 + i, { .i = i }, false } };

        ck_assert_int_eq(store_put(w->s, &p, 1, &lsn, &mine), ST_OK);
    }
    if (w->deletes)
        ck_assert_int_eq(
            store_delete(w->s, tsuid(bytes, 3), 0, T0, NULL, &lsn, &mine),
            ST_OK);
    ck_assert_int_eq(store_commit(w->s, lsn, false, &mine), ST_OK);
    return NULL;
}

/* A put and a deletion that wait for room in the WAL hold no lock that a query
 * takes. */
START_TEST(queries_do_not_wait_for_the_wal)
{
    const struct wal_io slow = { write_slowly, sync_fine };
    struct slow_put w[3] = { { 0 } };
    uint8_t bytes[TSUID_BYTES];

    dir = tempdir_new();
    w[0].s = open_store();
    put(w[0].s, 4, 1);
    w[0].s->wal->buffer_bytes = 200;
    *wal_files_io(w[0].s->wal->medium) = slow;
    for (int i = 0; i < 3; i++) {
        w[i].s = w[0].s;
        w[i].deletes = i == 2;
        ck_assert_int_eq(store_series(w[0].s, tsuid(bytes, (unsigned)i + 1),
                                      false, &w[i].series, &e),
                         ST_OK);
        ck_assert_int_eq(pthread_create(&w[i].thread, NULL, put_many, &w[i]),
                         0);
    }
    while (!atomic_load(&disk_waits))
        usleep(1000);
    usleep(300000); /* all three wait for it */
    expect(w[0].s, 4, 1);
    ck_assert(!atomic_load(&disk_gave_up));
    atomic_store(&disk_released, true);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_join(w[i].thread, NULL), 0);
    ck_assert_int_eq(store_close(&w[0].s, &e), ST_OK);
    tempdir_free(&dir);
}
END_TEST

/* -- records are not appended ---------------------------------------------- */

/* Series that only a lost record defines are defined again. */
static void
lose_a_record(struct store *s)
{
    const struct wal_io fails = { write_nothing, sync_fine };
    const struct wal_io works = { write, sync_fine };
    struct series_point p = { .point = { T0, { .i = 6 }, false } };
    uint8_t bytes[TSUID_BYTES];
    uint64_t lsn;

    put(s, 1, 1);
    *wal_files_io(s->wal->medium) = fails;
    ck_assert_int_eq(store_series(s, tsuid(bytes, 2), false, &p.series, &e),
                     ST_OK);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, true, &e), ST_BUSY);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_BUSY);
    *wal_files_io(s->wal->medium) = works;
    store_check_disk(s);
    put(s, 2, 7);
    put(s, 1, 8);
}

static void
count_rejections(void *ctx, const char *line)
{
    *(int *)ctx += strstr(line, "writes are rejected") != NULL;
}

/* The WAL failed and the engine, too, so that it cannot be begun anew: each is
 * logged once, however often the disk is looked at. */
static void
lose_both(struct store *s)
{
    const struct wal_io fails = { write_nothing, sync_fine };
    const struct error why = { ST_IO, "the disk is broken" };
    struct series_point p = { .point = { T0, { .i = 6 }, false } };
    uint8_t bytes[TSUID_BYTES];
    uint64_t lsn;
    int lines = 0;

    put(s, 1, 1);
    ck_assert_int_eq(kv_fail(s->kv, &why, &e), ST_IO);
    *wal_files_io(s->wal->medium) = fails;
    ck_assert_int_eq(store_series(s, tsuid(bytes, 2), false, &p.series, &e),
                     ST_OK);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, true, &e), ST_BUSY);
    for (int i = 0; i < 3; i++)
        store_check_disk(s);
    log_recent(count_rejections, &lines);
    ck_assert_int_eq(lines, 2);
    ck_assert_int_eq(store_may_write(s, &e), ST_BUSY);
    ck_assert_msg(strstr(e.text, "cannot be begun anew") != NULL, "%s", e.text);
}

static void
expect_one(struct store *s)
{
    expect(s, 1, 1);
}

START_TEST(two_failures_are_logged_once)
{
    dir = tempdir_new();
    live(lose_both);
    live(expect_one);
    tempdir_free(&dir);
}
END_TEST

static void
expect_seven_and_eight(struct store *s)
{
    expect(s, 1, 8);
    expect(s, 2, 7);
}

START_TEST(a_lost_record_defines_nothing)
{
    dir = tempdir_new();
    live(lose_a_record);
    live(expect_seven_and_eight);
    tempdir_free(&dir);
}
END_TEST

/* -- what is trimmed from the WAL ------------------------------------------ */

#define SERIES 200

static void
put_and_flush(struct store *s)
{
    for (unsigned i = 0; i < SERIES; i++)
        put(s, i, i);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
}

/* Some are written anew, some deleted, and the rest of the WAL goes. */
static void
change_and_flush(struct store *s)
{
    uint8_t bytes[TSUID_BYTES];
    uint64_t lsn, deleted;

    for (unsigned i = 0; i < SERIES; i++)
        expect(s, i, i);
    for (unsigned i = 0; i < SERIES; i += 2)
        put(s, i, i + SERIES);
    for (unsigned i = 1; i < SERIES; i += 4)
        ck_assert_int_eq(store_delete(s, tsuid(bytes, i), 0, POINT_MAX_TS_MS,
                                      &deleted, &lsn, &e),
                         ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, true, &e), ST_OK);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
}

static void
expect_changes(struct store *s)
{
    uint8_t bytes[TSUID_BYTES];
    struct point p;

    for (unsigned i = 0; i < SERIES; i++)
        if (i % 2 == 0)
            expect(s, i, i + SERIES);
        else if (i % 4 == 3)
            expect(s, i, i);
        else
            ck_assert_int_eq(store_last(s, tsuid(bytes, i), LATEST_MS, &p, &e),
                             ST_NOT_FOUND);
}

/* On LevelDB, and where the buckets' rows are durable in any order. */
START_TEST(trimmed_points_are_in_the_engine)
{
    if (_i == 1)
        ck_assert_int_eq(setenv("HALITE_ENGINE", "slow", 1), 0);
    salted = true;
    dir = tempdir_new();
    live(put_and_flush);
    live(change_and_flush);
    live(expect_changes);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN_FORKED("store_crashes", TIMES(trimmed_points_are_in_the_engine, 2),
                 TEST(each_segment_defines_its_series),
                 TEST(series_are_defined_again_now_and_then),
                 TEST(damage_under_a_deletion_keeps_no_store_closed),
                 TEST(a_damaged_row_makes_way),
                 TEST(rejected_points_are_counted_in_the_head),
                 TEST(intact_hours_of_a_damaged_row_stay),
                 ON_LEVELDB(TEST(an_unreadable_row_is_replaced)),
                 TEST(queries_do_not_wait_for_the_wal),
                 TEST(a_lost_record_defines_nothing),
                 TEST(two_failures_are_logged_once))

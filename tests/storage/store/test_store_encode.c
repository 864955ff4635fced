/* Hours that are over are kept as blocks in the head: smaller, read as they
 * were, with late points over them, and written as they are. */
#include <unistd.h>

#include "storage/scan/store_scan.h"
#include "storage/store/store_priv.h"
#include "tests/harness.h"
#include "tests/storage/encoding.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define T0     INT64_C(1356998400000) /* a span begins */
#define STEP   10000
#define HOURS  5
#define POINTS (HOURS * 360)

static struct error e;

struct rig {
    char *dir;
    struct store_options options;
    struct store *s;
};

static void
rig_open(struct rig *r)
{
    if (r->dir == NULL)
        *r = (struct rig){ .dir = tempdir_new(),
                           .options = { .layout = KEY_LAYOUT_DEFAULT,
                                        .sync = WAL_SYNC_OFF } };
    r->options.dir = r->dir;
    ck_assert_msg(store_open(&r->options, &r->s, &e) == ST_OK, "%s", e.text);
}

static void
rig_kill(struct rig *r)
{
    store_flusher_stop(r->s);
    store_destroy(r->s);
    r->s = NULL;
}

static void
rig_close(struct rig *r)
{
    ck_assert_msg(store_close(&r->s, &e) == ST_OK, "%s", e.text);
    tempdir_free(&r->dir);
}

static void
put(struct rig *r, int64_t ts_ms, union number v, bool is_float)
{
    struct series_point p = { .point = { ts_ms, v, is_float } };
    uint8_t bytes[9];
    uint64_t lsn;

    ck_assert_int_eq(store_series(r->s, tsuid(bytes, 1), false, &p.series, &e),
                     ST_OK);
    ck_assert_int_eq(store_put(r->s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(r->s, lsn, false, &e), ST_OK);
}

/* A walk that a gauge could make. */
static int64_t
value(int k)
{
    return 500 + (k * 7919 % 101 - 50) / 24 + k / 40;
}

static void
put_hours(struct rig *r, bool is_float)
{
    for (int k = 0; k < POINTS; k++)
        put(r, T0 + (int64_t)k * STEP,
            is_float ? (union number){ .d = (double)value(k) / 100 }
                     : (union number){ .i = value(k) },
            is_float);
}

/* What a scan lends of the series: its points, and how many rows were blocks
 * and nothing else. */
static size_t
read_all(struct rig *r, uint32_t from_base, uint32_t to_base,
         struct points *out)
{
    uint8_t bytes[9];
    struct slice t = tsuid(bytes, 1);
    struct scan_spec spec = { .path = SCAN_SEEKS,
                              .bucket = key_salt(&r->s->layout, t),
                              .from_base = from_base,
                              .to_base = to_base,
                              .metric = slice_of(t.data, 3),
                              .series = &t,
                              .series_len = 1,
                              .want.summaries = true };
    struct store_scan *scan;
    struct store_row row;
    size_t blocks = 0;

    points_clear(out);
    ck_assert_int_eq(store_scans_open(r->s, &spec, 1, &scan, &e), ST_OK);
    while (store_scan_next(scan, &row)) {
        struct summary s;
        bool known;
        size_t len = out->len;

        ck_assert_int_eq(store_row_points(&row, out, &e), ST_OK);
        ck_assert_int_eq(store_row_summary(&row, &s, &known, &e), ST_OK);
        if (known) {
            ck_assert_uint_eq(s.count, out->len - len);
            ck_assert_int_eq(s.last_ms, out->ts_ms[out->len - 1]);
        }
        blocks += row.open_len == 0;
    }
    ck_assert_int_eq(store_scan_close(&scan, NULL, ST_OK, &e), ST_OK);
    return blocks;
}

static void
check_points(struct rig *r, const struct points *want, size_t blocks)
{
    struct points p = { 0 };

    ck_assert_uint_eq(read_all(r, 0, UINT32_MAX / HOUR_S * HOUR_S, &p), blocks);
    ck_assert_uint_eq(p.len, want->len);
    for (size_t i = 0; i < p.len; i++) {
        ck_assert_int_eq(p.ts_ms[i], want->ts_ms[i]);
        ck_assert_int_eq(p.v[i].i, want->v[i].i);
        ck_assert_int_eq(p.is_float[i], want->is_float[i]);
    }
    points_fini(&p);
}

static const bool kinds[] = { false, true };

START_TEST(hours_take_a_third)
{
    struct points want = { 0 };
    struct rig r = { 0 };
    size_t open;

    rig_open(&r);
    put_hours(&r, kinds[_i]);
    ck_assert_uint_eq(read_all(&r, 0, UINT32_MAX / HOUR_S * HOUR_S, &want), 0);
    open = head_bytes(r.s->head);
    ck_assert_uint_eq(encode_all(r.s), HOURS);
    ck_assert_uint_le(head_bytes(r.s->head) * 3, open);
    ck_assert_uint_eq(store_counts(r.s).head_rows, 1);
    ck_assert_uint_eq(store_counts(r.s).head_points, POINTS);
    ck_assert_uint_eq(store_counts(r.s).hours_encoded, HOURS);
    check_points(&r, &want, HOURS);
    ck_assert_uint_eq(encode_all(r.s), 0);

    /* The same after a kill, from the WAL, and from the engine. */
    rig_kill(&r);
    rig_open(&r);
    check_points(&r, &want, 0);
    ck_assert_uint_eq(encode_all(r.s), HOURS);
    ck_assert_int_eq(store_flush(r.s, &e), ST_OK);
    ck_assert_uint_eq(head_bytes(r.s->head), 0);
    ck_assert_uint_eq(store_counts(r.s).head_points, 0);
    ck_assert_uint_eq(store_counts(r.s).rows_merged, 0);
    check_points(&r, &want, HOURS);
    points_fini(&want);
    rig_close(&r);
}
END_TEST

START_TEST(a_scan_reads_the_hours_that_it_wants)
{
    uint32_t base = (uint32_t)(T0 / 1000);
    struct points p = { 0 };
    struct rig r = { 0 };

    rig_open(&r);
    put_hours(&r, false);
    ck_assert_uint_eq(encode_all(r.s), HOURS);
    ck_assert_uint_eq(read_all(&r, base + HOUR_S, base + 2 * HOUR_S, &p), 2);
    ck_assert_uint_eq(p.len, 720);
    ck_assert_int_eq(p.ts_ms[0], T0 + HOUR_MS);
    ck_assert_uint_eq(read_all(&r, base + 6 * HOUR_S, base + 9 * HOUR_S, &p),
                      0);
    ck_assert_uint_eq(p.len, 0);
    points_fini(&p);
    rig_close(&r);
}
END_TEST

/* Over a block of the head, and over those of the engine and the head. */
START_TEST(late_points_lie_over_blocks)
{
    struct points want = { 0 };
    struct rig r = { 0 };

    rig_open(&r);
    put_hours(&r, false);
    (void)read_all(&r, 0, UINT32_MAX / HOUR_S * HOUR_S, &want);
    ck_assert_uint_eq(encode_all(r.s), HOURS);
    put(&r, T0 + 3 * HOUR_MS, (union number){ .i = -7 }, false);
    want.v[3 * 360].i = -7;
    ck_assert_uint_eq(store_counts(r.s).head_rows, 2);
    ck_assert_uint_eq(encode_all(r.s), 0); /* it waits for the flush */
    check_points(&r, &want, HOURS - 1);
    ck_assert_int_eq(store_flush(r.s, &e), ST_OK);
    ck_assert_uint_eq(store_counts(r.s).rows_merged, 1);
    check_points(&r, &want, HOURS);

    put(&r, T0 + HOUR_MS, (union number){ .i = -8 }, false);
    want.v[360].i = -8;
    ck_assert_uint_eq(encode_all(r.s), 1);
    check_points(&r, &want, HOURS - 1);
    put(&r, T0 + HOUR_MS + STEP, (union number){ .i = -9 }, false);
    want.v[361].i = -9;
    check_points(&r, &want, HOURS - 1);
    ck_assert_int_eq(store_flush(r.s, &e), ST_OK);
    check_points(&r, &want, HOURS);
    points_fini(&want);
    rig_close(&r);
}
END_TEST

START_TEST(blocks_are_found_and_deleted)
{
    const struct store_times_spec spec = { .least_tagk = 0 };
    struct point_times times;
    struct points want = { 0 };
    struct rig r = { 0 };
    uint64_t deleted, lsn;
    struct point last;
    uint8_t bytes[9];
    struct slice t = tsuid(bytes, 1);

    rig_open(&r);
    put_hours(&r, true);
    (void)read_all(&r, 0, UINT32_MAX / HOUR_S * HOUR_S, &want);
    ck_assert_uint_eq(encode_all(r.s), HOURS);
    ck_assert_int_eq(store_last(r.s, t, T0 + HOUR_MS, &last, &e), ST_OK);
    ck_assert_int_eq(last.ts_ms, T0 + HOUR_MS);
    ck_assert_int_eq(store_times(r.s, &spec, &times, &e), ST_OK);
    ck_assert_int_eq(times.oldest_ms, T0);
    ck_assert_int_eq(times.newest_ms, T0 + (POINTS - 1) * (int64_t)STEP);

    /* The second half of the first hour, and all of the others but the last. */
    ck_assert_int_eq(store_delete(r.s, t, T0 + HOUR_MS / 2,
                                  T0 + (HOURS - 1) * HOUR_MS - 1, &deleted,
                                  &lsn, &e),
                     ST_OK);
    ck_assert_uint_eq(deleted, 180 + 3 * 360);
    for (size_t i = 0; i < 360; i++) {
        want.v[180 + i] = want.v[POINTS - 360 + i];
        want.ts_ms[180 + i] = want.ts_ms[POINTS - 360 + i];
    }
    want.len = 540;
    check_points(&r, &want, 2);
    ck_assert_uint_eq(store_counts(r.s).head_points, 540);
    ck_assert_int_eq(store_delete(r.s, t, 0, INT64_MAX, &deleted, &lsn, &e),
                     ST_OK);
    ck_assert_uint_eq(deleted, 540);
    ck_assert_uint_eq(store_counts(r.s).head_rows, 0);
    ck_assert_uint_eq(head_bytes(r.s->head), 0);
    points_fini(&want);
    rig_close(&r);
}
END_TEST

/* Hours of which the log still has the only copy keep their segments. */
START_TEST(the_log_is_kept_for_blocks)
{
    struct points want = { 0 };
    struct rig r = { 0 };

    rig_open(&r);
    for (int h = HOURS - 1; h >= 0; h--) { /* the newest hour came first */
        for (int k = 0; k < 360; k++)
            put(&r, T0 + h * HOUR_MS + (int64_t)k * STEP,
                (union number){ .i = value(k) }, false);
        wal_rotate(r.s->wal);
        if (h == 2)
            ck_assert_uint_eq(encode_all(r.s), 3);
    }
    (void)read_all(&r, 0, UINT32_MAX / HOUR_S * HOUR_S, &want);
    ck_assert_uint_eq(encode_all(r.s), 2);
    lock_take(&r.s->flush_lock);
    ck_assert_int_eq(store_trim(r.s, &e), ST_OK);
    lock_drop(&r.s->flush_lock);
    check_points(&r, &want, HOURS);
    rig_kill(&r);
    rig_open(&r);
    check_points(&r, &want, 0);
    points_fini(&want);
    rig_close(&r);
}
END_TEST

/* -- which hours ----------------------------------------------------------- */

static const struct {
    uint32_t idle_s;
    int64_t over_s;
    size_t hours;
} delays[] = {
    { 600, 600, 1 }, { 599, 7200, 0 }, { 7200, 599, 0 }, { 7200, -1800, 0 }
};

START_TEST(an_hour_must_be_over_for_a_while)
{
    struct encode_rule rule = { .delay_s = 600 };
    struct rig r = { 0 };
    uint8_t bytes[9];
    size_t hours;

    rig_open(&r);
    put(&r, T0, (union number){ .i = 1 }, false);
    rule.now_s = store_now_s() + delays[_i].idle_s;
    rule.wall_s = T0 / 1000 + HOUR_S + delays[_i].over_s;
    lock_take(&r.s->flush_lock);
    hours =
        head_encode(r.s->head, key_salt(&r.s->layout, tsuid(bytes, 1)), &rule);
    lock_drop(&r.s->flush_lock);
    ck_assert_uint_eq(hours, delays[_i].hours);
    rig_close(&r);
}
END_TEST

/* -- the flusher ----------------------------------------------------------- */

START_TEST(the_flusher_encodes)
{
    struct rig r = { .dir = tempdir_new(),
                     .options = { .layout = KEY_LAYOUT_DEFAULT,
                                  .sync = WAL_SYNC_OFF,
                                  .encode_delay_ms = 1 } };
    struct points p = { 0 };

    rig_open(&r);
    put_hours(&r, false); /* some of them late, over blocks */
    for (int i = 0; i < 6000 && store_counts(r.s).hours_encoded < HOURS; i++)
        (void)usleep(10000);
    ck_assert_uint_ge(store_counts(r.s).hours_encoded, HOURS);
    (void)read_all(&r, 0, UINT32_MAX / HOUR_S * HOUR_S, &p);
    ck_assert_uint_eq(p.len, POINTS);
    for (int k = 0; k < POINTS; k++)
        ck_assert_int_eq(p.v[k].i, value(k));
    points_fini(&p);
    rig_close(&r);
}
END_TEST

TEST_MAIN("store_encode", LOOP(hours_take_a_third, kinds),
          TEST(a_scan_reads_the_hours_that_it_wants),
          TEST(late_points_lie_over_blocks), TEST(blocks_are_found_and_deleted),
          TEST(the_log_is_kept_for_blocks),
          LOOP(an_hour_must_be_over_for_a_while, delays),
          TEST(the_flusher_encodes))

/* Dropping expired rows, held against a model that knows all points: several
 * metrics, rollups beside them, in head and engine, over starts and kills. */
#include "storage/store/store_retention.h"

#include <sys/wait.h>

#include "storage/scan/store_scan.h"
#include "storage/store/store_priv.h"
#include "tests/harness.h"
#include "tests/nomem.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define T0      INT64_C(1356998400000) /* a span begins */
#define SPAN_MS (6 * HOUR_MS)
#define METRICS 3
#define SERIES  4 /* of each metric; the last one is a rollup */
#define POINTS  600
#define ABSENT  INT64_MIN

static struct error e;

struct world {
    char *dir;
    struct store *s;
    struct store_options options;
    struct {
        unsigned metric, series;
        int64_t ts_ms; /* ABSENT: dropped */
    } points[POINTS];
    size_t len;
    int64_t cut_ms[METRICS];
    uint64_t random;
};

static const uint8_t salts[] = { 0, 1 };

static void
open_store(struct world *w)
{
    ck_assert_msg(store_open(&w->options, &w->s, &e) == ST_OK, "%s", e.text);
}

static void
world_init(struct world *w, int i)
{
    *w = (struct world){ .dir = tempdir_new(),
                         .random = harness_seed(70 + (unsigned long)i) };
    w->options = (struct store_options){ .dir = w->dir,
                                         .layout = KEY_LAYOUT_DEFAULT,
                                         .sync = WAL_SYNC_OFF };
    w->options.layout.salt_width = salts[i % 2];
    w->options.layout.salt_buckets = salts[i % 2] == 0 ? 1 : 3;
}

static void
world_open(struct world *w, int i)
{
    world_init(w, i);
    open_store(w);
}

static void
close_store(struct world *w)
{
    ck_assert_msg(store_close(&w->s, &e) == ST_OK, "%s", e.text);
}

static void
world_close(struct world *w)
{
    close_store(w);
    tempdir_free(&w->dir);
}

/* A kill -9 in the process: everything is dropped as it stands. */
static void
abandon(struct world *w)
{
    store_flusher_stop(w->s);
    store_destroy(w->s);
    w->s = NULL;
}

static void
flush(struct world *w)
{
    ck_assert_msg(store_flush(w->s, &e) == ST_OK, "%s", e.text);
}

static struct slice
name(unsigned metric, unsigned series, uint8_t out[15])
{
    return tsuid_of(out, metric, series, series == SERIES - 1);
}

static void
store_point(struct world *w, unsigned metric, unsigned series, int64_t ts_ms)
{
    struct series_point p = { .point = { ts_ms, { .i = ts_ms }, false } };
    uint8_t bytes[15];
    uint64_t lsn;

    ck_assert_int_eq(
        store_series(w->s, name(metric, series, bytes), false, &p.series, &e),
        ST_OK);
    ck_assert_int_eq(store_put(w->s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(w->s, lsn, false, &e), ST_OK);
}

static void
put(struct world *w, unsigned metric, unsigned series, int64_t ts_ms)
{
    ck_assert_uint_lt(w->len, POINTS);
    store_point(w, metric, series, ts_ms);
    w->points[w->len].metric = metric;
    w->points[w->len].series = series;
    w->points[w->len++].ts_ms = ts_ms;
}

/* -- reading --------------------------------------------------------------- */

static void
read_series(struct world *w, unsigned metric, unsigned series,
            struct points *out)
{
    uint8_t bytes[15], head[2 + 3] = { TABLE_ROWS };
    struct slice t = name(metric, series, bytes);
    struct mask_set *set = mask_set_new();
    struct mask *m = mask_new();
    struct scan_spec spec = { .path = SCAN_HINTS, .to_base = 4294965600u };
    size_t salt = w->options.layout.salt_width;
    struct store_scan *scan;
    struct store_row row;

    spec.bucket = key_salt(store_layout(w->s), t);
    head[1] = (uint8_t)spec.bucket;
    memcpy(head + 1 + salt, t.data, 3);
    mask_add_fixed(m, slice_of(head, 4 + salt));
    mask_add_steps(m, 0, key_span_base(store_layout(w->s), spec.to_base),
                   key_span_s(store_layout(w->s)), 4);
    mask_add_fixed(m, slice_of(t.data + 3, t.size - 3));
    mask_set_give(set, &m);
    spec.masks = set;
    spec.metric = slice_of(t.data, 3);
    points_clear(out);
    ck_assert_int_eq(store_scans_open(w->s, &spec, 1, &scan, &e), ST_OK);
    while (store_scan_next(scan, &row))
        if (slice_eq(row.tsuid, t))
            ck_assert_int_eq(store_row_points(&row, out, &e), ST_OK);
    ck_assert_int_eq(store_scan_close(&scan, NULL, ST_OK, &e), ST_OK);
    mask_set_free(&set);
}

static bool
model_has(const struct world *w, unsigned metric, unsigned series,
          int64_t ts_ms)
{
    for (size_t i = 0; i < w->len; i++)
        if (w->points[i].metric == metric && w->points[i].series == series &&
            w->points[i].ts_ms == ts_ms)
            return true;
    return false;
}

static size_t
model_count(const struct world *w, unsigned metric, unsigned series)
{
    size_t n = 0;

    for (size_t i = 0; i < w->len; i++) {
        bool first = w->points[i].metric == metric &&
                     w->points[i].series == series &&
                     w->points[i].ts_ms != ABSENT;

        for (size_t j = 0; j < i && first; j++)
            first = w->points[j].metric != metric ||
                    w->points[j].series != series ||
                    w->points[j].ts_ms != w->points[i].ts_ms;
        n += first;
    }
    return n;
}

static void
compare(struct world *w)
{
    struct points got = { 0 };

    for (unsigned metric = 0; metric < METRICS; metric++) {
        ck_assert_int_eq(store_cut_ms(w->s, metric + 1), w->cut_ms[metric]);
        for (unsigned series = 0; series < SERIES; series++) {
            read_series(w, metric, series, &got);
            ck_assert_uint_eq(got.len, model_count(w, metric, series));
            for (size_t i = 0; i < got.len; i++)
                ck_assert(model_has(w, metric, series, got.ts_ms[i]) &&
                          got.v[i].i == got.ts_ms[i]);
        }
    }
    points_fini(&got);
}

/* -- dropping -------------------------------------------------------------- */

static void
set_cut(struct world *w, unsigned metric, int64_t time_ms)
{
    int64_t cut_ms = time_ms - time_ms % SPAN_MS;
    struct store_cut cut = { metric + 1, time_ms, time_ms };

    ck_assert_msg(store_cuts_set(w->s, &cut, 1, &e) == ST_OK, "%s", e.text);
    if (cut_ms > w->cut_ms[metric])
        w->cut_ms[metric] = cut_ms;
}

/* How many points a drop takes from the model, all of which are in the engine.
 */
static uint64_t
model_drop(struct world *w, unsigned metric, int64_t before_ms, bool dry_run)
{
    uint64_t n = 0;

    for (unsigned series = 0; series + 1 < SERIES; series++)
        n += model_count(w, metric, series);
    for (size_t i = 0; i < w->len; i++)
        if (w->points[i].metric == metric &&
            w->points[i].series != SERIES - 1 &&
            (w->points[i].ts_ms / SPAN_MS + 1) * SPAN_MS <= before_ms &&
            w->points[i].ts_ms != ABSENT)
            w->points[i].ts_ms = dry_run ? w->points[i].ts_ms : ABSENT;
    for (unsigned series = 0; series + 1 < SERIES; series++)
        n -= model_count(w, metric, series);
    return n;
}

static void
drop(struct world *w, unsigned metric, int64_t before_ms)
{
    struct store_drop d = { .before = { metric + 1, before_ms, before_ms } };
    int64_t cut_ms = w->cut_ms[metric];

    flush(w);
    ck_assert_msg(store_drop_rows(w->s, &d, &e) == ST_OK, "%s", e.text);
    ck_assert_uint_eq(
        d.dropped.points,
        model_drop(w, metric, before_ms < cut_ms ? before_ms : cut_ms, false));
}

START_TEST(drops_whole_spans_before_a_cut)
{
    struct world w;
    struct store_drop d = { .before = { 2, T0 + SPAN_MS, T0 + SPAN_MS },
                            .dry_run = true };

    world_open(&w, _i);
    put(&w, 0, 0, T0 - 1); /* another metric */
    put(&w, 1, 0, T0 - 1);
    put(&w, 1, 0, T0 - SPAN_MS * 100);
    put(&w, 1, 1, T0);
    put(&w, 1, 1, T0 + SPAN_MS - 1);
    put(&w, 1, 2, T0 + SPAN_MS);
    put(&w, 1, SERIES - 1, T0 - 1); /* a rollup */
    flush(&w);
    ck_assert_int_eq(store_drop_rows(w.s, &d, &e), ST_OK);
    ck_assert_uint_eq(d.dropped.rows, 3);
    ck_assert_uint_eq(d.dropped.points, 4);
    ck_assert_uint_gt(d.dropped.bytes, 0);
    compare(&w);
    /* Without a cut nothing goes. */
    drop(&w, 1, T0 + SPAN_MS);
    compare(&w);
    set_cut(&w, 1, T0 + SPAN_MS - 1); /* the span that is not over */
    ck_assert_int_eq(w.cut_ms[1], T0);
    drop(&w, 1, T0 + SPAN_MS);
    compare(&w);
    ck_assert_uint_eq(model_count(&w, 1, 0), 0);
    ck_assert_uint_eq(model_count(&w, 1, 1), 2);
    set_cut(&w, 1, T0 + SPAN_MS);
    compare(&w);
    drop(&w, 1, T0 + SPAN_MS);
    compare(&w);
    ck_assert_uint_eq(model_count(&w, 1, 1), 0);
    ck_assert_uint_eq(model_count(&w, 1, 2), 1);
    ck_assert_uint_eq(model_count(&w, 1, SERIES - 1), 1);
    /* It does not fall, and is there after a start. */
    set_cut(&w, 1, T0);
    close_store(&w);
    open_store(&w);
    compare(&w);
    world_close(&w);
}
END_TEST

/* Taken, and dropped by the next pass after they were flushed; by then a kill
 * may have come between. */
START_TEST(late_points_are_taken_and_dropped)
{
    struct world w;
    struct store_drop d = { .before = { 1, T0, T0 } };

    world_open(&w, _i);
    put(&w, 0, 0, T0 - 1);
    set_cut(&w, 0, T0);
    drop(&w, 0, T0);
    compare(&w);
    put(&w, 0, 0, T0 - 2);
    ck_assert_int_eq(store_drop_rows(w.s, &d, &e), ST_OK); /* it is open */
    compare(&w);
    abandon(&w);
    open_store(&w);
    compare(&w);
    drop(&w, 0, T0);
    ck_assert_uint_eq(model_count(&w, 0, 0), 0);
    compare(&w);
    world_close(&w);
}
END_TEST

START_TEST(never_drops_what_is_to_stay)
{
    struct world w;

    world_open(&w, _i);
    w.random += (uint64_t)_i * 1000;
    while (w.len < POINTS / 2) {
        unsigned metric = (unsigned)(harness_random(&w.random) % METRICS);
        unsigned series = (unsigned)(harness_random(&w.random) % SERIES);
        int64_t at = T0 + (int64_t)(harness_random(&w.random) %
                                    (uint64_t)(SPAN_MS * 40));

        switch (harness_random(&w.random) % 24) {
        case 0:
            flush(&w);
            break;
        case 1:
            set_cut(&w, metric, at);
            break;
        case 2:
            drop(&w, metric, at);
            break;
        case 3:
            abandon(&w);
            open_store(&w);
            break;
        case 4:
            compare(&w);
            break;
        default:
            put(&w, metric, series, at);
        }
    }
    compare(&w);
    world_close(&w);
}
END_TEST

/* -- kills ----------------------------------------------------------------- */

#define ROWS 1200

/* One point in each of so many spans. */
static void
put_rows(struct world *w)
{
    struct series_point *points = calloc(ROWS, sizeof *points);
    uint8_t bytes[15];
    series_ref ref;
    uint64_t lsn;

    ck_assert_ptr_nonnull(points);
    ck_assert_int_eq(store_series(w->s, name(0, 0, bytes), false, &ref, &e),
                     ST_OK);
    for (int64_t i = 0; i < ROWS; i++)
        points[i] = (struct series_point){
            .series = ref,
            .point = { T0 + i * SPAN_MS, { .i = T0 + i * SPAN_MS }, false },
        };
    ck_assert_int_eq(store_put(w->s, points, ROWS, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(w->s, lsn, false, &e), ST_OK);
    free(points);
    flush(w);
}

/* Dies after so many steps, which are on the disk. */
struct death {
    unsigned left;
    struct store *s;
};

static bool
die_at(void *ctx)
{
    struct death *d = ctx;

    if (d->left-- == 0) {
        ck_assert_int_eq(kv_sync(store_kv(d->s), &e), ST_OK);
        harness_die();
    }
    return false;
}

static size_t
rows_left(struct world *w)
{
    struct store_drop d = { .before = { 1, POINT_MAX_TS_MS, POINT_MAX_TS_MS },
                            .dry_run = true };

    ck_assert_int_eq(store_drop_rows(w->s, &d, &e), ST_OK);
    return d.dropped.rows;
}

/* In the middle of a pass: what is to stay is there, the cut too, and the next
 * pass ends what this one began. */
START_TEST(a_kill_amid_a_pass_loses_nothing)
{
    const int64_t cut_ms = T0 + SPAN_MS * (ROWS - 10);
    struct store_drop d = { .before = { 1, cut_ms, cut_ms } };
    struct death death = { .left = (unsigned)_i };
    struct world w;
    size_t rows;
    pid_t child;

    world_init(&w, 0);
    child = fork(); /* before LevelDB has a thread, which no child has */
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        open_store(&w);
        put_rows(&w);
        set_cut(&w, 0, cut_ms);
        death.s = w.s;
        d.cancel = (struct cancel){ die_at, &death };
        (void)(store_drop_rows(w.s, &d, &e) == ST_OK);
        _exit(1);
    }
    harness_wait_dead(child);
    open_store(&w);
    ck_assert_int_eq(store_cut_ms(w.s, 1), cut_ms);
    flush(&w);
    rows = rows_left(&w);
    ck_assert_uint_ge(rows, 10);
    ck_assert_uint_lt(rows, ROWS);
    d.dropped = (struct store_dropped){ 0 };
    ck_assert_int_eq(store_drop_rows(w.s, &d, &e), ST_OK);
    ck_assert_uint_eq(d.dropped.rows, rows - 10);
    ck_assert_uint_eq(rows_left(&w), 10);
    for (int64_t i = ROWS - 10; i < ROWS; i++) {
        w.points[w.len].metric = w.points[w.len].series = 0;
        w.points[w.len++].ts_ms = T0 + i * SPAN_MS;
    }
    w.cut_ms[0] = cut_ms;
    compare(&w);
    world_close(&w);
}
END_TEST

static bool
is_cancelled(void *ctx)
{
    (void)ctx;
    return true;
}

START_TEST(ends_when_it_is_cancelled)
{
    struct store_drop d = { .before = { 1, T0 + SPAN_MS * ROWS,
                                        T0 + SPAN_MS * ROWS },
                            .cancel = { is_cancelled, NULL } };
    struct world w;

    world_open(&w, 0);
    put_rows(&w);
    set_cut(&w, 0, T0 + SPAN_MS * ROWS);
    ck_assert_int_eq(store_drop_rows(w.s, &d, &e), ST_BUSY);
    ck_assert_uint_eq(d.dropped.rows + rows_left(&w), ROWS);
    ck_assert_uint_gt(rows_left(&w), 0);
    world_close(&w);
}
END_TEST

/* -- no memory ------------------------------------------------------------- */

/* What is acknowledged is there after a start. */
START_TEST(a_cut_needs_its_memory)
{
    struct world w;
    int64_t cuts[100] = { 0 };
    unsigned len = 0;

    world_open(&w, _i);
    for (; nomem_begin(len); len++) {
        struct store_cut cut = { 10 + len, T0, T0 };
        bool is_set = store_cuts_set(w.s, &cut, 1, &e) == ST_OK;

        nomem_end();
        ck_assert_uint_lt(len, 99);
        ck_assert(is_set || nomem_failed());
        cuts[len] = is_set ? T0 : 0;
    }
    close_store(&w);
    open_store(&w);
    for (unsigned i = 0; i < len; i++)
        if (cuts[i] != 0)
            ck_assert_int_eq(store_cut_ms(w.s, 10 + i), cuts[i]);
    world_close(&w);
}
END_TEST

START_TEST(a_pass_needs_its_memory)
{
    struct world w;

    world_open(&w, _i);
    for (unsigned n = 0; n == 0 || nomem_failed(); n++) {
        struct store_drop d = { .before = { 1, T0, T0 } };
        enum status st;

        put(&w, 0, 0, T0 - 1);
        flush(&w);
        set_cut(&w, 0, T0);
        ck_assert(nomem_begin(n));
        st = store_drop_rows(w.s, &d, &e);
        nomem_end();
        ck_assert(st == ST_OK || nomem_failed());
        if (st == ST_OK)
            ck_assert_uint_eq(d.dropped.rows, 1);
    }
    (void)model_drop(&w, 0, T0, false);
    compare(&w);
    world_close(&w);
}
END_TEST

/* -- damage ---------------------------------------------------------------- */

START_TEST(a_damaged_cut_is_skipped)
{
    static const struct {
        size_t key_size, value_size;
        uint32_t cut_s;
    } bad[] = { { 3, 4, 0 }, { 5, 4, 0 }, { 4, 3, 0 }, { 4, 4, 3600 } };
    struct kv_batch *b = kv_batch_new();
    uint8_t key[8] = { TABLE_RETENTION, 0, 0, 1 }, value[4];
    struct world w;

    world_open(&w, 1);
    set_cut(&w, 1, T0);
    key_put_uint(value, bad[_i].cut_s, 4);
    kv_batch_put(b, slice_of(key, bad[_i].key_size),
                 slice_of(value, bad[_i].value_size));
    ck_assert_int_eq(store_write(w.s, b, NULL, &e), ST_OK);
    kv_batch_free(&b);
    close_store(&w);
    open_store(&w);
    compare(&w);
    world_close(&w);
}
END_TEST

TEST_MAIN_FORKED("store_retention", LOOP(drops_whole_spans_before_a_cut, salts),
                 LOOP(late_points_are_taken_and_dropped, salts),
                 TIMES(never_drops_what_is_to_stay, 10),
                 TIMES(a_kill_amid_a_pass_loses_nothing, 2),
                 TEST(ends_when_it_is_cancelled),
                 LOOP(a_cut_needs_its_memory, salts),
                 LOOP(a_pass_needs_its_memory, salts),
                 TIMES(a_damaged_cut_is_skipped, 4))

/* Scans of several buckets at once: what each alone would see. */
#include "storage/scan/store_scan.h"

#include <limits.h>

#include "storage/store/store.h"
#include "tests/harness.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define T0     INT64_C(1356998400000)
#define SERIES 60

static struct error e;

static void
put(struct store *s, unsigned i, int64_t ts_ms)
{
    struct series_point p = { .point = { ts_ms, { .i = i }, false } };
    uint8_t bytes[9];
    uint64_t lsn;

    ck_assert_int_eq(store_series(s, tsuid(bytes, i), false, &p.series, &e),
                     ST_OK);
    ck_assert_int_eq(store_put(s, &p, 1, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, false, &e), ST_OK);
}

/* A store with an hour in the engine, of some series one in the head too, and
 * of one series the next hour in the head alone. */
static struct store *
some_store(const char *dir)
{
    struct store_options o = { .dir = dir, .layout = KEY_LAYOUT_DEFAULT };
    struct store *s;

    ck_assert_int_eq(store_open(&o, &s, &e), ST_OK);
    for (unsigned i = 0; i < SERIES; i++)
        put(s, i, T0);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    for (unsigned i = 0; i < SERIES; i += 3)
        put(s, i, T0 + 1000);
    put(s, 5, T0 + HOUR_MS);
    return s;
}

struct scans {
    size_t len;
    struct scan_spec specs[256];
    struct mask_set *masks;
    struct store_scan *scans[256];
    uint8_t metric[3], tsuids[SERIES][9];
    struct slice listed[256][SERIES];
};

/* One for each bucket, over all its rows. */
static void
open_scans(struct store *s, enum access_path way, bool summaries,
           struct scans *a)
{
    const struct key_layout *layout = store_layout(s);
    struct mask *m = mask_new();

    mask_add_fixed(m, KEY_TABLE(TABLE_ROWS));
    mask_add_any(m, 1);
    mask_add_fixed(m, slice_of("\0\0\1", 3));
    mask_add_steps(m, 0, UINT32_MAX, key_span_s(layout), 4);
    mask_add_fixed(m, slice_of("\0\0\1", 3));
    mask_add_any(m, 3);
    memset(a, 0, sizeof *a);
    a->masks = mask_set_new();
    mask_set_give(a->masks, &m);
    a->len = layout->salt_buckets;
    a->metric[2] = 1;
    for (size_t i = 0; i < a->len; i++)
        a->specs[i] = (struct scan_spec){
            .masks = a->masks,
            .bucket = (unsigned)i,
            .path = way,
            .to_base = 4294965600u,
            .series = a->listed[i],
            .metric = slice_of(a->metric, 3),
            .want.summaries = summaries,
        };
    for (unsigned i = 0; i < SERIES; i++) {
        struct slice t = tsuid(a->tsuids[i], i);
        struct scan_spec *spec = &a->specs[key_salt(layout, t)];

        a->listed[spec->bucket][spec->series_len++] = t;
    }
    ck_assert_int_eq(store_scans_open(s, a->specs, a->len, a->scans, &e),
                     ST_OK);
}

static void
all_buckets(struct store *s, enum access_path way, struct scans *a)
{
    open_scans(s, way, false, a);
}

static void
end_scans(struct scans *a)
{
    for (size_t i = 0; i < a->len; i++)
        ck_assert_int_eq(store_scan_close(&a->scans[i], NULL, ST_OK, &e),
                         ST_OK);
    mask_set_free(&a->masks);
}

static const enum access_path ways[] = { SCAN_HINTS, SCAN_RANGE, SCAN_SEEKS };

/* Points, counted and added up. */
static void
check_bucket(struct scans *a, size_t bucket, const struct key_layout *layout,
             size_t *count, int64_t *sum)
{
    struct points p = { 0 };
    struct store_row row;

    while (store_scan_next(a->scans[bucket], &row)) {
        ck_assert_uint_eq(key_salt(layout, row.tsuid), bucket);
        ck_assert_int_eq(store_row_points(&row, &p, &e), ST_OK);
    }
    for (size_t i = 0; i < p.len; i++)
        *sum += p.v[i].i;
    *count += p.len;
    points_fini(&p);
}

START_TEST(buckets_share_what_reads_the_engine)
{
    char *dir = tempdir_new();
    static struct scans a;

    for (size_t k = 0; k < 2; k++) {
        struct store *s = some_store(k == 0 ? NULL : dir);

        for (size_t w = 0; w < 3; w++) {
            size_t count = 0;
            int64_t sum = 0;

            all_buckets(s, ways[w], &a);
            for (size_t i = 0; i < a.len; i++) {
                check_bucket(&a, i, store_layout(s), &count, &sum);
                if (i % 2 == 0)
                    ck_assert_int_eq(
                        store_scan_close(&a.scans[i], NULL, ST_OK, &e), ST_OK);
            }
            end_scans(&a);
            ck_assert_uint_eq(count, SERIES + SERIES / 3 + 1);
            ck_assert_int_eq(sum, SERIES * (SERIES - 1) / 2 +
                                      3 * (SERIES / 3) * (SERIES / 3 - 1) / 2 +
                                      5);
        }
        ck_assert_int_eq(store_close(&s, &e), ST_OK);
    }
    tempdir_free(&dir);
}
END_TEST

/* What is flushed after the opening was copied before it; and nothing has to be
 * read. */
START_TEST(each_sees_what_was_there_at_the_opening)
{
    struct store *s = some_store(NULL);
    static struct scans a;
    size_t count = 0;
    int64_t sum = 0;

    all_buckets(s, SCAN_RANGE, &a);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    for (size_t i = 0; i < a.len; i++)
        check_bucket(&a, i, store_layout(s), &count, &sum);
    end_scans(&a);
    ck_assert_uint_eq(count, SERIES + SERIES / 3 + 1);
    all_buckets(s, SCAN_RANGE, &a);
    end_scans(&a);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
}
END_TEST

/* Copies of open rows have a limit, over all scans that are opened together,
 * and a budget that others share. */
START_TEST(copies_of_open_rows_are_limited)
{
    struct budget budget = { .max = 1000 };
    struct store *s = some_store(NULL);
    static struct scans a;
    size_t max = 0;

    all_buckets(s, SCAN_RANGE, &a);
    for (size_t i = 0; i < a.len; i++)
        ck_assert_int_eq(store_scan_close(&a.scans[i], NULL, ST_OK, &e), ST_OK);
    for (max = 1; max < 1 << 20; max *= 2) {
        enum status status;

        for (size_t i = 0; i < a.len; i++)
            a.specs[i].max_bytes = max;
        status = store_scans_open(s, a.specs, a.len, a.scans, &e);
        if (status == ST_OK)
            break;
        ck_assert_int_eq(status, ST_LIMIT);
        for (size_t i = 0; i < a.len; i++)
            ck_assert_ptr_null(a.scans[i]);
    }
    /* Each bucket has an open row at least, so it is more than that. */
    ck_assert_uint_ge(max, a.len * 64);
    ck_assert_uint_lt(max, 1 << 20);
    for (size_t i = 0; i < a.len; i++) {
        ck_assert_int_eq(store_scan_close(&a.scans[i], NULL, ST_OK, &e), ST_OK);
        a.specs[i].budget = &budget;
    }
    ck_assert_int_eq(store_scans_open(s, a.specs, a.len, a.scans, &e),
                     ST_LIMIT);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
    end_scans(&a);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
}
END_TEST

/* What becomes of a series, i % KINDS; the first two have a block summary. */
enum kind { FLUSHED, IN_ORDER, OUT_OF_ORDER, FLUSHED_AND_OPEN, KINDS };

static void
put_round(struct store *s, unsigned round)
{
    for (unsigned i = 0; i < SERIES; i++)
        for (unsigned k = 0; k < 100 && i % KINDS != FLUSHED; k++) {
            unsigned at = round * 100 + k + 1;

            put(s, i, T0 + 1000 * (i % KINDS == OUT_OF_ORDER ? at ^ 1 : at));
        }
}

static void
check_summaries(struct store_scan *scan, bool wanted)
{
    struct store_row row;

    while (store_scan_next(scan, &row)) {
        uint64_t i = key_get_uint(row.tsuid.data + 6, 3);
        struct points p = { 0 };
        struct summary x;
        bool known;

        ck_assert_int_eq(store_row_summary(&row, &x, &known, &e), ST_OK);
        ck_assert_int_eq(store_row_points(&row, &p, &e), ST_OK);
        ck_assert_int_eq(known, i % KINDS == FLUSHED ||
                                    (wanted && i % KINDS == IN_ORDER));
        for (size_t k = 1; k < p.len; k++)
            ck_assert_int_lt(p.ts_ms[k - 1], p.ts_ms[k]);
        if (known) {
            ck_assert_uint_eq(x.count, p.len);
            ck_assert_int_eq(x.sum.i, (int64_t)(i * p.len));
            ck_assert_int_eq(x.last_ms, p.ts_ms[p.len - 1]);
        }
        points_fini(&p);
    }
}

START_TEST(open_rows_have_summaries)
{
    struct store_options o = { .layout = KEY_LAYOUT_DEFAULT };
    static struct scans a;
    struct store *s;

    ck_assert_int_eq(store_open(&o, &s, &e), ST_OK);
    for (unsigned i = 0; i < SERIES; i++)
        if (i % KINDS == FLUSHED || i % KINDS == FLUSHED_AND_OPEN)
            put(s, i, T0);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    for (unsigned round = 0; round < 6; round++) {
        put_round(s, round);
        open_scans(s, ways[round % 3], round != 4, &a);
        for (size_t i = 0; i < a.len; i++)
            check_summaries(a.scans[i], round != 4);
        end_scans(&a);
    }
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    ck_assert_uint_eq(store_counts(s).head_bytes, 0);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
}
END_TEST

/* From any hour behind a point, however far, over spans that other series of
 * the metric have. */
START_TEST(finds_the_last_point_of_years)
{
    static const int hours[] = { 0, 1, 7, 13, 500, 501, 90000, 90006 };
    enum { LEN = sizeof hours / sizeof hours[0] };
    struct store_options o = { .layout = KEY_LAYOUT_DEFAULT };
    struct store *s;

    ck_assert_int_eq(store_open(&o, &s, &e), ST_OK);
    for (int i = 0; i < LEN; i++)
        put(s, i % 3 == 2, T0 + hours[i] * INT64_C(3600000));
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    for (int t = 0; t < 2 * LEN * 18; t++) {
        int64_t hour = hours[t % LEN] + (INT64_C(1) << t / LEN / 2) - 1;
        uint8_t bytes[9];
        struct point p;
        int want = LEN - 1;

        while (want >= 0 &&
               (hours[want] > hour || (want % 3 == 2) != t / LEN % 2))
            want--;
        ck_assert_int_eq(store_last(s, tsuid(bytes, (unsigned)(t / LEN % 2)),
                                    T0 + hour * 3600000, &p, &e),
                         want < 0 ? ST_NOT_FOUND : ST_OK);
        if (want >= 0)
            ck_assert_int_eq(p.ts_ms, T0 + hours[want] * INT64_C(3600000));
    }
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
}
END_TEST

/* -- scans that are cancelled ---------------------------------------------- */

#define MANY 12000

struct asks {
    unsigned count, until; /* 'until': of them it says no */
};

static bool
count_ask(void *ctx)
{
    struct asks *a = ctx;

    return ++a->count > a->until;
}

/* In one bucket MANY series with even numbers: each row is one key. */
static struct store *
store_of_many(void)
{
    struct store_options o = { .layout = KEY_LAYOUT_DEFAULT };
    struct store *s;

    o.layout.salt_width = 0;
    o.layout.salt_buckets = 1;
    ck_assert_int_eq(store_open(&o, &s, &e), ST_OK);
    for (unsigned i = 0; i < MANY; i++)
        put(s, 2 * i, T0);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    return s;
}

/* A scan for the series with odd numbers, of which there is none. */
static struct mask_set *
mask_of_none(const uint64_t *odd)
{
    struct mask_set *masks = mask_set_new();
    struct mask *m = mask_new();

    mask_add_fixed(m, KEY_TABLE(TABLE_ROWS));
    mask_add_fixed(m, slice_of("\0\0\1", 3));
    mask_add_any(m, 4);
    mask_add_fixed(m, slice_of("\0\0\1", 3));
    mask_add_set(m, odd, MANY, 3);
    mask_set_give(masks, &m);
    return masks;
}

/* Nothing is lent, so that only the scan itself can ask; 'asks' is what a walk
 * over all keys has to ask at least. */
static const struct {
    enum access_path path;
    unsigned asks;
} cancelled[] = {
    { SCAN_RANGE, 1 },
    { SCAN_HINTS, 64 },
    { SCAN_SEEKS, 64 },
};

START_TEST(walks_over_unwanted_keys_are_cancelled)
{
    static uint64_t odd[MANY];
    static uint8_t bytes[MANY][TSUID_BYTES];
    static struct slice series[MANY];
    struct store *s = store_of_many();
    struct mask_set *masks;
    struct asks asks = { 0, UINT_MAX };
    struct scan_counts counts;
    struct store_scan *scan;
    struct store_row row;
    struct scan_spec spec = { .path = cancelled[_i].path,
                              .from_base = (uint32_t)(T0 / 1000),
                              .to_base = (uint32_t)(T0 / 1000),
                              .series = series,
                              .series_len = MANY,
                              .metric = slice_of("\0\0\1", 3),
                              .cancel = { count_ask, &asks } };

    for (unsigned i = 0; i < MANY; i++) {
        odd[i] = 2 * i + 1;
        series[i] = tsuid(bytes[i], 2 * i + 1);
    }
    spec.masks = masks = mask_of_none(odd);
    for (unsigned k = 0; k < 2; k++) {
        ck_assert_int_eq(store_scans_open(s, &spec, 1, &scan, &e), ST_OK);
        asks.count = 0;
        ck_assert(!store_scan_next(scan, &row));
        ck_assert_int_eq(store_scan_close(&scan, &counts, ST_OK, &e),
                         k == 0 ? ST_OK : ST_BUSY);
        if (k == 0) {
            ck_assert_uint_ge(asks.count, cancelled[_i].asks);
            ck_assert_uint_ge(counts.keys, MANY - 1);
        }
        asks.until = 0;
    }
    ck_assert_uint_eq(asks.count, 1);
    ck_assert_uint_lt(counts.keys, MANY);
    mask_set_free(&masks);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
}
END_TEST

/* Copies of open rows that no mask takes. */
START_TEST(copies_of_open_rows_are_cancelled)
{
    static uint64_t odd[MANY];
    struct asks asks = { 0, 0 };
    struct store_options o = { .layout = KEY_LAYOUT_DEFAULT };
    struct store *s;
    struct store_scan *scan;
    struct mask_set *masks;
    struct scan_spec spec = { .path = SCAN_RANGE,
                              .to_base = (uint32_t)(T0 / 1000),
                              .metric = slice_of("\0\0\1", 3),
                              .cancel = { count_ask, &asks } };

    o.layout.salt_width = 0;
    o.layout.salt_buckets = 1;
    ck_assert_int_eq(store_open(&o, &s, &e), ST_OK);
    for (unsigned i = 0; i < MANY; i++) {
        put(s, 2 * i, T0);
        odd[i] = 2 * i + 1;
    }
    spec.masks = masks = mask_of_none(odd);
    ck_assert_int_eq(store_scans_open(s, &spec, 1, &scan, &e), ST_BUSY);
    ck_assert_uint_eq(asks.count, 1);
    mask_set_free(&masks);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
}
END_TEST

TEST_MAIN("store_scan", TEST(buckets_share_what_reads_the_engine),
          LOOP(walks_over_unwanted_keys_are_cancelled, cancelled),
          TEST(copies_of_open_rows_are_cancelled),
          TEST(copies_of_open_rows_are_limited),
          TEST(each_sees_what_was_there_at_the_opening),
          TEST(open_rows_have_summaries), TEST(finds_the_last_point_of_years))

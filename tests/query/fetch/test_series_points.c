#include "query/fetch/series_points.h"

#include "tests/uid/fixture.h"

#define T INT64_C(1356998400000)

/* cpu{host=..}: the i-th series has i points in each of two hours, of which the
 * first is flushed; cpu{host=..,dc=x} has one. */
#define SERIES 20

static struct slice
resolve(struct fixture *f, const char *host, bool dc, struct arena *a,
        series_ref *ref)
{
    struct tag tags[2] = { { slice_str("host"), slice_str(host) },
                           { slice_str("dc"), slice_str("x") } };
    struct series_rules rules = { true, true, true, 8, false };
    struct tsuid *tsuid = arena_alloc(a, sizeof *tsuid);

    OK(series_resolve(
        f->series, &rules,
        &(struct series_text){ 0, slice_str("cpu"), tags, dc ? 2 : 1 }, ref,
        tsuid, &e));
    return tsuid_slice(tsuid);
}

static void
put(struct fixture *f, series_ref ref, int64_t ts_ms)
{
    struct series_point p = { .series = ref,
                              .point = { .ts_ms = ts_ms, .v.i = 1 } };
    uint64_t lsn;

    OK(store_put(f->store, &p, 1, &lsn, &e));
}

START_TEST(counts_head_and_blocks)
{
    struct fixture f = fixture_new(
        (struct key_layout){ (uint8_t)(_i > 0), _i > 0 ? 16 : 1, 3, 3, 3, 6 });
    struct arena *a = arena_new(0);
    struct slice tsuids[SERIES + 1];
    struct series_points out[SERIES + 1], one;
    series_ref refs[SERIES + 1];
    char host[16];

    for (int i = 0; i < SERIES; i++) {
        (void)snprintf(host, sizeof host, "h%d", i);
        tsuids[i] = resolve(&f, host, false, a, &refs[i]);
    }
    tsuids[SERIES] = resolve(&f, "h0", true, a, &refs[SERIES]);
    for (int hour = 0; hour < 2; hour++) {
        for (int i = 0; i < SERIES; i++)
            for (int n = 0; n < i; n++)
                put(&f, refs[i], T + hour * HOUR_MS + n);
        if (hour == 0)
            OK(store_flush(f.store, &e));
    }
    /* Written twice, in a block and in the head: one point. */
    put(&f, refs[3], T + 2);
    put(&f, refs[SERIES], T + 7);
    /* h0 with dc sorts behind h0 alone. */
    for (int i = SERIES; i > 1; i--) {
        struct slice last = tsuids[i];

        tsuids[i] = tsuids[i - 1];
        tsuids[i - 1] = last;
    }
    OK(series_points(f.store, tsuids, SERIES + 1, out, CANCEL_NEVER, &e));
    ck_assert_uint_eq(out[0].points, 0);
    ck_assert_int_eq(out[0].last_ms, 0);
    ck_assert_uint_eq(out[1].points, 1);
    ck_assert_int_eq(out[1].last_ms, T + 7);
    for (int i = 1; i < SERIES; i++) {
        ck_assert_uint_eq(out[i + 1].points, (uint64_t)(2 * i));
        ck_assert_int_eq(out[i + 1].last_ms, T + HOUR_MS + i - 1);
        OK(series_points(f.store, &tsuids[i + 1], 1, &one, CANCEL_NEVER, &e));
        ck_assert_uint_eq(one.points, (uint64_t)(2 * i));
    }
    OK(series_points(f.store, NULL, 0, NULL, CANCEL_NEVER, &e));
    arena_free(&a);
    fixture_free(&f);
}
END_TEST

TEST_MAIN("series_points", TIMES(counts_head_and_blocks, 2))

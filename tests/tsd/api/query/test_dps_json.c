#include "tsd/api/query/dps_json.h"

#include <inttypes.h>

#include "base/text/number.h"
#include "tests/harness.h"

#define MOST 2000

static int64_t ts[MOST];
static union number values[MOST];
static uint8_t kinds[MOST];

static struct dps
make_points(uint64_t *state)
{
    static const int64_t starts[] = { 0,
                                      1,
                                      9990,
                                      9999999,
                                      99999990,
                                      999999999000,
                                      1735689600000,
                                      4294967295000 };
    static const int64_t steps[] = { 1, 7, 500, 1000, 10000, 60000, 86400000 };
    size_t len = harness_random(state) % MOST;
    int64_t at = starts[harness_random(state) % 8];
    int64_t step = steps[harness_random(state) % 7];
    bool even = harness_random(state) % 2 == 0;

    for (size_t i = 0; i < len; i++) {
        uint64_t r = harness_random(state);

        ts[i] = at;
        at += even ? step : 1 + (int64_t)(r >> 20) % step;
        kinds[i] = (uint8_t)(r % 8 == 0   ? DP_NULL
                             : r % 3 == 0 ? DP_DOUBLE
                                          : DP_INT);
        r = harness_random(state);
        if (kinds[i] == DP_DOUBLE)
            values[i].d = (double)(int64_t)r / (double)(1 + r % 7919);
        else
            values[i].i = (int64_t)(r >> (r % 64)) * (r & 64 ? -1 : 1);
    }
    return (struct dps){ ts, values, kinds, len };
}

/* The same, slowly. */
static size_t
expect(struct buf *b, const struct query *q, const struct dps *d)
{
    size_t n = 0;

    buf_put_str(b, q->arrays ? "[" : "{");
    for (size_t i = 0; i < d->len; i++) {
        int64_t t = q->ms_resolution ? d->ts_ms[i] : d->ts_ms[i] / 1000;
        char text[NUMBER_TEXT_MAX + 1] = "null";

        if (d->ts_ms[i] < q->start_ms || d->ts_ms[i] > q->end_ms)
            continue;
        if (!q->arrays && !q->ms_resolution && i + 1 < d->len &&
            d->ts_ms[i + 1] <= q->end_ms && d->ts_ms[i + 1] / 1000 == t)
            continue;
        if (kinds[i] == DP_INT)
            (void)snprintf(text, sizeof text, "%" PRId64, d->v[i].i);
        else if (kinds[i] == DP_DOUBLE)
            text[number_format_double(d->v[i].d, text)] = '\0';
        buf_printf(b, q->arrays ? "%s[%" PRId64 ",%s]" : "%s\"%" PRId64 "\":%s",
                   n++ > 0 ? "," : "", t, text);
    }
    buf_put_str(b, q->arrays ? "]" : "}");
    return n;
}

START_TEST(writes_what_a_slow_one_writes)
{
    uint64_t state = harness_seed(20261122);

    for (int round = 0; round < 400; round++) {
        struct buf got = BUF_INIT, want = BUF_INIT;
        struct dps d = make_points(&state);
        uint64_t r = harness_random(&state);
        struct query q = { .start_ms = d.len > 9 && r & 4 ? ts[3] : 0,
                           .end_ms =
                               d.len > 9 && r & 8 ? ts[d.len - 4] : INT64_MAX,
                           .ms_resolution = r & 1,
                           .arrays = r & 2 };
        size_t n = dps_json_write(&got, &q, &d);

        ck_assert_uint_eq(n, expect(&want, &q, &d));
        ck_assert_str_eq(buf_cstr(&got), buf_cstr(&want));
        buf_fini(&got);
        buf_fini(&want);
    }
}
END_TEST

/* Columns are the arrays, turned: each pair's halves. */
START_TEST(columns_are_the_same_points)
{
    uint64_t state = harness_seed(20261123);

    for (int round = 0; round < 200; round++) {
        struct buf arrays = BUF_INIT, times = BUF_INIT, column = BUF_INIT;
        struct buf got = BUF_INIT;
        struct dps d = make_points(&state);
        uint64_t r = harness_random(&state);
        struct query q = { .start_ms = d.len > 9 && r & 4 ? ts[3] : 0,
                           .end_ms =
                               d.len > 9 && r & 8 ? ts[d.len - 4] : INT64_MAX,
                           .ms_resolution = r & 1,
                           .arrays = true };
        size_t n = dps_json_write(&arrays, &q, &d);
        struct slice left = buf_slice(&arrays);

        (void)slice_cut(&left, '[');
        while (left.size > 1) {
            struct slice pair;

            (void)slice_cut(&left, '[');
            pair = slice_cut(&left, ']');
            buf_put_str(&times, times.size > 0 ? "," : "");
            buf_put_slice(&times, slice_cut(&pair, ','));
            buf_put_str(&column, column.size > 0 ? "," : "");
            buf_put_slice(&column, pair);
        }
        ck_assert_uint_eq(dps_json_columns(&got, &q, &d, NULL), n);
        buf_printf(&arrays, ",\"times\":[%s],\"values\":[%s]", buf_cstr(&times),
                   buf_cstr(&column));
        ck_assert_str_eq(buf_cstr(&got), strstr(buf_cstr(&arrays), ",\"times"));
        buf_clear(&got);
        (void)dps_json_columns(&got, &q, &d, &d);
        if (d.len > 0)
            ck_assert_ptr_null(strstr(buf_cstr(&got), "times"));
        buf_fini(&arrays);
        buf_fini(&times);
        buf_fini(&column);
        buf_fini(&got);
    }
}
END_TEST

START_TEST(columns_of_no_points)
{
    const struct query q = { .end_ms = INT64_MAX };
    const struct dps none = { .len = 0 };
    struct buf got = BUF_INIT;

    ck_assert_uint_eq(dps_json_columns(&got, &q, &none, NULL), 0);
    ck_assert_str_eq(buf_cstr(&got), ",\"times\":[],\"values\":[]");
    buf_fini(&got);
}
END_TEST

/* Within its size an answer of any cap is whole, but for the room of a point.
 */
START_TEST(keeps_the_cap)
{
    uint64_t state = 1;
    struct query q = { .end_ms = INT64_MAX };
    struct buf whole = BUF_INIT;
    struct dps d = make_points(&state);

    while (d.len < 1000)
        d = make_points(&state);
    (void)dps_json_write(&whole, &q, &d);
    for (size_t max = 100; max < whole.size + 200; max += 97) {
        struct buf b;

        buf_init(&b, max);
        (void)dps_json_write(&b, &q, &d);
        ck_assert(b.size <= max && (b.failed || b.size == whole.size));
        if (max > whole.size + 100)
            ck_assert(!b.failed);
        buf_fini(&b);
    }
    buf_fini(&whole);
}
END_TEST

TEST_MAIN("dps_json", TEST(writes_what_a_slow_one_writes),
          TEST(columns_are_the_same_points), TEST(columns_of_no_points),
          TEST(keeps_the_cap))

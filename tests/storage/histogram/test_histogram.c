/* Histograms: their bytes, their order, their sums and percentiles, and the
 * table they lie in. */
#include "storage/histogram/histogram.h"

#include <math.h>
#include <string.h>

#include "storage/histogram/histogram_table.h"
#include "tests/harness.h"
#include "tests/nomem.h"

static struct error e;

static const struct {
    const char *what;
    struct histogram_bucket buckets[4];
    size_t len;
    int64_t underflow, overflow;
    uint8_t bytes[64];
    size_t size;
} coded[] = {
    { "nothing", { { 0, 0, 0 } }, 0, 0, 0, { 0, 0, 0, 0 }, 4 },
    { "one",
      { { 0, 10, 5 } },
      1,
      1,
      2,
      { 0, 1, 0, 0, 0, 0, 0x41, 0x20, 0, 0, 5, 1, 2 },
      13 },
    { "counts of two bytes",
      { { 10, 20, 300 } },
      1,
      127,
      128,
      { 0, 1, 0x41, 0x20, 0, 0, 0x41, 0xa0, 0, 0, 0xac, 2, 127, 0x80, 1 },
      15 },
    { "the greatest and the least count",
      { { 0, 1, INT64_MAX } },
      1,
      -1,
      INT64_MIN,
      { 0,    1,    0,    0,    0,    0,    0x3f, 0x80, 0,    0,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80, 0x80,
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 },
      37 },
};

START_TEST(has_its_bytes)
{
    struct arena *arena = arena_new(0);
    struct histogram_bucket buckets[4];
    struct histogram h = { buckets, coded[_i].len, coded[_i].underflow,
                           coded[_i].overflow };
    struct histogram back;
    struct buf b = BUF_INIT;

    memcpy(buckets, coded[_i].buckets, sizeof buckets);
    histogram_encode(&h, &b);
    ck_assert_uint_eq(b.size, coded[_i].size);
    ck_assert_mem_eq(b.data, coded[_i].bytes, b.size);
    ck_assert_int_eq(histogram_decode(buf_slice(&b), arena, &back, &e), ST_OK);
    ck_assert_uint_eq(back.len, h.len);
    ck_assert_int_eq(back.underflow, h.underflow);
    ck_assert_int_eq(back.overflow, h.overflow);
    for (size_t i = 0; i < h.len; i++) {
        ck_assert_int_eq(histogram_compare(&back.buckets[i], &buckets[i]), 0);
        ck_assert_int_eq(back.buckets[i].count, buckets[i].count);
    }
    /* Every cut but the whole is rejected. */
    for (size_t n = 0; n < b.size; n++)
        ck_assert_int_eq(
            histogram_decode(slice_of(b.data, n), arena, &back, &e),
            ST_CORRUPT);
    buf_fini(&b);
    arena_free(&arena);
}
END_TEST

START_TEST(takes_odd_bytes)
{
    struct arena *arena = arena_new(0);
    static const uint8_t negative[] = { 0xff, 0xff, 1, 2, 9, 9 };
    static const uint8_t twice[] = { 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                                     0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0 };
    struct histogram h;

    ck_assert_int_eq(histogram_decode(slice_of(negative, 6), arena, &h, &e),
                     ST_OK);
    ck_assert_uint_eq(h.len, 0);
    ck_assert_int_eq(h.overflow, 2);
    ck_assert_int_eq(
        histogram_decode(slice_of(twice, sizeof twice), arena, &h, &e), ST_OK);
    ck_assert_uint_eq(h.len, 1);
    ck_assert_int_eq(h.buckets[0].count, 2);
    arena_free(&arena);
}
END_TEST

START_TEST(orders_as_java_does)
{
    const float ascending[] = { -INFINITY, -2, -1, -0.0F, 0,        1e-40F,
                                1,         2,  3,  1e30F, INFINITY, NAN };

    for (size_t i = 0; i < sizeof ascending / sizeof ascending[0]; i++)
        for (size_t k = 0; k < sizeof ascending / sizeof ascending[0]; k++) {
            struct histogram_bucket a = { ascending[i], 0, 0 };
            struct histogram_bucket b = { ascending[k], 0, 0 };
            struct histogram_bucket c = { 0, ascending[i], 0 };
            struct histogram_bucket d = { 0, ascending[k], 0 };

            ck_assert_int_eq(histogram_compare(&a, &b), (i > k) - (i < k));
            ck_assert_int_eq(histogram_compare(&c, &d), (i > k) - (i < k));
        }
}
END_TEST

static struct histogram
random_histogram(uint64_t *state, struct arena *arena)
{
    struct histogram h = { .len = harness_random(state) % 20 };

    h.buckets = arena_array(arena, h.len, sizeof *h.buckets);
    for (size_t i = 0; i < h.len; i++)
        h.buckets[i] = (struct histogram_bucket){
            (float)(harness_random(state) % 5),
            (float)(harness_random(state) % 5),
            (int64_t)(harness_random(state) % 100),
        };
    h.underflow = (int64_t)(harness_random(state) % 9);
    return h;
}

/* The count that was given last for these bounds, the slow way. */
static int64_t
last_count(const struct histogram *h, const struct histogram_bucket *b)
{
    for (size_t i = h->len; i > 0; i--)
        if (histogram_compare(&h->buckets[i - 1], b) == 0)
            return h->buckets[i - 1].count;
    return 0;
}

START_TEST(sorts_and_sums)
{
    struct arena *arena = arena_new(0);
    uint64_t state = harness_seed(7);

    for (int round = 0; round < 2000; round++) {
        struct histogram a = random_histogram(&state, arena), b, as, bs, sum;

        b = random_histogram(&state, arena);
        as = a;
        bs = b;
        as.buckets = arena_array(arena, a.len, sizeof *a.buckets);
        bs.buckets = arena_array(arena, b.len, sizeof *b.buckets);
        memcpy(as.buckets, a.buckets, a.len * sizeof *a.buckets);
        memcpy(bs.buckets, b.buckets, b.len * sizeof *b.buckets);
        ck_assert_int_eq(histogram_sort(&as, arena, &e), ST_OK);
        ck_assert_int_eq(histogram_sort(&bs, arena, &e), ST_OK);
        sum = as;
        ck_assert_int_eq(histogram_add(&sum, &bs, arena, &e), ST_OK);
        ck_assert_int_eq(sum.underflow, a.underflow + b.underflow);
        for (size_t i = 1; i < sum.len; i++)
            ck_assert_int_lt(
                histogram_compare(&sum.buckets[i - 1], &sum.buckets[i]), 0);
        for (int low = 0; low < 5; low++)
            for (int high = 0; high < 5; high++) {
                struct histogram_bucket x = { (float)low, (float)high, 0 };

                ck_assert_int_eq(histogram_count(&sum, &x),
                                 last_count(&a, &x) + last_count(&b, &x));
            }
        if (round % 100 == 0)
            arena_reset(arena);
    }
    arena_free(&arena);
}
END_TEST

static const struct {
    struct histogram_bucket buckets[4];
    size_t len;
    double percent, middle;
} percentiles[] = {
    { { { 0, 10, 5 }, { 10, 20, 10 }, { 20, 50, 3 } }, 3, 50, 15 },
    { { { 0, 10, 5 }, { 10, 20, 10 }, { 20, 50, 3 } }, 3, 1, 5 },
    { { { 0, 10, 5 }, { 10, 20, 10 }, { 20, 50, 3 } }, 3, 100, 35 },
    { { { 0, 10, 5 }, { 10, 20, 10 }, { 20, 50, 3 } }, 3, 0.9, -1 },
    { { { 0, 10, 5 }, { 10, 20, 10 }, { 20, 50, 3 } }, 3, 100.1, -1 },
    { { { 0, 10, 5 } }, 0, 50, 0 },
    { { { 0, 10, 0 }, { 10, 20, 0 } }, 2, 50, 0 },
    { { { 0, 10, 0 }, { 10, 20, 1 } }, 2, 50, 15 },
    { { { 0, 10, 50 }, { 10, 20, 50 } }, 2, 50, 5 },
    { { { 0, 1.5F, 2 }, { 0, 10, 7 }, { 1.5F, 3, 4 } }, 3, 90, 2.25 },
    /* Only the low 32 bits of a count are looked at. */
    { { { 0, 10, INT64_C(1) << 32 }, { 10, 20, 1 } }, 2, 50, 15 },
    { { { 3e38F, 3.2e38F, 1 } }, 1, 50, INFINITY },
};

START_TEST(finds_percentiles)
{
    struct histogram_bucket buckets[4];
    struct histogram h = { buckets, percentiles[_i].len, 9, 9 };

    memcpy(buckets, percentiles[_i].buckets, sizeof buckets);
    ck_assert(histogram_percentile(&h, percentiles[_i].percent) ==
              percentiles[_i].middle);
}
END_TEST

START_TEST(needs_memory)
{
    static const uint8_t many[22] = { 0, 2 };
    struct arena *small = arena_new(8);
    struct histogram h;

    ck_assert_int_eq(histogram_decode(slice_of(many, 19), small, &h, &e),
                     ST_CORRUPT);
    ck_assert_int_eq(
        histogram_decode(slice_of(many, sizeof many), small, &h, &e), ST_LIMIT);
    arena_free(&small);
}
END_TEST

static enum status
note_time(void *ctx, int64_t ms, uint8_t codec, struct slice bytes,
          struct error *err)
{
    (void)err;
    ck_assert_uint_eq(codec, bytes.data[0]);
    buf_printf(ctx, "%lld ", (long long)ms);
    return ST_OK;
}

static const char *
times(struct store *s, struct slice tsuid, int64_t from, int64_t to,
      struct buf *out)
{
    struct kv_iter *it = kv_iter_open(store_kv(s), slice_str(""));

    buf_clear(out);
    ck_assert_int_eq(histogram_each(it, tsuid, from, to, note_time, out, &e),
                     ST_OK);
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_OK);
    return buf_cstr(out);
}

START_TEST(keeps_and_deletes)
{
    /* The second begins with the bytes of the first, and a tagk that looks like
     * a time. */
    static const uint8_t one[] = { 0, 0, 1, 0, 0, 1, 0, 0, 1 };
    static const uint8_t two[] = {
        0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0, 5
    };
    struct store_options o = { .layout = KEY_LAYOUT_DEFAULT };
    struct kv_batch *batch = kv_batch_new();
    struct slice a = slice_of(one, sizeof one), b = slice_of(two, sizeof two);
    struct buf text = BUF_INIT;
    struct store *s;
    uint64_t deleted, lsn;

    ck_assert_int_eq(store_open(&o, &s, &e), ST_OK);
    for (uint8_t i = 0; i < 10; i++) {
        const uint8_t value[] = { i, i };

        histogram_put(batch, i % 2 == 0 ? a : b, 1000 * i, slice_of(value, 2));
    }
    ck_assert_int_eq(store_write(s, batch, NULL, &e), ST_OK);
    ck_assert_str_eq(times(s, a, 0, INT64_MAX, &text),
                     "0 2000 4000 6000 8000 ");
    ck_assert_str_eq(times(s, b, 1001, 7000, &text), "3000 5000 7000 ");
    ck_assert_int_eq(histogram_delete(s, a, 2000, 6000, &deleted, &lsn, &e),
                     ST_OK);
    ck_assert_uint_eq(deleted, 3);
    ck_assert_int_eq(histogram_delete(s, a, 2000, 6000, &deleted, &lsn, &e),
                     ST_OK);
    ck_assert_uint_eq(deleted, 0);
    ck_assert_str_eq(times(s, a, 0, INT64_MAX, &text), "0 8000 ");
    ck_assert_str_eq(times(s, b, 0, INT64_MAX, &text),
                     "1000 3000 5000 7000 9000 ");
    kv_batch_free(&batch);
    buf_fini(&text);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
}
END_TEST

START_TEST(no_memory_is_an_error)
{
    static const uint8_t tsuid[] = { 0, 0, 1, 0, 0, 1, 0, 0, 1 };

    for (unsigned n = 0; nomem_begin(n); n++) {
        struct kv_batch *b = kv_batch_new();
        enum status st;

        histogram_put(b, slice_of(tsuid, sizeof tsuid), 1000,
                      slice_of("\0value", 6));
        st = kv_batch_check(b, &e);
        nomem_end();
        ck_assert_int_eq(st, nomem_failed() ? ST_LIMIT : ST_OK);
        kv_batch_free(&b);
    }
}
END_TEST

TEST_MAIN("histogram", LOOP(has_its_bytes, coded), TEST(takes_odd_bytes),
          TEST(orders_as_java_does), TEST(sorts_and_sums),
          LOOP(finds_percentiles, percentiles), TEST(needs_memory),
          TEST(keeps_and_deletes), TEST(no_memory_is_an_error))

/* The bytes of histograms: what decodes has its buckets in order, and encodes
 * to bytes that decode alike; sums with itself and percentiles hold. */
#include "base/obj.h"
#include "storage/histogram/histogram.h"
#include "tests/fuzz/target.h"

static void
check_order(const struct histogram *h)
{
    for (size_t i = 1; i < h->len; i++)
        INSIST(histogram_compare(&h->buckets[i - 1], &h->buckets[i]) < 0);
}

static void
check_same(const struct histogram *a, const struct histogram *b)
{
    INSIST(a->len == b->len && a->underflow == b->underflow &&
           a->overflow == b->overflow);
    for (size_t i = 0; i < a->len; i++) {
        INSIST(histogram_compare(&a->buckets[i], &b->buckets[i]) == 0);
        INSIST(a->buckets[i].count == b->buckets[i].count);
        INSIST(histogram_count(b, &a->buckets[i]) == a->buckets[i].count);
    }
}

FUZZ_TARGET(data, size)
{
    struct arena *arena = arena_new(8 << 20);
    struct histogram h, again;
    struct buf b = BUF_INIT;

    if (histogram_decode(slice_of(data, size), arena, &h, NULL) == ST_OK) {
        check_order(&h);
        histogram_encode(&h, &b);
        INSIST(b.size <= size + 2);
        INSIST(histogram_decode(buf_slice(&b), arena, &again, NULL) == ST_OK);
        check_same(&h, &again);
        INSIST(histogram_percentile(&h, 0) < 0);
        (void)histogram_percentile(&h, 99.9);
        INSIST(histogram_add(&again, &h, arena, NULL) == ST_OK);
        INSIST(again.len == h.len);
        check_order(&again);
    }
    buf_fini(&b);
    arena_free(&arena);
    return 0;
}

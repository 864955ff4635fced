/* See storage/histogram/histogram.h.  The arithmetic is OpenTSDB's: counts wrap
 * at 64 bits, percentiles look at their low 32 bits only, and middles are
 * halves of sums of floats. */
#include "storage/histogram/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the histograms need too much memory");
}

static uint32_t
bits_of(float f)
{
    uint32_t bits;

    if (isnan(f))
        return UINT32_C(0x7fc00000);
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float
float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

/* A number that is ordered as the float is. */
static uint32_t
rank_of(float f)
{
    uint32_t bits = bits_of(f);

    return bits & UINT32_C(0x80000000) ? ~bits : bits | UINT32_C(0x80000000);
}

int
histogram_compare(const struct histogram_bucket *a,
                  const struct histogram_bucket *b)
{
    uint32_t x = rank_of(a->low), y = rank_of(b->low);

    if (x == y) {
        x = rank_of(a->high);
        y = rank_of(b->high);
    }
    return (x > y) - (x < y);
}

static bool
is_sorted(const struct histogram *h)
{
    for (size_t i = 1; i < h->len; i++)
        if (histogram_compare(&h->buckets[i - 1], &h->buckets[i]) >= 0)
            return false;
    return true;
}

/* Of equal bounds, the order they had. */
static int
compare_places(const void *a, const void *b)
{
    const struct histogram_bucket *x =
        *(const struct histogram_bucket *const *)a;
    const struct histogram_bucket *y =
        *(const struct histogram_bucket *const *)b;
    int order = histogram_compare(x, y);

    return order != 0 ? order : (x > y) - (x < y);
}

enum status
histogram_sort(struct histogram *h, struct arena *a, struct error *e)
{
    const struct histogram_bucket **sorted;
    struct histogram_bucket *out;
    size_t kept = 0;

    if (is_sorted(h))
        return ST_OK;
    sorted = arena_array_raw(a, h->len, sizeof *sorted);
    out = arena_array_raw(a, h->len, sizeof *out);
    if (sorted == NULL || out == NULL)
        return no_memory(e);
    for (size_t i = 0; i < h->len; i++)
        sorted[i] = &h->buckets[i];
    qsort(sorted, h->len, sizeof *sorted, compare_places);
    for (size_t i = 0; i < h->len; i++) {
        if (kept > 0 && histogram_compare(&out[kept - 1], sorted[i]) == 0)
            kept--;
        out[kept++] = *sorted[i];
    }
    h->buckets = out;
    h->len = kept;
    return ST_OK;
}

/* As a varint, but the ninth byte holds eight bits and is the last. */
static void
put_count(struct buf *out, int64_t count)
{
    uint64_t v = (uint64_t)count;

    for (int i = 0; i < 8 && v >= 0x80; i++) {
        buf_put_u8(out, (uint8_t)(v | 0x80));
        v >>= 7;
    }
    buf_put_u8(out, (uint8_t)v);
}

static int64_t
take_count(struct cursor *c)
{
    uint64_t v = 0;
    uint8_t b = 0x80;

    for (unsigned i = 0; i < 8 && b >= 0x80; i++) {
        b = cursor_u8(c);
        v |= (uint64_t)(b & 0x7f) << 7 * i;
    }
    if (b >= 0x80)
        v |= (uint64_t)cursor_u8(c) << 56;
    return (int64_t)v;
}

void
histogram_encode(const struct histogram *h, struct buf *out)
{
    buf_put_u16(out, (uint16_t)h->len);
    for (size_t i = 0; i < h->len; i++) {
        buf_put_u32(out, bits_of(h->buckets[i].low));
        buf_put_u32(out, bits_of(h->buckets[i].high));
        put_count(out, h->buckets[i].count);
    }
    put_count(out, h->underflow);
    put_count(out, h->overflow);
}

enum status
histogram_decode(struct slice bytes, struct arena *a, struct histogram *out,
                 struct error *e)
{
    struct cursor c = cursor_of(bytes);
    int16_t len = (int16_t)cursor_u16(&c);

    *out = (struct histogram){ 0 };
    if (len > 0 && cursor_left(&c) / 9 < (size_t)len)
        return error_set(e, ST_CORRUPT, "Buffer underflow.");
    out->len = len > 0 ? (size_t)len : 0;
    out->buckets = arena_alloc(a, out->len * sizeof *out->buckets);
    if (out->buckets == NULL)
        return no_memory(e);
    for (size_t i = 0; i < out->len; i++) {
        struct histogram_bucket *b = &out->buckets[i];

        b->low = float_of(cursor_u32(&c));
        b->high = float_of(cursor_u32(&c));
        b->count = take_count(&c);
    }
    out->underflow = take_count(&c);
    out->overflow = take_count(&c);
    if (c.failed)
        return error_set(e, ST_CORRUPT, "Buffer underflow.");
    return histogram_sort(out, a, e);
}

static int64_t
wrapping_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static bool
same_bounds(const struct histogram *a, const struct histogram *b)
{
    if (a->len != b->len)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (histogram_compare(&a->buckets[i], &b->buckets[i]) != 0)
            return false;
    return true;
}

enum status
histogram_add(struct histogram *sum, const struct histogram *more,
              struct arena *a, struct error *e)
{
    if (same_bounds(sum, more)) {
        for (size_t i = 0; i < sum->len; i++)
            sum->buckets[i].count =
                wrapping_sum(sum->buckets[i].count, more->buckets[i].count);
    } else {
        struct histogram_bucket *all =
            arena_alloc(a, (sum->len + more->len) * sizeof *all);
        size_t i = 0, k = 0, len = 0;

        if (all == NULL)
            return no_memory(e);
        /* The union of both lists of buckets. */
        while (i < sum->len || k < more->len) {
            int c = i == sum->len    ? 1
                    : k == more->len ? -1
                                     : histogram_compare(&sum->buckets[i],
                                                         &more->buckets[k]);

            all[len] = c <= 0 ? sum->buckets[i++] : more->buckets[k++];
            if (c == 0)
                all[len].count =
                    wrapping_sum(all[len].count, more->buckets[k++].count);
            len++;
        }
        sum->len = len;
        sum->buckets = all;
    }
    sum->underflow = wrapping_sum(sum->underflow, more->underflow);
    sum->overflow = wrapping_sum(sum->overflow, more->overflow);
    return ST_OK;
}

/* For bsearch(). */
static int
compare_buckets(const void *a, const void *b)
{
    return histogram_compare(a, b);
}

int64_t
histogram_count(const struct histogram *h,
                const struct histogram_bucket *bounds)
{
    const struct histogram_bucket *found =
        h->len == 0 ? NULL
                    : bsearch(bounds, h->buckets, h->len, sizeof *bounds,
                              compare_buckets);

    return found == NULL ? 0 : found->count;
}

double
histogram_percentile(const struct histogram *h, double percent)
{
    int32_t sum = 0;
    int64_t so_far = 0;

    if (percent < 1 || percent > 100)
        return -1;
    for (size_t i = 0; i < h->len; i++)
        sum = (int32_t)((uint32_t)sum + (uint32_t)h->buckets[i].count);
    /* With nothing in it, 0 / 0 is not above anything. */
    for (size_t i = 0; i < h->len; i++) {
        const struct histogram_bucket *b = &h->buckets[i];

        so_far += (int32_t)(uint32_t)b->count;
        if ((double)so_far * 100.0 / sum >= percent)
            return (double)((b->low + b->high) / 2);
    }
    return 0;
}

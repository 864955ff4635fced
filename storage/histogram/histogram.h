/* A histogram: how many measurements fell between which bounds, and how many
 * below and above all of them; and its bytes, which are those that OpenTSDB's
 * SimpleHistogramDecoder reads and writes (docs/FORMAT.md, "Histograms").
 *
 *     <buckets:2> { <low:4> <high:4> <count> }... <underflow> <overflow>
 *
 * Owns:    nothing; buckets lie in the caller's arena.
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_CORRUPT for bytes that are no histogram; ST_LIMIT when the arena
 *          is full. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

#define HISTOGRAM_BUCKETS_MAX 32767

struct histogram_bucket {
    float low, high;
    int64_t count;
};

/* Buckets ascend by low, then high; no two have the same bounds.  They may
 * overlap, and leave gaps. */
struct histogram {
    struct histogram_bucket *buckets;
    size_t len;
    int64_t underflow, overflow;
};

/* Orders bounds as Java's Float.compare() does: -0.0 before 0.0, NaN last. */
int histogram_compare(const struct histogram_bucket *a,
                      const struct histogram_bucket *b);

/* Puts buckets into order; of equal bounds the last one stays. */
MUST_CHECK enum status histogram_sort(struct histogram *h, struct arena *a,
                                      struct error *e);

/* Appends the bytes. */
void histogram_encode(const struct histogram *h, struct buf *out);

/* The reverse; what follows the histogram is not looked at. */
MUST_CHECK enum status histogram_decode(struct slice bytes, struct arena *a,
                                        struct histogram *out, struct error *e);

/* Adds 'more' to '*sum': counts of the same bounds, underflow, overflow. */
MUST_CHECK enum status histogram_add(struct histogram *sum,
                                     const struct histogram *more,
                                     struct arena *a, struct error *e);

/* The count of the bucket with these bounds; 0 when there is none. */
int64_t histogram_count(const struct histogram *h,
                        const struct histogram_bucket *bounds);

/* The middle of the bucket in which 'percent' of what lies in buckets has been
 * counted; -1 outside 1..100, 0 when all buckets are empty. */
double histogram_percentile(const struct histogram *h, double percent);

/* A line drawn of a bucket's first, least, greatest and last point covers the
 * same pixels as one of all its points, where a bucket is a column of pixels
 * (M4: Jugel et al., 2014). */
#include "query/downsample/downsample.h"

#include <math.h>

static bool
is_number(const struct dps *d, size_t i)
{
    return d->kind[i] == DP_INT ||
           (d->kind[i] == DP_DOUBLE && !isnan(d->v[i].d));
}

/* Integers are compared as such: doubles have only 53 bits. */
static bool
is_less(const struct dps *d, size_t i, size_t k)
{
    if (d->kind[i] == DP_INT && d->kind[k] == DP_INT)
        return d->v[i].i < d->v[k].i;
    return (d->kind[i] == DP_INT ? (double)d->v[i].i : d->v[i].d) <
           (d->kind[k] == DP_INT ? (double)d->v[k].i : d->v[k].d);
}

void
thin_dps(const struct downsample *spec, struct dps *d)
{
    struct buckets b;
    struct bucket bucket = { 0, 0 };
    size_t len = 0, to;

    if (d->len == 0)
        return;
    b = buckets_between(spec, d->ts_ms[0], d->ts_ms[d->len - 1]);
    for (size_t from = 0; from < d->len; from = to) {
        size_t least = from, most = from, at;

        bucket_move(&b, &bucket, d->ts_ms[from]);
        to = from + times_seek(d->ts_ms + from, d->len - from, bucket.next);
        /* Moves the points of the bucket that are kept to place 'len', which
         * is not after them. */
        for (size_t i = from + 1; i < to; i++) {
            if (!is_number(d, i))
                continue;
            if (!is_number(d, least))
                least = most = i;
            if (is_less(d, i, least))
                least = i;
            if (is_less(d, most, i))
                most = i;
        }
        for (at = from; at < to; at++)
            if (at == least || at == most ||
                (spec->thin == THIN_M4 && (at == from || at + 1 == to))) {
                d->ts_ms[len] = d->ts_ms[at];
                d->v[len] = d->v[at];
                d->kind[len++] = d->kind[at];
            }
    }
    d->len = len;
}

#include "web/chart/series.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLES  64
#define GAP_LIKE 2.5

static int
compare_gaps(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

double
series_gap_ms(const struct chart_series *s)
{
    int64_t gaps[SAMPLES], usual;
    size_t len = 0, step = s->len / SAMPLES + 1;

    for (size_t i = 1; i < s->len && len < SAMPLES; i += step)
        gaps[len++] = s->ts_ms[i] - s->ts_ms[i - 1];
    if (len < 2)
        return INFINITY;
    qsort(gaps, len, sizeof gaps[0], compare_gaps);
    usual = gaps[len / 2];
    return GAP_LIKE * (double)usual;
}

struct series_numbers
series_numbers_of(const struct chart_series *s)
{
    struct series_numbers n = { .min = INFINITY, .max = -INFINITY };

    for (size_t i = 0; i < s->len; i++) {
        double v = s->v[i];

        if (!isfinite(v))
            continue;
        n.len++;
        n.min = fmin(n.min, v);
        n.avg += (v - n.avg) / (double)n.len;
        n.max = fmax(n.max, v);
        n.last = v;
    }
    return n;
}

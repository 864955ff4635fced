#include "web/chart/stack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int
compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Mostly all series have the same times. */
static size_t
gather_times(const struct chart_series *series, size_t series_len, int64_t *out)
{
    const struct chart_series *first = NULL;
    size_t len = 0, n = 0;

    for (size_t i = 0; i < series_len; i++) {
        const struct chart_series *s = &series[i];

        if (s->is_right || s->len == 0 ||
            (first != NULL &&
             (first->len == s->len &&
              (first->len == 0 ||
               memcmp(first->ts_ms, s->ts_ms,
                      first->len * sizeof first->ts_ms[0]) == 0))))
            continue;
        first = first == NULL ? s : first;
        memcpy(out + len, s->ts_ms, s->len * sizeof *out);
        len += s->len;
    }
    if (first != NULL && len > first->len)
        qsort(out, len, sizeof *out, compare_times);
    for (size_t i = 0; i < len; i++)
        if (n == 0 || out[n - 1] != out[i])
            out[n++] = out[i];
    return n;
}

enum status
stack_make(const struct chart_series *series, size_t series_len,
           struct arena *a, struct stack *out, struct error *e)
{
    size_t len = 0;

    for (size_t i = 0; i < series_len; i++)
        len += series[i].len;
    *out =
        (struct stack){ .ts_ms = arena_array(a, len + 1, sizeof *out->ts_ms) };
    if (out->ts_ms == NULL)
        return error_no_memory(e);
    out->len = gather_times(series, series_len, out->ts_ms);
    if (out->len > 0 && series_len > STACK_VALUES_MAX / out->len)
        return error_set(e, ST_LIMIT,
                         "a stack of %zu series has %zu times between them, "
                         "more than %zu values: downsample, so that the series "
                         "have the same times",
                         series_len, out->len, STACK_VALUES_MAX);
    out->base = arena_array(a, out->len + 1, sizeof *out->base);
    out->v = arena_array(a, out->len + 1, sizeof *out->v);
    if (out->base == NULL || out->v == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < series_len; i++)
        if (!series[i].is_right) {
            stack_fill(out, &series[i]);
            stack_add(out);
        }
    memset(out->base, 0, out->len * sizeof *out->base);
    return ST_OK;
}

void
stack_fill(struct stack *s, const struct chart_series *series)
{
    double gap_ms = series_gap_ms(series);
    size_t next = 0; /* the first point that is not before the time */

    for (size_t i = 0; i < s->len; i++) {
        int64_t t = s->ts_ms[i], before;

        while (next < series->len && series->ts_ms[next] < t)
            next++;
        s->v[i] = NAN;
        if (next == series->len)
            continue;
        if (series->ts_ms[next] == t) {
            s->v[i] = series->v[next];
        } else if (next > 0) {
            int64_t apart = series->ts_ms[next] - series->ts_ms[next - 1];

            before = t - series->ts_ms[next - 1];
            if ((double)apart <= gap_ms)
                s->v[i] = series->v[next - 1] +
                          (series->v[next] - series->v[next - 1]) *
                              (double)before / (double)apart;
        }
        if (!isfinite(s->v[i]))
            s->v[i] = NAN;
    }
}

void
stack_add(struct stack *s)
{
    for (size_t i = 0; i < s->len; i++)
        if (isfinite(s->v[i])) {
            s->base[i] += s->v[i];
            s->lo = fmin(s->lo, s->base[i]);
            s->hi = fmax(s->hi, s->base[i]);
        }
}

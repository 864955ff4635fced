#include <float.h>
#include <math.h>
#include <string.h>

#include "query/aggregate/arithmetic.h"
#include "query/aggregate/aggregate_priv.h"

#define ALONE_MAX 128 /* points of a series alone that are done together */

/* Interpolation and aggregation.  A group of columns becomes one: at each
 * timestamp at which any series has a point, every series that has begun and
 * not ended gives a value, its own or an interpolated one (interpolate()), and
 * the aggregator makes one number of them.
 *
 *     series a   o---------o----x----o          o: a point, read
 *     series b        o----x----o               x: interpolated
 *     timestamps    1    2    3    4    5
 *
 * The loop works on one stretch of timestamps after the other, and within a
 * stretch on one series after the other, so that it reads each series once and
 * in order.
 *
 * A result is an integer when no value in view is a float: the current and the
 * next point of each series, and the first of each that is yet to begin.  The
 * results of a stretch are all integers or all doubles. */

struct cursor {
    struct column c;
    size_t
        at; /* the point before or at the next moment; the first if none is */
};

struct aggregation {
    const struct aggregate_spec *spec;
    struct arena *arena;
    struct cursor *cursors;
    size_t len;
    struct times timestamps;
    uint8_t *doubles; /* per moment; NULL: all are as 'all_doubles' says */
    bool all_doubles;
    union number *values; /* of one series in one stretch */
    struct accumulator acc;
};

static bool
cursor_is_float(const struct cursor *cur, size_t i)
{
    return cur->c.is_float == NULL || cur->c.is_float[i] != 0;
}

static double
cursor_double(const struct cursor *cur, size_t i)
{
    return cursor_is_float(cur, i) ? cur->c.v[i].d : (double)cur->c.v[i].i;
}

/* -- before the first moment ---------------------------------------------- */

/* Keeps the series that are still there at the start of the range.  One rate is
 * none: it needs a point before. */
static enum status
make_cursors(struct aggregation *m, const struct column *columns, size_t len,
             struct times *own, struct error *e)
{
    const struct window *w = &m->spec->window;

    m->cursors = arena_array(m->arena, len, sizeof *m->cursors);
    if (m->cursors == NULL)
        return query_no_memory(e);
    for (size_t i = 0; i < len; i++) {
        const struct column *c = &columns[i];
        size_t first = column_seek(c->ts_ms, c->len, w->start_ms), last;

        if (first == c->len || (m->spec->rate && c->len < 2))
            continue;
        m->cursors[m->len] = (struct cursor){ *c, first > 0 ? first - 1 : 0 };
        /* The first rate is never a moment. */
        if (m->spec->rate && first == 0)
            first = 1;
        last = first +
               column_seek(c->ts_ms + first, c->len - first, w->end_ms + 1);
        own[m->len++] = (struct times){ c->ts_ms + first, last - first };
    }
    return ST_OK;
}

/* From the current point of the first moment to the next one of the last. */
static void
in_view(const struct aggregation *m, const struct cursor *cur, size_t *from,
        size_t *to)
{
    size_t rest = cur->c.len - cur->at;

    *from = cur->at;
    *to = cur->at +
          column_seek(cur->c.ts_ms + cur->at, rest, m->spec->window.end_ms + 1);
    if (*to < cur->c.len)
        (*to)++;
}

/* The floats of points first..last: where they come into view, +1; where they
 * leave it, -1. */
static void
mark_floats(const struct aggregation *m, const struct cursor *cur, size_t first,
            size_t last, int32_t *changes)
{
    const int64_t *ts = cur->c.ts_ms;
    int64_t end = last + 1 < cur->c.len ? ts[last + 1] : ts[last] + 1;
    size_t from = 0, to = column_seek(m->timestamps.ms, m->timestamps.len, end);

    if (first > 0)
        from = column_seek(m->timestamps.ms, m->timestamps.len, ts[first - 1]);
    changes[from]++;
    changes[to]--;
}

static void
mark_cursor(const struct aggregation *m, const struct cursor *cur,
            int32_t *changes)
{
    size_t from, to;

    in_view(m, cur, &from, &to);
    while (from < to) {
        size_t end = from;

        while (end < to && cursor_is_float(cur, end))
            end++;
        if (end > from)
            mark_floats(m, cur, from, end - 1, changes);
        from = end + 1;
    }
}

static enum status
mark_timestamps(struct aggregation *m, struct error *e)
{
    int32_t *changes, sum = 0;

    changes = arena_array(m->arena, m->timestamps.len + 1, sizeof *changes);
    m->doubles = arena_array(m->arena, m->timestamps.len, 1);
    if (changes == NULL || m->doubles == NULL)
        return query_no_memory(e);
    for (size_t i = 0; i < m->len; i++)
        mark_cursor(m, &m->cursors[i], changes);
    for (size_t k = 0; k < m->timestamps.len; k++) {
        sum += changes[k];
        m->doubles[k] = sum > 0;
    }
    return ST_OK;
}

static enum status
find_kinds(struct aggregation *m, struct error *e)
{
    bool ints = false, floats = false;

    for (size_t i = 0; i < m->len; i++) {
        const uint8_t *f = m->cursors[i].c.is_float;
        size_t from, to;

        if (f == NULL) {
            floats = true;
            continue;
        }
        in_view(m, &m->cursors[i], &from, &to);
        ints = ints || memchr(f + from, 0, to - from) != NULL;
        floats = floats || memchr(f + from, 1, to - from) != NULL;
    }
    m->all_doubles = floats;
    return ints && floats ? mark_timestamps(m, e) : ST_OK;
}

/* -- the values of a series in a stretch ---------------------------------- */

int64_t
interpolate_linear_int(int64_t x, int64_t x0, int64_t y0, int64_t x1,
                       int64_t y1)
{
    uint64_t rise = (uint64_t)y1 - (uint64_t)y0;
    int64_t area = (int64_t)((uint64_t)(x - x0) * rise);

    return (int64_t)((uint64_t)y0 + (uint64_t)(area / (x1 - x0)));
}

/* The values between the points cur->at and the one after it. */
static void
interpolate(const struct cursor *cur, const int64_t *ms, size_t len,
            enum interpolation method, bool doubles, union number *out)
{
    static const union number constants[][2] = {
        [INTERPOLATE_ZIM] = { { .i = 0 }, { .d = 0 } },
        [INTERPOLATE_MAX] = { { .i = INT64_MAX }, { .d = DBL_MAX } },
        [INTERPOLATE_MIN] = { { .i = INT64_MIN }, { .d = -DBL_MAX } },
    };
    const int64_t *x = cur->c.ts_ms + cur->at;
    union number y = cur->c.v[cur->at];

    if (doubles)
        y.d = cursor_double(cur, cur->at);
    if (method == INTERPOLATE_LERP && doubles) {
        double run = (double)(x[1] - x[0]);
        double rise = cursor_double(cur, cur->at + 1) - y.d;

        for (size_t k = 0; k < len; k++)
            out[k].d = y.d + (double)(ms[k] - x[0]) * rise / run;
    } else if (method == INTERPOLATE_LERP) {
        for (size_t k = 0; k < len; k++)
            out[k].i = interpolate_linear_int(ms[k], x[0], y.i, x[1],
                                              cur->c.v[cur->at + 1].i);
    } else {
        if (method != INTERPOLATE_PREV)
            y = constants[method][doubles];
        for (size_t k = 0; k < len; k++)
            out[k] = y;
    }
}

/* Fills in the values of cur's timestamps among ms[0..len): '*from' is the
 * first, their number is returned.  Moves on to the last of these timestamps.
 */
static size_t
cursor_values(const struct aggregation *m, struct cursor *cur,
              const int64_t *ms, size_t len, bool doubles, size_t *from)
{
    const int64_t *ts = cur->c.ts_ms;
    enum interpolation method = m->spec->aggregator->interpolation;
    union number *out = m->values;
    size_t k = 0;

    /* Rates hold until the next, and the first also before. */
    if (m->spec->rate)
        method = INTERPOLATE_PREV;
    else if (ts[cur->at] > ms[0])
        k = column_seek(ms, len, ts[cur->at]);
    *from = k;
    while (k < len) {
        size_t end;

        if (ms[k] == ts[cur->at]) {
            out[k] = cur->c.v[cur->at];
            if (doubles)
                out[k].d = cursor_double(cur, cur->at);
            k++;
        }
        if (cur->at + 1 == cur->c.len)
            break;
        for (end = k; end < len && ms[end] < ts[cur->at + 1]; end++)
            continue;
        if (end > k)
            interpolate(cur, ms + k, end - k, method, doubles, out + k);
        k = end;
        if (k < len)
            cur->at++;
    }
    return k - *from;
}

/* Has the series a point at each of these timestamps, and just at these?  Then
 * the first is point '*first'. */
static bool
cursor_matches(const struct cursor *cur, const int64_t *ms, size_t len,
               size_t *first)
{
    const int64_t *ts = cur->c.ts_ms;
    size_t i = cur->at;

    if (ts[i] < ms[0])
        i++;
    *first = i;
    if (cur->c.len - i < len || ts[i] != ms[0] ||
        ts[i + len - 1] != ms[len - 1])
        return false;
    return ts + i == ms || memcmp(ts + i, ms, len * sizeof *ms) == 0;
}

/* The values of points 'from' .. from + len - 1: where they are, or made
 * doubles in 'room'. */
static const union number *
own_values(const struct column *c, size_t from, size_t len, bool doubles,
           union number *room)
{
    const union number *v = c->v + from;

    if (!doubles || c->is_float == NULL)
        return v;
    for (size_t k = 0; k < len; k++)
        room[k].d = c->is_float[from + k] != 0 ? v[k].d : (double)v[k].i;
    return room;
}

static void
add_cursor(struct aggregation *m, struct cursor *cur, const int64_t *ms,
           size_t len, bool doubles)
{
    const union number *v;
    size_t first, from = 0, n = len;

    if (cursor_matches(cur, ms, len, &first)) {
        v = own_values(&cur->c, first, len, doubles, m->values);
        cur->at = first + len - 1;
    } else {
        n = cursor_values(m, cur, ms, len, doubles, &from);
        v = m->values + from;
    }
    accumulator_add(&m->acc, from, v, n);
}

/* Drops the series that end with the stretch that ended at 'ms'. */
static void
drop_ended(struct aggregation *m, int64_t ms)
{
    size_t n = 0;

    for (size_t i = 0; i < m->len; i++) {
        const struct column *c = &m->cursors[i].c;

        if (c->ts_ms[c->len - 1] <= ms)
            continue;
        if (n < i)
            m->cursors[n] = m->cursors[i];
        n++;
    }
    m->len = n;
}

/* -- the answer ----------------------------------------------------------- */

static bool
is_double(const struct aggregation *m, size_t k)
{
    return m->doubles != NULL ? m->doubles[k] != 0 : m->all_doubles;
}

/* How many timestamps from 'k' on are of one kind, and no more than fit. */
static size_t
stretch(const struct aggregation *m, size_t k)
{
    size_t most = m->timestamps.len - k, n = 1;

    if (most > m->acc.cap)
        most = m->acc.cap;
    if (m->doubles == NULL)
        return most;
    while (n < most && m->doubles[k + n] == m->doubles[k])
        n++;
    return n;
}

static enum status
show(const struct aggregate_spec *spec, struct dps *out, size_t from,
     size_t len, bool doubles, struct error *e)
{
    memset(out->kind + from, doubles ? DP_DOUBLE : DP_INT, len);
    for (size_t k = from; k < from + len && doubles; k++) {
        double d = out->v[k].d;

        if (isinf(d))
            return error_set(e, ST_INVALID, "Got Infinity: %sInfinity",
                             d < 0 ? "-" : "");
        if (isnan(d) && spec->null_fill)
            out->kind[k] = DP_NULL;
    }
    return ST_OK;
}

static enum status
run_stretch(struct aggregation *m, size_t from, size_t len, struct dps *out,
            struct error *e)
{
    const int64_t *ms = m->timestamps.ms + from;
    bool doubles = is_double(m, from);

    accumulator_begin(&m->acc, doubles, len);
    for (size_t i = 0; i < m->len; i++)
        add_cursor(m, &m->cursors[i], ms, len, doubles);
    accumulator_end(&m->acc, out->v + from);
    drop_ended(m, ms[len - 1]);
    return show(m->spec, out, from, len, doubles, e);
}

/* With the times, and room for as many values. */
static enum status
make_dps(const int64_t *ms, size_t len, struct arena *a, struct dps *out,
         struct error *e)
{
    out->ts_ms = column_array(a, len, sizeof *out->ts_ms);
    out->v = column_array(a, len, sizeof *out->v);
    out->kind = column_array(a, len, sizeof *out->kind);
    if (out->ts_ms == NULL || out->v == NULL || out->kind == NULL)
        return query_no_memory(e);
    memcpy(out->ts_ms, ms, len * sizeof *out->ts_ms);
    return ST_OK;
}

static enum status
make_room(struct aggregation *m, struct dps *out, struct error *e)
{
    struct arena *a = m->arena;
    size_t len = m->timestamps.len;

    if (!accumulator_init(&m->acc, m->spec->aggregator, m->len, len, a))
        return query_no_memory(e);
    m->values = column_array(a, m->acc.cap, sizeof *m->values);
    return m->values == NULL ? query_no_memory(e)
                             : make_dps(m->timestamps.ms, len, a, out, e);
}

static enum status
run_group(struct aggregation *m, struct dps *out, struct error *e)
{
    enum status st = ST_OK;

    while (st == ST_OK && out->len < m->timestamps.len) {
        size_t n = stretch(m, out->len), cursors = m->len;

        st = run_stretch(m, out->len, n, out, e);
        out->len += n;
        if (st == ST_OK)
            st = deadline_tick(m->spec->deadline, n * cursors, e);
    }
    return st;
}

/* -- a series alone ------------------------------------------------------- */

/* How many points from 'at' on, at most 'most', give timestamps of one kind:
 * one before a float is of doubles. */
static size_t
same_kind(const struct column *c, size_t at, size_t most, bool *doubles)
{
    const uint8_t *f = c->is_float == NULL ? NULL : c->is_float + at, *other;
    size_t seen = most < c->len - at ? most + 1 : most;

    *doubles = f == NULL || f[0] != 0 || (seen > 1 && f[1] != 0);
    if (f == NULL)
        return most;
    other = memchr(f, !f[0], seen);
    if (other == NULL)
        return most;
    return other - f > 1 ? (size_t)(other - f) - 1 : 1;
}

/* Points i .. i + len - 1, of one kind, each by itself. */
static void
aggregate_each(const struct aggregator *aggregator, const struct column *c,
               size_t i, size_t len, bool doubles, union number *out)
{
    uint32_t count[ALONE_MAX];
    union number a[ALONE_MAX], b[ALONE_MAX], rows[ALONE_MAX];
    struct accumulator acc = {
        .aggregator = aggregator,
        .series = 1,
        .count = count,
        .a = a,
        .b = b,
        .rows = aggregator_sorts(aggregator) ? rows : NULL,
    };
    const union number *v = own_values(c, i, len, doubles, out);

    if (aggregator->kind == KIND_NONE) {
        memmove(out, v, len * sizeof *v);
        return;
    }
    accumulator_begin(&acc, doubles, len);
    accumulator_add(&acc, 0, v, len);
    accumulator_end(&acc, out);
}

/* Its timestamps are its points. */
static enum status
run_single(const struct aggregate_spec *spec, const struct column *c,
           struct arena *a, struct dps *out, struct error *e)
{
    size_t first = column_seek(c->ts_ms, c->len, spec->window.start_ms), len;
    enum status st;

    /* The first rate is never a moment. */
    if (spec->rate && first == 0)
        first = 1;
    if (first >= c->len)
        return ST_OK;
    len =
        column_seek(c->ts_ms + first, c->len - first, spec->window.end_ms + 1);
    st = make_dps(c->ts_ms + first, len, a, out, e);
    while (st == ST_OK && out->len < len) {
        size_t at = first + out->len, n = len - out->len;
        bool doubles;

        n = same_kind(c, at, n < ALONE_MAX ? n : ALONE_MAX, &doubles);
        aggregate_each(spec->aggregator, c, at, n, doubles, out->v + out->len);
        st = show(spec, out, out->len, n, doubles, e);
        out->len += n;
        if (st == ST_OK)
            st = deadline_tick(spec->deadline, n, e);
    }
    return st;
}

enum status
aggregate_columns(const struct aggregate_spec *spec,
                  const struct column *columns, size_t len, struct arena *a,
                  struct dps *out, struct error *e)
{
    struct aggregation m = { .spec = spec, .arena = a };
    struct times *own;
    enum status st;

    if (len == 1)
        return run_single(spec, columns, a, out, e);
    own = arena_array(a, len, sizeof *own);
    if (own == NULL)
        return query_no_memory(e);
    st = make_cursors(&m, columns, len, own, e);
    if (st != ST_OK)
        return st;
    if (!times_union(own, m.len, a, &m.timestamps))
        return query_no_memory(e);
    if (m.timestamps.len == 0)
        return ST_OK;
    st = find_kinds(&m, e);
    if (st == ST_OK)
        st = make_room(&m, out, e);
    return st == ST_OK ? run_group(&m, out, e) : st;
}

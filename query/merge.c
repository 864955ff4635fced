#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/numbers_priv.h"

/*
 * A group of columns becomes one: at each moment at which any series has a
 * point, every series that has begun and not ended gives a value, its own or an
 * interpolated one, and the aggregator makes one number of them.
 *
 *     series a   o---------o----x----o          o: a point, read
 *     series b        o----x----o               x: interpolated
 *     moments    1    2    3    4    5
 *
 * A series waits (before its first point), is active (between its first and its
 * last), then it is gone.  'active' holds the numbers of those that are, in
 * order, because aggregators see values in the order of the series.  Each step
 * touches the active ones only; the waiting ones are sorted by when they begin.
 *
 * The moment is an integer when no value that it sees is a float: the current
 * and the next point of each active series, and the first of each waiting one.
 */

struct lane {
    struct column c;
    size_t next;     /* the point after the current one */
    int64_t next_ms; /* its time; INT64_MAX: there is none */
};

struct merge {
    const struct merge_spec *spec;
    struct arena *arena;
    struct lane *lanes;
    size_t lanes_len;
    uint32_t *active;
    size_t active_len;
    uint32_t *waiting; /* latest first: the next to begin is the last */
    size_t waiting_len;
    size_t floats; /* how many of the points in view are floats */
    union {
        int64_t *i;
        double *d;
    } values;
    struct dps *out;
    size_t cap;
};

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the query needs too much memory");
}

static bool
lane_is_float(const struct lane *l, size_t i)
{
    return l->c.is_float == NULL || l->c.is_float[i] != 0;
}

static double
lane_double(const struct lane *l, size_t i)
{
    return lane_is_float(l, i) ? l->c.v[i].d : (double)l->c.v[i].i;
}

static void
lane_set_next(struct lane *l, size_t next)
{
    l->next = next;
    l->next_ms = next < l->c.len ? l->c.ts_ms[next] : INT64_MAX;
}

/* -- before the first moment ---------------------------------------------- */

/* A rate needs a point before, so that a series of one rate is no series, and
 * the first is never a moment; but it stands in for all earlier times. */
static void
add_rate(struct merge *m, uint32_t i, size_t first)
{
    struct lane *l = &m->lanes[i];

    if (l->c.len < 2 || first == l->c.len)
        return;
    lane_set_next(l, first == 0 ? 1 : first);
    m->floats += 2;
    m->active[m->active_len++] = i;
}

static void
add_values(struct merge *m, uint32_t i, size_t first)
{
    struct lane *l = &m->lanes[i];

    if (first == l->c.len)
        return;
    lane_set_next(l, first);
    m->floats += lane_is_float(l, first);
    if (first == 0) {
        m->waiting[m->waiting_len++] = i;
        return;
    }
    m->floats += lane_is_float(l, first - 1);
    m->active[m->active_len++] = i;
}

struct start {
    int64_t ms;
    uint32_t lane;
};

static int
compare_starts(const void *pa, const void *pb)
{
    const struct start *a = (const struct start *)pa;
    const struct start *b = (const struct start *)pb;

    if (a->ms != b->ms)
        return a->ms > b->ms ? -1 : 1;
    return a->lane > b->lane ? -1 : 1;
}

static enum status
sort_waiting(struct merge *m, struct error *e)
{
    struct start *starts;

    starts =
        (struct start *)arena_array(m->arena, m->waiting_len, sizeof *starts);
    if (starts == NULL && m->waiting_len > 0)
        return no_memory(e);
    for (size_t i = 0; i < m->waiting_len; i++) {
        starts[i].lane = m->waiting[i];
        starts[i].ms = m->lanes[m->waiting[i]].next_ms;
    }
    if (m->waiting_len > 1)
        qsort(starts, m->waiting_len, sizeof *starts, compare_starts);
    for (size_t i = 0; i < m->waiting_len; i++)
        m->waiting[i] = starts[i].lane;
    return ST_OK;
}

static enum status
merge_init(struct merge *m, const struct column *columns, size_t len,
           struct error *e)
{
    struct arena *a = m->arena;

    m->lanes = (struct lane *)arena_array(a, len, sizeof *m->lanes);
    m->active = (uint32_t *)arena_array(a, len, sizeof *m->active);
    m->waiting = (uint32_t *)arena_array(a, len, sizeof *m->waiting);
    m->values.d = (double *)arena_array(a, len, sizeof(double));
    if (m->lanes == NULL || m->active == NULL || m->waiting == NULL ||
        m->values.d == NULL)
        return no_memory(e);
    m->lanes_len = len;
    for (size_t i = 0; i < len; i++) {
        size_t first = column_seek(columns[i].ts_ms, columns[i].len,
                                   m->spec->window.start_ms);

        m->lanes[i].c = columns[i];
        if (m->spec->rate)
            add_rate(m, (uint32_t)i, first);
        else
            add_values(m, (uint32_t)i, first);
    }
    return sort_waiting(m, e);
}

/* -- from moment to moment ------------------------------------------------ */

static int64_t
next_moment(const struct merge *m)
{
    int64_t ms = INT64_MAX;

    for (size_t k = 0; k < m->active_len; k++) {
        const struct lane *l = &m->lanes[m->active[k]];

        ms = l->next_ms < ms ? l->next_ms : ms;
    }
    if (m->waiting_len > 0) {
        const struct lane *l = &m->lanes[m->waiting[m->waiting_len - 1]];

        ms = l->next_ms < ms ? l->next_ms : ms;
    }
    return ms;
}

/* Makes active what begins at 'ms': both lists are in order, and so is what
 * comes of them, filled from its end. */
static void
begin_lanes(struct merge *m, int64_t ms)
{
    size_t from = m->active_len, to, first = m->waiting_len;

    while (first > 0 && m->lanes[m->waiting[first - 1]].next_ms == ms)
        first--;
    to = from + m->waiting_len - first;
    m->active_len = to;
    for (size_t w = first; w < m->waiting_len; w++) {
        uint32_t lane = m->waiting[w];

        while (from > 0 && m->active[from - 1] > lane)
            m->active[--to] = m->active[--from];
        m->active[--to] = lane;
    }
    m->waiting_len = first;
}

/* The point at 'ms' becomes the current one of each series that has it. */
static void
advance_lanes(struct merge *m, int64_t ms)
{
    for (size_t k = 0; k < m->active_len; k++) {
        struct lane *l = &m->lanes[m->active[k]];

        if (l->next_ms != ms)
            continue;
        if (l->next > 0)
            m->floats -= lane_is_float(l, l->next - 1);
        lane_set_next(l, l->next + 1);
        if (l->next < l->c.len)
            m->floats += lane_is_float(l, l->next);
    }
}

/* A series is gone after the moment of its last point. */
static void
end_lanes(struct merge *m)
{
    size_t n = 0;

    for (size_t k = 0; k < m->active_len; k++) {
        const struct lane *l = &m->lanes[m->active[k]];

        if (l->next_ms == INT64_MAX)
            m->floats -= lane_is_float(l, l->next - 1);
        else
            m->active[n++] = m->active[k];
    }
    m->active_len = n;
}

/* -- the values of a moment ----------------------------------------------- */

/* Products and sums wrap as Java's do. */
static int64_t
lerp_int(int64_t x, int64_t x0, int64_t y0, int64_t x1, int64_t y1)
{
    uint64_t rise = (uint64_t)y1 - (uint64_t)y0;
    int64_t area = (int64_t)((uint64_t)(x - x0) * rise);

    return (int64_t)((uint64_t)y0 + (uint64_t)(area / (x1 - x0)));
}

static int64_t
int_at(const struct lane *l, int64_t ms, enum interpolation method)
{
    size_t i = l->next - 1;

    if (l->c.ts_ms[i] == ms)
        return l->c.v[i].i;
    switch (method) {
    case INTERPOLATE_ZIM:
        return 0;
    case INTERPOLATE_MAX:
        return INT64_MAX;
    case INTERPOLATE_MIN:
        return INT64_MIN;
    case INTERPOLATE_PREV:
        return l->c.v[i].i;
    case INTERPOLATE_LERP:
        break;
    }
    return lerp_int(ms, l->c.ts_ms[i], l->c.v[i].i, l->next_ms,
                    l->c.v[i + 1].i);
}

static double
double_at(const struct lane *l, int64_t ms, enum interpolation method)
{
    size_t i = l->next - 1;
    double y0 = lane_double(l, i), y1;

    if (l->c.ts_ms[i] == ms)
        return y0;
    switch (method) {
    case INTERPOLATE_ZIM:
        return 0;
    case INTERPOLATE_MAX:
        return DBL_MAX;
    case INTERPOLATE_MIN:
        return -DBL_MAX;
    case INTERPOLATE_PREV:
        return y0;
    case INTERPOLATE_LERP:
        break;
    }
    y1 = lane_double(l, i + 1);
    return y0 + (double)(ms - l->c.ts_ms[i]) * (y1 - y0) /
                    (double)(l->next_ms - l->c.ts_ms[i]);
}

static int64_t
int_moment(struct merge *m, int64_t ms)
{
    const struct aggregator *a = m->spec->aggregator;
    enum interpolation method = aggregator_interpolation(a);

    for (size_t k = 0; k < m->active_len; k++)
        m->values.i[k] = int_at(&m->lanes[m->active[k]], ms, method);
    return aggregator_run_int(a, m->values.i, m->active_len);
}

/* Rates are not interpolated: the last one holds until the next. */
static double
double_moment(struct merge *m, int64_t ms)
{
    const struct aggregator *a = m->spec->aggregator;
    enum interpolation method = aggregator_interpolation(a);

    if (m->spec->rate)
        method = INTERPOLATE_PREV;
    for (size_t k = 0; k < m->active_len; k++)
        m->values.d[k] = double_at(&m->lanes[m->active[k]], ms, method);
    return aggregator_run_double(a, m->values.d, m->active_len);
}

/* -- the answer ----------------------------------------------------------- */

static enum status
grow(struct merge *m, struct error *e)
{
    struct dps *out = m->out;
    size_t cap = m->cap == 0 ? 64 : m->cap * 2;
    int64_t *ts = (int64_t *)arena_array(m->arena, cap, sizeof *ts);
    union number *v = (union number *)arena_array(m->arena, cap, sizeof *v);
    uint8_t *kind = (uint8_t *)arena_array(m->arena, cap, sizeof *kind);

    if (ts == NULL || v == NULL || kind == NULL)
        return no_memory(e);
    if (out->len > 0) {
        memcpy(ts, out->ts_ms, out->len * sizeof *ts);
        memcpy(v, out->v, out->len * sizeof *v);
        memcpy(kind, out->kind, out->len * sizeof *kind);
    }
    out->ts_ms = ts;
    out->v = v;
    out->kind = kind;
    m->cap = cap;
    return ST_OK;
}

static enum status
emit(struct merge *m, int64_t ms, struct error *e)
{
    struct dps *out = m->out;
    size_t n = out->len;

    if (n == m->cap && grow(m, e) != ST_OK)
        return ST_LIMIT;
    out->ts_ms[n] = ms;
    if (!m->spec->rate && m->floats == 0) {
        out->kind[n] = DP_INT;
        out->v[n].i = int_moment(m, ms);
    } else {
        out->kind[n] = DP_DOUBLE;
        out->v[n].d = double_moment(m, ms);
        if (isinf(out->v[n].d))
            return error_set(e, ST_INVALID, "Got Infinity: %sInfinity",
                             out->v[n].d < 0 ? "-" : "");
        if (isnan(out->v[n].d) && m->spec->null_fill)
            out->kind[n] = DP_NULL;
    }
    out->len++;
    return ST_OK;
}

enum status
merge_run(const struct merge_spec *spec, const struct column *columns,
          size_t len, struct arena *a, struct dps *out, struct error *e)
{
    struct merge m = { .spec = spec, .arena = a, .out = out };
    enum status st = merge_init(&m, columns, len, e);

    while (st == ST_OK) {
        int64_t ms = next_moment(&m);

        if (ms == INT64_MAX || ms > spec->window.end_ms)
            break;
        begin_lanes(&m, ms);
        advance_lanes(&m, ms);
        st = emit(&m, ms, e);
        end_lanes(&m);
    }
    return st;
}

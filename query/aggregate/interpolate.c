#include <float.h>
#include <math.h>
#include <string.h>

#include "query/aggregate/interpolate_priv.h"

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

#define SERIES_STEPS 16 /* of the deadline, for what each series costs */

static double
cursor_double(const struct series_cursor *cur, size_t i)
{
    return column_is_float(cur->c, i) ? cur->c->v[i].d : (double)cur->c->v[i].i;
}

/* -- before the first timestamp ------------------------------------------- */

/* From the current point of the first timestamp to the next one of the last. */
static void
in_view(const struct aggregation *m, const struct series_cursor *cur,
        size_t *from, size_t *to)
{
    *from = cur->at;
    *to = column_seek(cur->c, m->spec->window.end_ms + 1);
    *to = *to > *from ? *to : *from;
    if (*to < cur->c->len)
        (*to)++;
}

/* The floats of points first..last: where they come into view, +1; where they
 * leave it, -1. */
static void
mark_floats(const struct aggregation *m, const struct series_cursor *cur,
            size_t first, size_t last, int32_t *changes)
{
    const struct times *t = &m->timestamps;
    int64_t end = last + 1 < cur->c->len ? column_time(cur->c, last + 1)
                                         : column_time(cur->c, last) + 1;
    size_t from = 0, to = times_seek(t->list, t->len, end);

    if (first > 0)
        from = times_seek(t->list, t->len, column_time(cur->c, first - 1));
    changes[from]++;
    changes[to]--;
}

static enum status
mark_timestamps(struct aggregation *m, struct error *e)
{
    int32_t *changes, sum = 0;
    enum status st = ST_OK;

    changes =
        arena_array(m->spec->arena, m->timestamps.len + 1, sizeof *changes);
    m->doubles = arena_array(m->spec->arena, m->timestamps.len, 1);
    if (changes == NULL || m->doubles == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < m->len && st == ST_OK; i++) {
        const struct series_cursor *cur = &m->cursors[i];
        size_t from, to;

        in_view(m, cur, &from, &to);
        while (from < to) {
            size_t end = from;

            while (end < to && column_is_float(cur->c, end))
                end++;
            if (end > from)
                mark_floats(m, cur, from, end - 1, changes);
            from = end + 1;
        }
        st = deadline_tick(m->spec->deadline, to - cur->at + SERIES_STEPS, e);
    }
    for (size_t k = 0; k < m->timestamps.len; k++) {
        sum += changes[k];
        m->doubles[k] = sum > 0;
    }
    return st;
}

static enum status
find_kinds(struct aggregation *m, struct error *e)
{
    bool ints = false, floats = false;

    for (size_t i = 0; i < m->len; i++) {
        const uint8_t *f = m->cursors[i].c->is_float;
        size_t from, to;

        if (f == NULL) {
            ints = ints || m->cursors[i].c->all_int;
            floats = floats || !m->cursors[i].c->all_int;
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
interpolate(const struct series_cursor *cur, const int64_t *ms, size_t len,
            enum interpolation method, bool doubles, union number *out)
{
    static const union number constants[][2] = {
        [INTERPOLATE_ZIM] = { { .i = 0 }, { .d = 0 } },
        [INTERPOLATE_MAX] = { { .i = INT64_MAX }, { .d = DBL_MAX } },
        [INTERPOLATE_MIN] = { { .i = INT64_MIN }, { .d = -DBL_MAX } },
    };
    int64_t x0 = column_time(cur->c, cur->at);
    int64_t x1 = column_time(cur->c, cur->at + 1);
    union number y = cur->c->v[cur->at];

    if (doubles)
        y.d = cursor_double(cur, cur->at);
    if (method == INTERPOLATE_LINEAR && doubles) {
        double run = (double)(x1 - x0);
        double rise = cursor_double(cur, cur->at + 1) - y.d;

        for (size_t k = 0; k < len; k++)
            out[k].d = y.d + (double)(ms[k] - x0) * rise / run;
    } else if (method == INTERPOLATE_LINEAR) {
        for (size_t k = 0; k < len; k++)
            out[k].i = interpolate_linear_int(ms[k], x0, y.i, x1,
                                              cur->c->v[cur->at + 1].i);
    } else {
        if (method != INTERPOLATE_PREV)
            y = constants[method][doubles];
        for (size_t k = 0; k < len; k++)
            out[k] = y;
    }
}

/* Fills in the values of cur's timestamps of the stretch: '*from' is the first,
 * their number is returned.  Moves on to the last of these timestamps. */
static size_t
cursor_values(const struct aggregation *m, struct series_cursor *cur,
              size_t *from)
{
    const struct column *c = cur->c;
    const int64_t *ms = m->ms;
    size_t len = m->acc.len;
    bool doubles = m->acc.doubles;
    enum interpolation method = m->spec->aggregator->interpolation;
    union number *out = m->values;
    size_t k = 0;

    /* Rates hold until the next, and the first also before. */
    if (m->spec->rate != NULL)
        method = INTERPOLATE_PREV;
    else if (column_time(c, cur->at) > ms[0])
        k = times_seek(ms, len, column_time(c, cur->at));
    *from = k;
    while (k < len) {
        size_t end;
        int64_t next_ms;

        if (ms[k] == column_time(c, cur->at)) {
            out[k] = c->v[cur->at];
            if (doubles)
                out[k].d = cursor_double(cur, cur->at);
            k++;
        }
        if (cur->at + 1 == c->len)
            break;
        next_ms = column_time(c, cur->at + 1);
        for (end = k; end < len && ms[end] < next_ms; end++)
            continue;
        if (end > k)
            interpolate(cur, ms + k, end - k, method, doubles, out + k);
        k = end;
        if (k < len)
            cur->at++;
    }
    return k - *from;
}

/* Has the series a point at each timestamp of the stretch, and just at these?
 * Then the first is point '*first'. */
static bool
cursor_matches(const struct aggregation *m, const struct series_cursor *cur,
               size_t *first)
{
    const struct column *c = cur->c;
    const int64_t *ms = m->ms;
    size_t i = cur->at, k = 1, len = m->acc.len;

    if (column_time(c, i) < ms[0])
        i++;
    *first = i;
    if (c->len - i < len || column_time(c, i) != ms[0] ||
        column_time(c, i + len - 1) != ms[len - 1])
        return false;
    if (c->ts_ms != NULL)
        return c->ts_ms + i == ms ||
               memcmp(c->ts_ms + i, ms, len * sizeof *ms) == 0;
    while (m->step_ms == 0 && k < len && ms[k] == column_time(c, i + k))
        k++;
    return m->step_ms != 0 || k == len;
}

/* Returns the values of points 'from' .. from + len - 1: where they are, or
 * made doubles in 'room'. */
static const union number *
aggregation_own_values(const struct column *c, size_t from, size_t len,
                       bool doubles, union number *room)
{
    const union number *v = c->v + from;

    if (!doubles || (c->is_float == NULL && !c->all_int))
        return v;
    for (size_t k = 0; k < len; k++)
        room[k].d = column_is_float(c, from + k) ? v[k].d : (double)v[k].i;
    return room;
}

enum status
aggregation_values(const struct aggregate_spec *spec, const struct column *c,
                   size_t len, struct points *scratch, const union number **out,
                   struct error *e)
{
    struct column part;
    union number *v;
    enum status st;

    *out = c->v;
    if (!column_is_packed(c))
        return ST_OK;
    part = column_part(c, 0, len);
    st = column_values(&part, scratch, &v, e);
    if (st == ST_OK && c->rates != RATES_NONE)
        rate_even(&part, spec->rate, v);
    if (st == ST_OK)
        *out = v;
    return st;
}

void
aggregation_add(struct aggregation *m, struct series_cursor *cur)
{
    const union number *v;
    size_t first, from = 0, n = m->acc.len;

    if (cursor_matches(m, cur, &first)) {
        v = aggregation_own_values(cur->c, first, n, m->acc.doubles, m->values);
        cur->at = first + n - 1;
    } else {
        n = cursor_values(m, cur, &from);
        v = m->values + from;
    }
    accumulator_add(&m->acc, from, v, n);
}

/* A packed one is unpacked for as long as it is added. */
enum status
aggregation_unpack_and_add(struct aggregation *m, struct series_cursor *cur,
                           struct error *e)
{
    const union number *packed = cur->c->v;
    enum status st = aggregation_values(m->spec, cur->c, cur->wanted,
                                        m->scratch, &cur->c->v, e);

    if (st == ST_OK)
        aggregation_add(m, cur);
    cur->c->v = packed;
    return st;
}

/* Leaves the points of packed columns behind that are before the stretch, but
 * for the one that a rate needs. */
static void
begin_stretch(struct aggregation *m)
{
    int64_t last_ms = m->ms[m->acc.len - 1];

    for (size_t i = 0; i < m->len; i++) {
        struct series_cursor *cur = &m->cursors[i];
        size_t from = cur->at;

        if (!column_is_packed(cur->c))
            continue;
        if (cur->c->rates != RATES_NONE && from > 0)
            from--;
        if (from > 0)
            *cur->c = column_part(cur->c, from, cur->c->len - from);
        cur->at -= from;
        cur->wanted = column_seek(cur->c, last_ms + 1);
        cur->wanted += cur->wanted < cur->c->len;
    }
}

/* -- the answer ----------------------------------------------------------- */

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

/* Says of 'len' results, which are there, of what kind they are. */
static enum status
aggregation_show(const struct aggregate_spec *spec, struct dps *out,
                 size_t from, size_t len, bool doubles, struct error *e)
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

/* Makes points with these times, and room for as many values. */
static enum status
aggregation_dps(struct times t, struct arena *a, struct dps *out,
                struct error *e)
{
    out->ts_ms = arena_array_raw(a, t.len, sizeof *out->ts_ms);
    out->v = arena_array_raw(a, t.len, sizeof *out->v);
    out->kind = arena_array_raw(a, t.len, sizeof *out->kind);
    if (out->ts_ms == NULL || out->v == NULL || out->kind == NULL)
        return error_no_memory(e);
    if (t.list != NULL)
        memcpy(out->ts_ms, t.list, t.len * sizeof *t.list);
    for (size_t i = 0; i < t.len && t.list == NULL; i++)
        out->ts_ms[i] = t.first_ms + (int64_t)i * t.step_ms;
    return ST_OK;
}

static enum status
make_timestamps(struct aggregation *m, struct times *own, struct dps *out,
                struct error *e)
{
    struct times *t = &m->timestamps;
    enum status st =
        times_union(own, m->len, m->spec->deadline, m->spec->arena, t, e);

    if (st == ST_OK && t->len > 0)
        st = aggregation_dps(*t, m->spec->arena, out, e);
    if (t->list == NULL)
        m->step_ms = t->step_ms;
    t->list = out->ts_ms;
    return st;
}

static enum status
make_room(struct aggregation *m, struct error *e)
{
    struct arena *a = m->spec->arena;
    size_t len = m->timestamps.len;

    if (!accumulator_init(&m->acc, m->spec->aggregator, m->len, len, a))
        return error_no_memory(e);
    m->values = arena_array_raw(a, m->acc.cap, sizeof *m->values);
    return m->values == NULL ? error_no_memory(e) : ST_OK;
}

static enum status
run_group(struct aggregation *m, struct dps *out, struct error *e)
{
    enum status st = ST_OK;

    while (st == ST_OK && out->len < m->timestamps.len) {
        size_t n = stretch(m, out->len);
        bool doubles =
            m->doubles != NULL ? m->doubles[out->len] != 0 : m->all_doubles;
        size_t kept = 0;

        m->ms = m->timestamps.list + out->len;
        accumulator_begin(&m->acc, doubles, n);
        begin_stretch(m);
        if (!aggregation_add_threads(m, &st, e))
            for (size_t i = 0; i < m->len && st == ST_OK; i++) {
                aggregation_fetch_ahead(m, i);
                st = aggregation_unpack_and_add(m, &m->cursors[i], e);
                if (st == ST_OK)
                    st = deadline_tick(m->spec->deadline, n, e);
            }
        if (st != ST_OK)
            return st;
        accumulator_end(&m->acc, out->v + out->len);
        /* Drops the series that end with this stretch. */
        for (size_t k = 0; k < m->len; k++) {
            const struct column *c = m->cursors[k].c;

            if (column_time(c, c->len - 1) <= m->ms[n - 1])
                continue;
            if (kept < k)
                m->cursors[kept] = m->cursors[k];
            kept++;
        }
        m->len = kept;
        st = aggregation_show(m->spec, out, out->len, n, doubles, e);
        out->len += n;
        if (st == ST_OK)
            st = deadline_tick(m->spec->deadline, n, e);
    }
    return st;
}

/* -- a series alone: nothing to interpolate, nothing to add up --------------
 */

#define ALONE_MAX 128 /* points that are done together */

/* How many points from 'at' on, at most 'most', give timestamps of one kind:
 * one before a float is of doubles. */
static size_t
same_kind(const struct column *c, size_t at, size_t most, bool *doubles)
{
    const uint8_t *f = c->is_float == NULL ? NULL : c->is_float + at, *other;
    size_t seen = most < c->len - at ? most + 1 : most;

    *doubles = f == NULL ? !c->all_int : f[0] != 0 || (seen > 1 && f[1] != 0);
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
    const union number *v = aggregation_own_values(c, i, len, doubles, out);

    if (aggregator->kind == KIND_NONE) {
        memmove(out, v, len * sizeof *v);
        return;
    }
    accumulator_begin(&acc, doubles, len);
    accumulator_add(&acc, 0, v, len);
    accumulator_end(&acc, out);
}

/* The timestamps of a series alone are its points. */
static enum status
aggregate_single(const struct aggregate_spec *spec, const struct column *column,
                 struct points *scratch, struct dps *out, struct error *e)
{
    struct column unpacked = *column, *c = &unpacked;
    size_t first = column_seek(c, spec->window.start_ms), len;
    struct times t;
    enum status st;

    /* The first rate is never a timestamp. */
    if (spec->rate != NULL && first == 0)
        first = 1;
    if (first >= c->len)
        return ST_OK;
    len = column_seek(c, spec->window.end_ms + 1);
    len = len > first ? len - first : 0;
    t = (struct times){ c->ts_ms == NULL ? NULL : c->ts_ms + first,
                        column_time(c, first), c->step_ms, len };
    st = aggregation_dps(t, spec->arena, out, e);
    if (st == ST_OK && len > 0)
        st = aggregation_values(spec, column, c->len, scratch, &c->v, e);
    while (st == ST_OK && out->len < len) {
        size_t at = first + out->len, n = len - out->len;
        bool doubles;

        n = same_kind(c, at, n < ALONE_MAX ? n : ALONE_MAX, &doubles);
        aggregate_each(spec->aggregator, c, at, n, doubles, out->v + out->len);
        st = aggregation_show(spec, out, out->len, n, doubles, e);
        out->len += n;
        if (st == ST_OK)
            st = deadline_tick(spec->deadline, n, e);
    }
    return st;
}

enum status
aggregate_columns(const struct aggregate_spec *spec, struct column *columns,
                  size_t len, struct points *scratch, struct dps *out,
                  struct error *e)
{
    struct aggregation m = { .spec = spec, .scratch = scratch };
    struct arena *a = spec->arena;
    struct times *own;
    enum status st;
    const struct window *w;

    if (len == 1)
        return aggregate_single(spec, columns, scratch, out, e);
    own = arena_array_raw(a, len, sizeof *own);
    if (own == NULL)
        return error_no_memory(e);
    /* Keeps the series that are still there at the start of the range.  One
     * rate is none: it needs a point before. */
    w = &spec->window;
    m.cursors = arena_array_raw(a, len, sizeof *m.cursors);
    if (m.cursors == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < len; i++) {
        struct column *c = &columns[i];
        size_t first = column_seek(c, w->start_ms), last;

        st = deadline_tick(spec->deadline, SERIES_STEPS, e);
        if (st != ST_OK)
            return st;
        if (first == c->len || (spec->rate != NULL && c->len < 2))
            continue;
        m.cursors[m.len] =
            (struct series_cursor){ .c = c, .at = first > 0 ? first - 1 : 0 };
        /* The first rate is never a timestamp. */
        if (spec->rate != NULL && first == 0)
            first = 1;
        last = column_seek(c, w->end_ms + 1);
        own[m.len++] = (struct times){
            .list = c->ts_ms == NULL ? NULL : c->ts_ms + first,
            .first_ms = column_time(c, first),
            .step_ms = c->step_ms,
            .len = last > first ? last - first : 0,
        };
    }
    st = make_timestamps(&m, own, out, e);
    if (st != ST_OK || m.timestamps.len == 0)
        return st;
    st = find_kinds(&m, e);
    if (st == ST_OK)
        st = make_room(&m, e);
    return st == ST_OK ? run_group(&m, out, e) : st;
}

/* highestCurrent and highestMax: the n series with the greatest last, or
 * greatest, value.  OpenTSDB asks its aggregation for the values of all series
 * at each moment and keeps them by their place in that list; where a series has
 * no value the following ones move up.  Its choices depend on it, so the same
 * is done here, moment by moment. */
#include "config.h"

#include "query/exp/gexp_priv.h"
#include "query/aggregate/aggregate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define NEVER             INT64_MAX
#define STEPS_OF_A_CURSOR 8

/* A point that a series is at. */
struct place {
    int64_t ts_ms; /* 0: before the first, or past the last; NEVER: no next */
    union number v;
    bool is_float;
};

/* A series between the point it is at and its next one. */
struct series_cursor {
    const struct dps *dps;
    size_t after; /* the index of the point after the next */
    struct place now, next;
};

struct cursors {
    struct series_cursor *cursors;
    size_t len;
    size_t current; /* the first of those that moved last */
    int64_t end_ms;
};

struct best {
    int64_t *ints;
    double *doubles;
    bool has_ints, has_doubles;
    double *scratch; /* the doubles of one moment */
    int64_t *scratch_ints;
};

/* -- timestamps ---------------------------------------------------------------
 */

static struct place
place_at(const struct dps *d, size_t i)
{
    struct place p = { .ts_ms = NEVER };

    if (i >= d->len)
        return p;
    p.ts_ms = d->ts_ms[i];
    p.is_float = !gexp_is_int(d, i);
    p.v = d->v[i];
    if (p.is_float)
        p.v.d = gexp_double(d, i);
    return p;
}

static void
cursor_step(struct series_cursor *l)
{
    l->now = l->next;
    l->next = place_at(l->dps, l->after++);
}

static bool
cursors_open(struct cursors *ls, const struct gexp_call *c,
             const struct gexp_list *list)
{
    *ls = (struct cursors){ .len = list->len, .end_ms = c->q->end_ms };
    ls->cursors = arena_array(c->arena, list->len, sizeof *ls->cursors);
    if (ls->cursors == NULL)
        return false;
    for (size_t i = 0; i < list->len; i++) {
        struct series_cursor *l = &ls->cursors[i];
        size_t first = 0;

        l->dps = &list->series[i].dps;
        while (first < l->dps->len && l->dps->ts_ms[first] < c->q->start_ms)
            first++;
        l->next = place_at(l->dps, first);
        l->after = first + 1;
    }
    return true;
}

/* Those before the one that moved last keep what they were at, even when they
 * have ended. */
static bool
cursors_step(struct cursors *ls)
{
    int64_t first = NEVER;

    for (size_t i = 0; i < ls->len; i++)
        if (ls->cursors[i].next.ts_ms < first)
            first = ls->cursors[i].next.ts_ms;
    if (first == NEVER || first > ls->end_ms)
        return false;
    for (size_t i = ls->current; i < ls->len; i++)
        if (ls->cursors[i].next.ts_ms == NEVER)
            ls->cursors[i].now = (struct place){ 0 };
    ls->current = ls->len;
    for (size_t i = 0; i < ls->len; i++)
        if (ls->cursors[i].next.ts_ms == first) {
            if (ls->current == ls->len)
                ls->current = i;
            cursor_step(&ls->cursors[i]);
        }
    return true;
}

static bool
cursors_are_ints(const struct cursors *ls)
{
    for (size_t i = 0; i < ls->len; i++)
        if (ls->cursors[i].now.is_float || ls->cursors[i].next.is_float)
            return false;
    return true;
}

static double
place_double(const struct place *p)
{
    return p->is_float ? p->v.d : (double)p->v.i;
}

static double
interpolate_linear_double(const struct series_cursor *l, int64_t x)
{
    double y0 = place_double(&l->now), y1 = place_double(&l->next);

    return y0 + (double)(x - l->now.ts_ms) * (y1 - y0) /
                    (double)(l->next.ts_ms - l->now.ts_ms);
}

/* Of a series that has ended the next point is at the end of all times. */
static bool
is_between(const struct series_cursor *l, int64_t x)
{
    return l->now.ts_ms != x;
}

static void
read_ints(const struct cursors *ls, int64_t *out)
{
    int64_t x = ls->cursors[ls->current].now.ts_ms;
    size_t n = 0;

    memset(out, 0, ls->len * sizeof *out);
    for (size_t i = 0; i < ls->len; i++) {
        const struct series_cursor *l = &ls->cursors[i];

        if (l->now.ts_ms != 0)
            out[n++] = is_between(l, x)
                           ? interpolate_linear_int(x, l->now.ts_ms, l->now.v.i,
                                                    l->next.ts_ms, l->next.v.i)
                           : l->now.v.i;
    }
}

static void
read_doubles(const struct cursors *ls, double *out)
{
    int64_t x = ls->cursors[ls->current].now.ts_ms;
    size_t n = 0;

    memset(out, 0, ls->len * sizeof *out);
    for (size_t i = 0; i < ls->len; i++) {
        const struct series_cursor *l = &ls->cursors[i];

        if (l->now.ts_ms != 0)
            out[n++] = is_between(l, x) ? interpolate_linear_double(l, x)
                                        : place_double(&l->now);
    }
}

/* -- values ---------------------------------------------------------------- */

/* Math.max(): NaN wins, and 0.0 over -0.0. */
static double
max_double(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

static void
keep(struct best *b, const struct cursors *ls, bool keep_max)
{
    bool ints = cursors_are_ints(ls);

    if (ints) {
        read_ints(ls, b->scratch_ints);
        b->has_ints = true;
    } else {
        read_doubles(ls, b->scratch);
        b->has_doubles = true;
    }
    for (size_t i = 0; i < ls->len; i++) {
        if (ints && (!keep_max || b->scratch_ints[i] > b->ints[i]))
            b->ints[i] = b->scratch_ints[i];
        if (!ints)
            b->doubles[i] = keep_max ? max_double(b->doubles[i], b->scratch[i])
                                     : b->scratch[i];
    }
}

/* Doubles begin at Java's Double.MIN_VALUE, which is above 0. */
static bool
best_open(struct best *b, struct arena *a, size_t len)
{
    *b = (struct best){ 0 };
    b->ints = arena_array(a, len, sizeof *b->ints);
    b->doubles = arena_array(a, len, sizeof *b->doubles);
    b->scratch = arena_array(a, len, sizeof *b->scratch);
    b->scratch_ints = arena_array(a, len, sizeof *b->scratch_ints);
    if (b->ints == NULL || b->doubles == NULL || b->scratch == NULL ||
        b->scratch_ints == NULL)
        return false;
    for (size_t i = 0; i < len; i++) {
        b->ints[i] = INT64_MIN;
        b->doubles[i] = DBL_TRUE_MIN;
    }
    return true;
}

static double
best_value(const struct best *b, size_t i)
{
    if (!b->has_doubles)
        return (double)b->ints[i];
    if (!b->has_ints)
        return b->doubles[i];
    return max_double((double)b->ints[i], b->doubles[i]);
}

/* -- choice ---------------------------------------------------------------- */

struct rank {
    double value;
    size_t at;
};

/* Double.compare(), the other way round: NaN first, 0.0 before -0.0; equals
 * stay in order. */
static int
compare_ranks(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? -1 : 1;
    if (x->value != y->value && !isnan(x->value))
        return x->value > y->value ? -1 : 1;
    if (!isnan(x->value) && signbit(x->value) != signbit(y->value))
        return signbit(x->value) ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

static enum status
parse_count(const struct gexp_call *c, size_t *out, struct error *e)
{
    int64_t n;
    enum status st;

    if (c->params_len == 0)
        return error_set(e, ST_INVALID,
                         "Need aggregation window for moving average");
    st = gexp_parse_count(c->params[0], "Unparseable top n value: ", &n, e);
    if (st != ST_OK)
        return st;
    if (n < 1)
        return error_set(e, ST_INVALID,
                         "Top n value must be greater than zero: 0");
    *out = (size_t)n;
    return ST_OK;
}

/* highestCurrent does not count series without points. */
static void
drop_empty(struct gexp_list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->len; i++)
        if (l->series[i].dps.len > 0)
            l->series[n++] = l->series[i];
    l->len = n;
}

static enum status
choose(const struct gexp_call *c, const struct best *b, size_t n,
       struct gexp_list *l, struct error *e)
{
    struct gexp_list chosen = { .len = n < l->len ? n : l->len };
    struct rank *ranks = arena_array(c->arena, l->len, sizeof *ranks);

    chosen.series = arena_array(c->arena, chosen.len, sizeof *chosen.series);
    if (ranks == NULL || chosen.series == NULL)
        return gexp_no_memory(e);
    for (size_t i = 0; i < l->len; i++)
        ranks[i] = (struct rank){ best_value(b, i), i };
    qsort(ranks, l->len, sizeof *ranks, compare_ranks);
    for (size_t i = 0; i < chosen.len; i++)
        chosen.series[i] = l->series[ranks[i].at];
    *l = chosen;
    return ST_OK;
}

enum status
gexp_highest(const struct gexp_call *c, int variant, struct gexp_list *out,
             struct error *e)
{
    struct cursors cursors;
    struct best best;
    size_t n = 0;
    enum status st = parse_count(c, &n, e);

    if (st == ST_OK)
        st = gexp_flatten(c, out, e);
    if (st != ST_OK)
        return st;
    if (variant == 0)
        drop_empty(out);
    if (out->len == 0)
        return ST_OK;
    if (!cursors_open(&cursors, c, out) ||
        !best_open(&best, c->arena, out->len))
        return gexp_no_memory(e);
    while (st == ST_OK && cursors_step(&cursors)) {
        keep(&best, &cursors, variant == 1);
        st = deadline_tick(c->deadline, out->len * STEPS_OF_A_CURSOR, e);
    }
    if (st != ST_OK)
        return st;
    if (!best.has_ints && !best.has_doubles)
        return error_set(e, ST_INVALID,
                         "No series has a point in the range to be compared");
    return choose(c, &best, n, out, e);
}

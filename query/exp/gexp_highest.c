/* highestCurrent and highestMax: the n series with the greatest last, or
 * greatest, value.  OpenTSDB asks its aggregation for the values of all series
 * at each timestamp and keeps them by their place in that list; where a series
 * has no value the following ones move up.  Its choices depend on it, so the
 * same is done here, timestamp by timestamp. */
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
    int64_t i;     /* of an integer */
    double d;      /* of any */
    bool is_float;
};

/* A series between the point it is at and its next one, and what is kept of its
 * place in the list of values: of times with integers only, and of others. */
struct series_cursor {
    const struct dps *dps;
    size_t after; /* the index of the point after the next */
    struct place now, next;
    int64_t kept_int;
    double kept_double;
};

struct cursors {
    struct series_cursor *cursors;
    size_t len;
    size_t current; /* the first of those that moved last */
    bool has_ints, has_doubles;
};

static void
cursor_step(struct series_cursor *l)
{
    const struct dps *d = l->dps;
    size_t i = l->after++;

    l->now = l->next;
    l->next = (struct place){ .ts_ms = NEVER };
    if (i < d->len)
        l->next = (struct place){ d->ts_ms[i], d->v[i].i, exp_double(d, i),
                                  d->kind[i] != DP_INT };
}

/* Doubles begin at Java's Double.MIN_VALUE, which is above 0. */
static bool
cursors_open(struct cursors *ls, const struct gexp_call *c,
             const struct exp_list *list)
{
    *ls = (struct cursors){ .len = list->len };
    ls->cursors = arena_array(c->arena, list->len, sizeof *ls->cursors);
    for (size_t i = 0; i < list->len && ls->cursors != NULL; i++) {
        struct series_cursor *l = &ls->cursors[i];

        l->dps = &list->series[i].dps;
        while (l->after < l->dps->len &&
               l->dps->ts_ms[l->after] < c->q->start_ms)
            l->after++;
        cursor_step(l);
        l->kept_int = INT64_MIN;
        l->kept_double = DBL_TRUE_MIN;
    }
    return ls->cursors != NULL;
}

/* Those before the one that moved last keep what they were at, even when they
 * have ended. */
static bool
cursors_step(struct cursors *ls, int64_t end_ms)
{
    int64_t first = NEVER;

    for (size_t i = 0; i < ls->len; i++)
        if (ls->cursors[i].next.ts_ms < first)
            first = ls->cursors[i].next.ts_ms;
    if (first == NEVER || first > end_ms)
        return false;
    for (size_t i = ls->current; i < ls->len; i++)
        if (ls->cursors[i].next.ts_ms == NEVER)
            ls->cursors[i].now = (struct place){ 0 };
    ls->current = ls->len;
    for (size_t i = ls->len; i-- > 0;)
        if (ls->cursors[i].next.ts_ms == first) {
            ls->current = i;
            cursor_step(&ls->cursors[i]);
        }
    return true;
}

/* Math.max(): NaN wins, and 0.0 over -0.0. */
static double
max_double(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

/* Keeps the values of a timestamp; behind those of the series that have one the
 * list is filled with 0. */
static void
keep_values(struct cursors *ls, bool keep_max)
{
    int64_t x = ls->cursors[ls->current].now.ts_ms;
    bool ints = true;
    size_t from = 0;

    for (size_t i = 0; i < ls->len; i++)
        ints &= !ls->cursors[i].now.is_float && !ls->cursors[i].next.is_float;
    for (size_t i = 0; i < ls->len; i++) {
        struct series_cursor *to = &ls->cursors[i];
        const struct series_cursor *l;
        int64_t n = 0;
        double d = 0;

        while (from < ls->len && ls->cursors[from].now.ts_ms == 0)
            from++;
        l = from < ls->len ? &ls->cursors[from++] : NULL;
        /* If a series has ended, its next point is at the end of all times. */
        if (l != NULL && ints)
            n = l->now.ts_ms == x
                    ? l->now.i
                    : interpolate_linear_int(x, l->now.ts_ms, l->now.i,
                                             l->next.ts_ms, l->next.i);
        else if (l != NULL)
            d = l->now.ts_ms == x
                    ? l->now.d
                    : l->now.d + (double)(x - l->now.ts_ms) *
                                     (l->next.d - l->now.d) /
                                     (double)(l->next.ts_ms - l->now.ts_ms);
        if (ints && (!keep_max || n > to->kept_int))
            to->kept_int = n;
        if (!ints)
            to->kept_double = keep_max ? max_double(to->kept_double, d) : d;
    }
    ls->has_ints |= ints;
    ls->has_doubles |= !ints;
}

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
choose(const struct gexp_call *c, const struct cursors *ls, size_t n,
       struct exp_list *l, struct error *e)
{
    struct exp_list chosen = { .len = n < l->len ? n : l->len };
    struct rank *ranks = arena_array(c->arena, l->len, sizeof *ranks);

    chosen.series = arena_array(c->arena, chosen.len, sizeof *chosen.series);
    if (ranks == NULL || chosen.series == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < l->len; i++) {
        const struct series_cursor *cur = &ls->cursors[i];
        double whole = (double)cur->kept_int, d = cur->kept_double;

        ranks[i] = (struct rank){ !ls->has_doubles ? whole
                                  : ls->has_ints   ? max_double(whole, d)
                                                   : d,
                                  i };
    }
    qsort(ranks, l->len, sizeof *ranks, compare_ranks);
    for (size_t i = 0; i < chosen.len; i++)
        chosen.series[i] = l->series[ranks[i].at];
    *l = chosen;
    return ST_OK;
}

enum status
gexp_highest(const struct gexp_call *c, struct exp_list *out, struct error *e)
{
    bool is_max = c->function->variant == 1;
    struct cursors cursors;
    int64_t n;
    enum status st =
        gexp_parse_count(c->params[0], "Unparseable top n value: ", &n, e);

    if (st == ST_OK && n < 1)
        st = error_set(e, ST_INVALID,
                       "Top n value must be greater than zero: 0");
    if (st != ST_OK)
        return st;
    if (!is_max) {
        size_t k = 0;

        /* highestCurrent does not count series without points. */
        for (size_t i = 0; i < out->len; i++)
            if (out->series[i].dps.len > 0)
                out->series[k++] = out->series[i];
        out->len = k;
    }
    if (out->len == 0)
        return ST_OK;
    if (!cursors_open(&cursors, c, out))
        return error_no_memory(e);
    while (st == ST_OK && cursors_step(&cursors, c->q->end_ms)) {
        keep_values(&cursors, is_max);
        st = deadline_tick(c->deadline, out->len * STEPS_OF_A_CURSOR, e);
    }
    if (st == ST_OK && !cursors.has_ints && !cursors.has_doubles)
        st = error_set(e, ST_INVALID,
                       "No series has a point in the range to be compared");
    return st == ST_OK ? choose(c, &cursors, (size_t)n, out, e) : st;
}

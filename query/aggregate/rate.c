#include "query/aggregate/aggregate_priv.h"

#include <string.h>

/* Rates, as OpenTSDB takes them: integers subtract as integers (and wrap), a
 * counter that falls either wrapped at its maximum or was reset. */

struct value {
    int64_t ts_ms;
    union number v;
    bool is_int;
};

static double
value_double(struct value x)
{
    return x.is_int ? (double)x.v.i : x.v.d;
}

static double
change(struct value from, struct value to)
{
    if (from.is_int && to.is_int)
        return (double)(int64_t)((uint64_t)to.v.i - (uint64_t)from.v.i);
    return value_double(to) - value_double(from);
}

/* The change of a counter that went up to 'max' and began again at 0. */
static double
change_wrapped(struct value from, struct value to, int64_t max)
{
    if (from.is_int && to.is_int)
        return (double)(int64_t)((uint64_t)max - (uint64_t)from.v.i +
                                 (uint64_t)to.v.i);
    return (double)max - value_double(from) + value_double(to);
}

/* False: the point is dropped. */
static bool
rate_between(struct value from, struct value to, const struct rate_options *o,
             double *out)
{
    double seconds = (double)(to.ts_ms - from.ts_ms) / 1000.0;
    double d = change(from, to);

    if (!o->counter || !(d < 0)) {
        *out = d / seconds;
        return true;
    }
    if (o->drop_resets)
        return false;
    *out = change_wrapped(from, to, o->counter_max) / seconds;
    if (o->reset_value > 0 && *out > (double)o->reset_value)
        *out = 0;
    return true;
}

enum status
rate_run(const struct column *in, const struct rate_options *o, struct arena *a,
         struct column *out, struct error *e)
{
    struct value last = { .ts_ms = 0, .v.i = 0, .is_int = true };
    int64_t *ts = arena_array_raw(a, in->len, sizeof *ts);
    union number *v = arena_array_raw(a, in->len, sizeof *v);
    size_t n = 0;

    if (in->len > 0 && (ts == NULL || v == NULL))
        return error_no_memory(e);
    for (size_t i = 0; i < in->len; i++) {
        struct value now = { in->ts_ms[i], in->v[i],
                             in->is_float != NULL && in->is_float[i] == 0 };

        if (now.ts_ms <= last.ts_ms)
            return error_set(e, ST_INVALID,
                             "Next timestamp (%lld) is supposed to be strictly"
                             " greater than the previous one (%lld), but it's"
                             " not.",
                             (long long)now.ts_ms, (long long)last.ts_ms);
        if (rate_between(last, now, o, &v[n].d))
            ts[n++] = now.ts_ms;
        last = now;
    }
    *out = (struct column){ .ts_ms = ts, .v = v, .len = n };
    return ST_OK;
}

/* Two at a time, which takes half as long. */
static void
divide(union number *v, size_t len, double by)
{
    typedef double doubles __attribute__((vector_size(16)));
    size_t i = 0;

    for (; i + 2 <= len; i += 2) {
        doubles x;

        memcpy(&x, v + i, sizeof x);
        x /= by;
        memcpy(v + i, &x, sizeof x);
    }
    for (; i < len; i++)
        v[i].d /= by;
}

/* From the last on: each needs the value before it. */
void
rate_even(const struct column *c, const struct rate_options *o, union number *v)
{
    bool is_int = c->rates == RATES_OF_INTS;
    struct value zero = { .ts_ms = 0, .v.i = 0, .is_int = true };
    struct value first = { c->first_ms, v[0], is_int };

    if (o->counter)
        for (size_t i = c->len - 1; i > 0; i--)
            (void)rate_between((struct value){ 0, v[i - 1], is_int },
                               (struct value){ c->step_ms, v[i], is_int }, o,
                               &v[i].d);
    else if (is_int)
        for (size_t i = c->len - 1; i > 0; i--)
            v[i].d = (double)(int64_t)((uint64_t)v[i].i - (uint64_t)v[i - 1].i);
    else
        for (size_t i = c->len - 1; i > 0; i--)
            v[i].d -= v[i - 1].d;
    if (!o->counter)
        divide(v + 1, c->len - 1, (double)c->step_ms / 1000.0);
    (void)rate_between(zero, first, o, &v[0].d);
}

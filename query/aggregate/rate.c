#include "query/aggregate/aggregate_priv.h"

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
rate_run(const struct column *in, const struct rate_options *o,
         struct points *scratch, struct arena *a, struct column *out,
         struct error *e)
{
    struct value last = { .ts_ms = 0, .v.i = 0, .is_int = true };
    struct column c = *in;
    bool even = c.ts_ms == NULL && !(o->counter && o->drop_resets);
    int64_t *ts = even ? NULL : column_array(a, c.len, sizeof *ts);
    union number *v = column_array(a, c.len, sizeof *v);
    size_t n = 0;
    enum status st;

    if (c.len > 0 && ((!even && ts == NULL) || v == NULL))
        return query_no_memory(e);
    st = column_values(in, scratch, &c.v, e);
    for (size_t i = 0; i < c.len && st == ST_OK; i++) {
        struct value now = { column_time(&c, i), c.v[i],
                             !column_is_float(&c, i) };

        if (now.ts_ms <= last.ts_ms)
            return error_set(e, ST_INVALID,
                             "Next timestamp (%lld) is supposed to be strictly"
                             " greater than the previous one (%lld), but it's"
                             " not.",
                             (long long)now.ts_ms, (long long)last.ts_ms);
        if (rate_between(last, now, o, &v[n].d)) {
            if (!even)
                ts[n] = now.ts_ms;
            n++;
        }
        last = now;
    }
    *out = (struct column){
        .ts_ms = ts,
        .v = v,
        .len = n,
        .first_ms = c.first_ms,
        .step_ms = c.step_ms,
    };
    return st;
}

/* Functions that take each series by itself. */
#include "query/exp/gexp_priv.h"

#include <math.h>

#include "base/text/java.h"
#include "base/text/number.h"

/* What a moving average may cost: additions, since each window is summed by
 * itself, newest first, because the last digit depends on it. */
#define ADDITIONS_MAX (UINT64_C(1) << 31)

/* -- absolute, scale, alias ------------------------------------------------ */

enum status
gexp_absolute(const struct gexp_call *c, struct exp_list *out, struct error *e)
{
    enum status st = gexp_own_points(c, out, e);

    for (size_t i = 0; i < out->len && st == ST_OK; i++) {
        struct dps *d = &out->series[i].dps;

        for (size_t k = 0; k < d->len; k++)
            if (d->kind[k] != DP_INT)
                gexp_put_double(d, k, d->ts_ms[k], fabs(exp_double(d, k)));
            else if (d->v[k].i < 0) /* the least stays what it is */
                d->v[k].i = (int64_t)(0 - (uint64_t)d->v[k].i);
    }
    return st;
}

enum status
gexp_scale(const struct gexp_call *c, struct exp_list *out, struct error *e)
{
    double factor = 0;
    bool whole;
    enum status st;

    for (size_t i = 0; i < c->params[0].size; i++)
        if (memchr("0123456789-.", c->params[0].data[i], 12) == NULL)
            /* It shows the factor that it has so far, not the text. */
            return error_set(e, ST_INVALID,
                             "Unparseable scale factor value: 0.0");
    if (!number_parse_double(c->params[0], &factor))
        return error_set(e, ST_INVALID,
                         "Invalid parameter, must be an integer or floating "
                         "point");
    st = gexp_own_points(c, out, e);
    whole = floor(factor) == factor && isfinite(factor);
    for (size_t i = 0; i < out->len && st == ST_OK; i++) {
        struct dps *d = &out->series[i].dps;

        for (size_t k = 0; k < d->len; k++)
            if (whole && d->kind[k] == DP_INT)
                d->v[k].i = (int64_t)((uint64_t)java_long(factor) *
                                      (uint64_t)d->v[k].i);
            else
                gexp_put_double(d, k, d->ts_ms[k], factor * exp_double(d, k));
    }
    return st;
}

/* Parameters are joined with commas: a name may have some.  An aliased series
 * is a metric of that name, without keys that differ. */
enum status
gexp_alias(const struct gexp_call *c, struct exp_list *out, struct error *e)
{
    struct id_name *metric = arena_array(c->arena, 1, sizeof *metric);
    struct buf name = BUF_INIT;
    struct slice text;

    for (size_t i = 0; i < c->params_len; i++) {
        buf_put_str(&name, i > 0 ? "," : "");
        buf_put_slice(&name, c->params[i]);
    }
    text = arena_take(c->arena, &name);
    if (text.data == NULL || metric == NULL)
        return error_no_memory(e);
    metric->name = text;
    for (size_t i = 0; i < out->len; i++) {
        struct exp_series *s = &out->series[i];

        s->alias_is_plain = s->alias.data != NULL;
        s->alias = metric->name;
        s->meta.metrics = metric;
        s->meta.metrics_len = 1;
        s->meta.aggregate_tags_len = 0;
    }
    return ST_OK;
}

/* -- shift ----------------------------------------------------------------- */

#define SECOND_MS INT64_C(1000)

/* The units of shifts and windows.  OpenTSDB's documentation writes them here
 * as words ('10min'), which are accepted besides the letters of
 * parse_duration(): each name is compared as a whole, so none is misread. */
static const struct unit {
    int64_t ms;
    const char *names[5];
} units[] = {
    { 1, { "ms" } },
    { SECOND_MS, { "s", "sec", "secs", "second", "seconds" } },
    { 60 * SECOND_MS, { "m", "min", "mins", "minute", "minutes" } },
    { HOUR_MS, { "h", "hr", "hour", "hrs", "hours" } },
    { DAY_MS, { "d", "day", "days" } },
    { 7 * DAY_MS, { "w", "week", "weeks" } },
    { 30 * DAY_MS, { "n", "month", "months" } },
    { 365 * DAY_MS, { "y", "year", "years" } },
};
#define UNITS                                                                \
    "The units are ms, s, m, h, d, w, n (30 days), y (365 days), and their " \
    "names: sec, min, hour, day, week, month, year"

/* Returns the length of the unit in ms, or 0 if 'name' is not a unit. */
static int64_t
find_unit(struct slice name)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        for (size_t k = 0; k < 5 && units[i].names[k] != NULL; k++)
            if (slice_eq_str(name, units[i].names[k]))
                return units[i].ms;
    return 0;
}

static bool
is_quoted(struct slice text)
{
    return text.size > 0 && text.data[0] == '\'' &&
           text.data[text.size - 1] == '\'';
}

/* "'5min'": the digits, and the unit behind them with its quote.  False when
 * there is no digit. */
static bool
split_quoted(struct slice text, struct slice *digits, struct slice *unit)
{
    size_t at = 1;

    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    *digits = slice_of(text.data + 1, at - 1);
    *unit = slice_of(text.data + at, text.size - at);
    return at > 1;
}

/* Only the first argument's series. */
enum status
gexp_shift(const struct gexp_call *c, struct exp_list *out, struct error *e)
{
    struct slice digits, unit_text, unit;
    int64_t count, unit_ms;
    enum status st;

    /* As in OpenTSDB, the error shows the unit with the closing quote. */
    if (!is_quoted(c->params[0]))
        return error_set(e, ST_INVALID,
                         "Invalid timeshift parameter: eg '10min'");
    if (!split_quoted(c->params[0], &digits, &unit_text))
        return error_set(e, ST_INVALID, "Invalid Parameter: %.*s",
                         SLICE_ARG(c->params[0]));
    if (!gexp_parse_int(digits, &count))
        return error_set(e, ST_INVALID, "For input string: \"%.*s\"",
                         SLICE_ARG(digits));
    unit = unit_text;
    while (unit.size > 0 && unit.data[unit.size - 1] == '\'')
        unit.size--;
    unit_ms = find_unit(unit);
    if (unit_ms == 0)
        return error_set(e, ST_INVALID, "unknown time unit=%.*s. " UNITS,
                         SLICE_ARG(unit_text));
    if (count <= 0)
        return error_set(e, ST_INVALID, "timeshift <= 0");
    if (count > QUERY_INTERVAL_MAX_S * 1000 / unit_ms)
        return error_set(
            e, ST_INVALID, "The shift is longer than %lld seconds: %.*s",
            (long long)QUERY_INTERVAL_MAX_S, SLICE_ARG(c->params[0]));
    out->len = c->lists[0].len;
    st = gexp_own_points(c, out, e);
    for (size_t i = 0; i < out->len && st == ST_OK; i++)
        for (size_t k = 0; k < out->series[i].dps.len; k++)
            out->series[i].dps.ts_ms[k] += count * unit_ms;
    return st;
}

/* -- movingAverage --------------------------------------------------------- */

struct moving_window {
    bool is_time;
    int64_t size; /* points, or ms */
};

static enum status
parse_span(struct slice text, int64_t *out_ms, struct error *e)
{
    struct slice digits, unit;
    int64_t count, unit_ms;

    if (!split_quoted(text, &digits, &unit))
        return error_set(e, ST_INVALID, "Invalid moving window parameter: %.*s",
                         SLICE_ARG(text));
    if (!gexp_parse_int(digits, &count))
        return error_set(e, ST_INVALID,
                         "Unable to parse moving window parameter: %.*s",
                         SLICE_ARG(text));
    unit.size--; /* the quote, which is there */
    unit_ms = find_unit(unit);
    if (unit_ms == 0)
        return error_set(e, ST_INVALID,
                         "Unknown time unit=%.*s in window=%.*s. " UNITS,
                         SLICE_ARG(unit), SLICE_ARG(text));
    if (count > QUERY_INTERVAL_MAX_S * 1000 / unit_ms)
        return error_set(e, ST_INVALID,
                         "The window is longer than %lld seconds: %.*s",
                         (long long)QUERY_INTERVAL_MAX_S, SLICE_ARG(text));
    *out_ms = count * unit_ms;
    return ST_OK;
}

/* The mean of the points that end at 'at'; 0 until the window is full, and
 * where there is none. */
static double
window_mean(const struct dps *d, size_t at, const struct moving_window *w,
            uint64_t *additions)
{
    int64_t reach = w->is_time ? d->ts_ms[at] - d->ts_ms[0] : (int64_t)at + 1;
    int64_t count = 0;
    double sum = 0;

    for (size_t i = at + 1; i-- > 0 && reach >= w->size;) {
        double v = exp_double(d, i);

        if (w->is_time && d->ts_ms[at] - d->ts_ms[i] >= w->size)
            return count == 0 ? 0 : sum / (double)count;
        ++*additions;
        if (!isnan(v)) {
            sum += v;
            count++;
        }
        if (!w->is_time && count >= w->size)
            return sum / (double)count;
    }
    return 0;
}

/* Of the points in the range only. */
static enum status
average(const struct gexp_call *c, const struct moving_window *w, struct dps *d,
        uint64_t *additions, struct error *e)
{
    struct dps in = *d, out;

    while (in.len > 0 && in.ts_ms[0] < c->q->start_ms) {
        in.ts_ms++;
        in.v++;
        in.kind++;
        in.len--;
    }
    while (in.len > 0 && in.ts_ms[in.len - 1] > c->q->end_ms)
        in.len--;
    if (!dps_alloc(c->arena, in.len, &out))
        return error_no_memory(e);
    for (size_t i = 0; i < in.len; i++) {
        uint64_t before = *additions;
        double mean = window_mean(&in, i, w, additions);
        enum status st =
            deadline_tick(c->deadline, (size_t)(*additions - before) + 1, e);

        if (st != ST_OK)
            return st;
        if (isinf(mean))
            return error_set(e, ST_INVALID, "Got Infinity");
        if (*additions > ADDITIONS_MAX)
            return error_set(e, ST_LIMIT,
                             "The window is too wide for so many "
                             "points");
        gexp_put_double(&out, i, in.ts_ms[i], mean);
    }
    *d = out;
    return ST_OK;
}

enum status
gexp_moving_average(const struct gexp_call *c, struct exp_list *out,
                    struct error *e)
{
    struct moving_window w;
    uint64_t additions = 0;
    enum status st;

    w = (struct moving_window){ .is_time = is_quoted(c->params[0]) };
    st = w.is_time ? parse_span(c->params[0], &w.size, e)
                   : gexp_parse_count(c->params[0],
                                      "Unparseable window size: ", &w.size, e);
    if (st == ST_OK && w.size <= 0)
        return error_set(e, ST_INVALID,
                         "Moving average window must be an integer greater "
                         "than zero");
    for (size_t i = 0; i < out->len && st == ST_OK; i++)
        st = average(c, &w, &out->series[i].dps, &additions, e);
    return st;
}

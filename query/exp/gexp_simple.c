/* Functions that take each series by itself. */
#include "config.h"

#include "query/exp/gexp_priv.h"

#include <math.h>

#include "base/text/number.h"

/* What a moving average may cost: additions, since each window is summed anew,
 * newest first, because the last digit depends on it. */
#define ADDITIONS_MAX (UINT64_C(1) << 31)

/* -- absolute, scale, alias ------------------------------------------------ */

enum status
gexp_absolute(const struct gexp_call *c, int variant, struct gexp_list *out,
              struct error *e)
{
    enum status st = gexp_flatten(c, out, e);

    (void)variant;
    for (size_t i = 0; i < out->len && st == ST_OK; i++) {
        struct dps from = out->series[i].dps, *to = &out->series[i].dps;

        if (!gexp_new_points(c->arena, from.len, to))
            return gexp_no_memory(e);
        for (size_t k = 0; k < from.len; k++)
            if (!gexp_is_int(&from, k))
                gexp_put_double(to, k, from.ts_ms[k],
                                fabs(gexp_double(&from, k)));
            else if (from.v[k].i < 0) /* the least stays what it is */
                gexp_put_int(to, k, from.ts_ms[k],
                             (int64_t)(0 - (uint64_t)from.v[k].i));
            else
                gexp_put_int(to, k, from.ts_ms[k], from.v[k].i);
    }
    return st;
}

static enum status
parse_factor(const struct gexp_call *c, double *out, struct error *e)
{
    struct slice text;

    if (c->params_len == 0)
        return error_set(e, ST_INVALID, "Missing scaling factor");
    text = c->params[0];
    for (size_t i = 0; i < text.size; i++)
        if ((text.data[i] < '0' || text.data[i] > '9') && text.data[i] != '-' &&
            text.data[i] != '.')
            /* It shows the factor that it has so far, not the text. */
            return error_set(e, ST_INVALID,
                             "Unparseable scale factor value: 0.0");
    if (!number_parse_double(text, out))
        return error_set(e, ST_INVALID,
                         "Invalid parameter, must be an integer or floating "
                         "point");
    return ST_OK;
}

static int64_t
to_int(double d)
{
    if (fabs(d) >= 0x1p63)
        return d < 0 ? INT64_MIN : INT64_MAX;
    return (int64_t)d;
}

enum status
gexp_scale(const struct gexp_call *c, int variant, struct gexp_list *out,
           struct error *e)
{
    double factor = 0;
    bool whole;
    enum status st = parse_factor(c, &factor, e);

    (void)variant;
    if (st == ST_OK)
        st = gexp_flatten(c, out, e);
    if (st != ST_OK)
        return st;
    whole = floor(factor) == factor && isfinite(factor);
    for (size_t i = 0; i < out->len; i++) {
        struct dps from = out->series[i].dps, *to = &out->series[i].dps;

        if (!gexp_new_points(c->arena, from.len, to))
            return gexp_no_memory(e);
        for (size_t k = 0; k < from.len; k++)
            if (whole && gexp_is_int(&from, k))
                gexp_put_int(to, k, from.ts_ms[k],
                             (int64_t)((uint64_t)to_int(factor) *
                                       (uint64_t)from.v[k].i));
            else
                gexp_put_double(to, k, from.ts_ms[k],
                                factor * gexp_double(&from, k));
    }
    return ST_OK;
}

/* Parameters are joined with commas: a name may have some. */
static enum status
join_params(const struct gexp_call *c, struct slice *out, struct error *e)
{
    size_t size = 0;
    uint8_t *text, *p;

    for (size_t i = 0; i < c->params_len; i++)
        size += c->params[i].size + 1;
    text = p = arena_alloc(c->arena, size);
    if (text == NULL)
        return gexp_no_memory(e);
    for (size_t i = 0; i < c->params_len; i++) {
        memcpy(p, c->params[i].data, c->params[i].size);
        p += c->params[i].size;
        *p++ = ',';
    }
    *out = slice_of(text, size - 1);
    return ST_OK;
}

enum status
gexp_alias(const struct gexp_call *c, int variant, struct gexp_list *out,
           struct error *e)
{
    struct slice name;
    enum status st;

    (void)variant;
    if (c->params_len == 0)
        return error_set(e, ST_INVALID, "Missing the alias");
    st = join_params(c, &name, e);
    if (st == ST_OK)
        st = gexp_flatten(c, out, e);
    for (size_t i = 0; i < out->len && st == ST_OK; i++) {
        struct gexp_series *s = &out->series[i];

        s->alias_is_plain = s->alias_is_plain || s->alias.data != NULL;
        s->alias = name;
    }
    return st;
}

/* -- shift ----------------------------------------------------------------- */

#define SECOND_MS INT64_C(1000)
#define DAY_MS    (24 * HOUR_MS)

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {
    { "ms", 1 },
    { "s", SECOND_MS },
    { "sec", SECOND_MS },
    { "secs", SECOND_MS },
    { "second", SECOND_MS },
    { "seconds", SECOND_MS },
    { "m", 60 * SECOND_MS },
    { "min", 60 * SECOND_MS },
    { "mins", 60 * SECOND_MS },
    { "minute", 60 * SECOND_MS },
    { "minutes", 60 * SECOND_MS },
    { "h", HOUR_MS },
    { "hr", HOUR_MS },
    { "hrs", HOUR_MS },
    { "hour", HOUR_MS },
    { "hours", HOUR_MS },
    { "d", DAY_MS },
    { "day", DAY_MS },
    { "days", DAY_MS },
    { "w", 7 * DAY_MS },
    { "week", 7 * DAY_MS },
    { "weeks", 7 * DAY_MS },
    { "n", 30 * DAY_MS },
    { "month", 30 * DAY_MS },
    { "months", 30 * DAY_MS },
    { "y", 365 * DAY_MS },
    { "year", 365 * DAY_MS },
    { "years", 365 * DAY_MS },
};

/* Without the quote behind it, and blanks around. */
static const struct unit *
find_unit(struct slice text)
{
    while (text.size > 0 && text.data[0] == ' ')
        text = slice_of(text.data + 1, text.size - 1);
    while (text.size > 0 && (text.data[text.size - 1] == '\'' ||
                             text.data[text.size - 1] == ' '))
        text.size--;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (slice_eq_str(text, units[i].name))
            return &units[i];
    return NULL;
}

/* What is rejected keeps the quote behind its unit, as OpenTSDB's does. */
static enum status
parse_shift(const struct gexp_call *c, int64_t *out_ms, struct error *e)
{
    struct slice text, digits, unit_text;
    const struct unit *unit;
    int64_t count;

    if (c->params_len == 0)
        return error_set(e, ST_INVALID,
                         "Need amount of timeshift to perform timeshift");
    text = c->params[0];
    if (text.size == 0 || text.data[0] != '\'' ||
        text.data[text.size - 1] != '\'')
        return error_set(e, ST_INVALID,
                         "Invalid timeshift parameter: eg '10min'");
    if (!gexp_split_quoted(text, &digits, &unit_text))
        return error_set(e, ST_INVALID, "Invalid Parameter: %.*s",
                         SLICE_ARG(text));
    if (!gexp_parse_int(digits, &count))
        return error_set(e, ST_INVALID, "For input string: \"%.*s\"",
                         SLICE_ARG(digits));
    unit = find_unit(unit_text);
    if (unit == NULL)
        return error_set(e, ST_INVALID, "unknown time unit=%.*s",
                         SLICE_ARG(unit_text));
    if (count <= 0)
        return error_set(e, ST_INVALID, "timeshift <= 0");
    if (count > QUERY_INTERVAL_MAX_S * 1000 / unit->ms)
        return error_set(e, ST_INVALID,
                         "The shift is longer than %lld seconds: %.*s",
                         (long long)QUERY_INTERVAL_MAX_S, SLICE_ARG(text));
    *out_ms = count * unit->ms;
    return ST_OK;
}

/* Only the first argument's series. */
enum status
gexp_shift(const struct gexp_call *c, int variant, struct gexp_list *out,
           struct error *e)
{
    struct gexp_call first = *c;
    int64_t by_ms = 0;
    enum status st = parse_shift(c, &by_ms, e);

    (void)variant;
    first.lists_len = 1;
    if (st == ST_OK)
        st = gexp_flatten(&first, out, e);
    for (size_t i = 0; i < out->len && st == ST_OK; i++) {
        struct dps *d = &out->series[i].dps;
        int64_t *ts = arena_array(c->arena, d->len, sizeof *ts);

        if (ts == NULL)
            return gexp_no_memory(e);
        for (size_t k = 0; k < d->len; k++)
            ts[k] = d->ts_ms[k] + by_ms;
        d->ts_ms = ts;
    }
    return st;
}

/* -- movingAverage --------------------------------------------------------- */

struct window {
    bool is_time;
    int64_t size; /* points, or ms */
};

static enum status
parse_span(struct slice text, int64_t *out_ms, struct error *e)
{
    static const struct unit spans[] = {
        { "day", DAY_MS },       { "d", DAY_MS },
        { "hr", HOUR_MS },       { "hour", HOUR_MS },
        { "h", HOUR_MS },        { "min", 60 * SECOND_MS },
        { "m", 60 * SECOND_MS }, { "sec", SECOND_MS },
        { "s", SECOND_MS },
    };
    struct slice digits, unit;
    int64_t count;

    if (!gexp_split_quoted(text, &digits, &unit))
        return error_set(e, ST_INVALID, "Invalid moving window parameter: %.*s",
                         SLICE_ARG(text));
    if (!gexp_parse_int(digits, &count))
        return error_set(e, ST_INVALID,
                         "Unable to parse moving window parameter: %.*s",
                         SLICE_ARG(text));
    unit.size--; /* the quote, which is there */
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
        if (slice_eq_str(unit, spans[i].name)) {
            *out_ms = count * spans[i].ms;
            return ST_OK;
        }
    return error_set(e, ST_INVALID, "Unknown time unit=%.*s in window=%.*s",
                     SLICE_ARG(unit), SLICE_ARG(text));
}

static enum status
parse_window(const struct gexp_call *c, struct window *out, struct error *e)
{
    struct slice text;
    enum status st = ST_OK;

    if (c->params_len == 0)
        return error_set(e, ST_INVALID, "Missing moving average window size");
    text = c->params[0];
    *out = (struct window){ .is_time = text.data[0] == '\'' &&
                                       text.data[text.size - 1] == '\'' };
    if (out->is_time) {
        st = parse_span(text, &out->size, e);
    } else {
        st = gexp_parse_count(text, "Unparseable window size: ", &out->size, e);
    }
    if (st == ST_OK && out->size <= 0)
        return error_set(e, ST_INVALID,
                         "Moving average window must be an integer greater "
                         "than zero");
    return st;
}

/* The mean of the points that end at 'at', not before 'first'; 0 until the
 * window is full, and where there is none. '*oldest' is the first point that
 * later windows can reach. */
static double
window_mean(const struct dps *d, size_t at, const struct window *w,
            size_t *oldest, uint64_t *additions)
{
    double sum = 0;
    int64_t count = 0;
    int64_t reach = w->is_time ? d->ts_ms[at] - d->ts_ms[*oldest]
                               : (int64_t)(at + 1 - *oldest);

    if (reach < w->size)
        return 0;
    for (size_t i = at + 1; i-- > *oldest;) {
        double v;

        if (w->is_time && d->ts_ms[at] - d->ts_ms[i] >= w->size) {
            *oldest = i;
            return count == 0 ? 0 : sum / (double)count;
        }
        v = gexp_double(d, i);
        ++*additions;
        if (!isnan(v)) {
            sum += v;
            count++;
        }
        if (!w->is_time && count >= w->size) {
            *oldest = i;
            return sum / (double)count;
        }
    }
    return 0;
}

/* Of the points in the range only. */
static enum status
average(const struct gexp_call *c, const struct window *w, struct dps *d,
        uint64_t *additions, struct error *e)
{
    struct dps in = *d, out;
    size_t oldest = 0;

    while (in.len > 0 && in.ts_ms[0] < c->q->start_ms) {
        in.ts_ms++;
        in.v++;
        in.kind++;
        in.len--;
    }
    while (in.len > 0 && in.ts_ms[in.len - 1] > c->q->end_ms)
        in.len--;
    if (!gexp_new_points(c->arena, in.len, &out))
        return gexp_no_memory(e);
    for (size_t i = 0; i < in.len; i++) {
        uint64_t before = *additions;
        double mean = window_mean(&in, i, w, &oldest, additions);
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
gexp_moving_average(const struct gexp_call *c, int variant,
                    struct gexp_list *out, struct error *e)
{
    struct window w = { 0 };
    uint64_t additions = 0;
    enum status st = parse_window(c, &w, e);

    (void)variant;
    if (st == ST_OK)
        st = gexp_flatten(c, out, e);
    for (size_t i = 0; i < out->len && st == ST_OK; i++)
        st = average(c, &w, &out->series[i].dps, &additions, e);
    return st;
}

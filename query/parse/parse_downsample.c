/* "INTERVAL-FUNCTION[-FILL]", e.g. "1h-avg-nan", "0all-sum", "1dc-sum". */
#include "query/parse/parse_priv.h"

/* "0all"; as in OpenTSDB the number does not matter, and may be missing. */
static bool
is_all(struct slice s)
{
    while (s.size > 0 && s.data[0] >= '0' && s.data[0] <= '9')
        s = slice_of(s.data + 1, s.size - 1);
    return slice_eq_str(s, "all");
}

static enum status
parse_interval(struct slice text, struct downsample *out, struct error *e)
{
    struct duration d;
    enum status st;

    if (is_all(text)) {
        out->all = true;
        return ST_OK;
    }
    if (text.size == 0)
        return error_set(e, ST_INVALID, "String index out of range: -1");
    if (text.data[text.size - 1] == 'c') {
        out->calendar = true;
        text.size--;
    }
    st = parse_duration(text, &d, e);
    if (st != ST_OK)
        return st;
    if (d.ms > QUERY_INTERVAL_MAX_S * 1000)
        return error_set(e, ST_INVALID,
                         "The interval is longer than %lld seconds: %.*s",
                         (long long)QUERY_INTERVAL_MAX_S, SLICE_ARG(text));
    out->interval_ms = d.ms;
    out->unit = d.unit;
    /* Buckets of the calendar are counted with an int. */
    out->count = d.count <= INT32_MAX ? (int)d.count : 0;
    return ST_OK;
}

const char *const fill_policies[] = {
    [FILL_NONE] = "none", [FILL_ZERO] = "zero",     [FILL_NAN] = "nan",
    [FILL_NULL] = "null", [FILL_SCALAR] = "scalar",
};

enum status
parse_fill(struct slice text, enum fill_policy *out, struct error *e)
{
    for (*out = FILL_NONE; *out <= FILL_SCALAR; ++*out)
        if (slice_eq_nocase(text, slice_str(fill_policies[*out])))
            return ST_OK;
    return error_set(e, ST_INVALID, "Unrecognized fill policy: %.*s",
                     SLICE_ARG(text));
}

static enum status
parse_function(struct slice name, struct downsample *out, struct error *e)
{
    if (slice_eq_str(name, "minmax") || slice_eq_str(name, "m4")) {
        out->thin = slice_eq_str(name, "m4") ? THIN_M4 : THIN_MINMAX;
        return ST_OK;
    }
    out->aggregator = aggregator_find(name);
    if (out->aggregator == NULL)
        return error_set(e, ST_INVALID, "No such downsampling function: %.*s",
                         SLICE_ARG(name));
    if (out->aggregator->kind == KIND_NONE)
        return error_set(e, ST_INVALID,
                         "cannot use the NONE aggregator for downsampling");
    return ST_OK;
}

enum status
parse_downsample(struct slice text, struct arena *a, struct downsample *out,
                 struct error *e)
{
    struct slice *parts;
    enum status st;
    size_t len;

    *out = (struct downsample){ .zone = timezone_utc(), .text = text };
    st = parse_split(text, '-', a, &parts, &len, e);
    if (st != ST_OK)
        return st;
    if (len < 2)
        return error_set(e, ST_INVALID,
                         "Invalid downsampling specifier '%.*s': must provide "
                         "at least interval and function",
                         SLICE_ARG(text));
    if (len > 3)
        return error_set(e, ST_INVALID,
                         "Invalid downsampling specifier '%.*s': must consist "
                         "of interval, function, and optional fill policy",
                         SLICE_ARG(text));
    st = parse_interval(parts[0], out, e);
    if (st != ST_OK)
        return st;
    st = parse_function(parts[1], out, e);
    if (st == ST_OK && len == 3)
        st = parse_fill(parts[2], &out->fill, e);
    if (st == ST_OK && out->thin != THIN_NONE && out->fill != FILL_NONE)
        st = error_set(e, ST_INVALID,
                       "%.*s keeps points as they are: no fill policy but "
                       "'none' goes with it",
                       SLICE_ARG(parts[1]));
    out->on = st == ST_OK && out->thin == THIN_NONE;
    return st;
}

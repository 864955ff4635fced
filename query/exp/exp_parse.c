/* The request of /api/query/exp, and what OpenTSDB checks of it, in its order
 * and words.  It says only which part is wrong; why comes as details here. */
#include "query/exp/exp_priv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "base/text/java.h"
#include "query/parse/parse.h"
#include "query/parse/reader.h"

static enum status check(struct exp_query *q, const struct parse_options *o,
                         struct arena *a, struct parse_error *e);
static enum status build(struct exp_query *q, const struct parse_options *o,
                         struct arena *a, struct parse_error *e);
static enum status join_downsample(struct slice interval,
                                   struct slice aggregator, struct arena *a,
                                   struct slice *out, struct error *e);

/* -- reading --------------------------------------------------------------- */

/* Numbers that stand for what the policy says; others are rejected. */
static void
fill_apply_default(struct reader *r, struct exp_fill *f)
{
    if (f->policy == FILL_SCALAR)
        return;
    if (f->value != 0 && (f->policy == FILL_ZERO || !isnan(f->value)))
        reader_fail(r, "The value for %s",
                    f->policy == FILL_ZERO   ? "ZERO must be 0"
                    : f->policy == FILL_NULL ? "NULL must be 0"
                                             : "NONE and NAN must be NaN");
    f->value = f->policy == FILL_ZERO ? 0 : NAN;
}

static void
read_policy(struct reader *r, const char *name, json_t *v, void *to)
{
    struct exp_fill *f = to;
    struct slice text;

    reader_text(r, name, v, &text);
    if (r->st == ST_OK && text.data != NULL &&
        parse_fill(text, &f->policy, NULL) != ST_OK)
        reader_fail(r, "Unrecognized fill policy: %.*s", SLICE_ARG(text));
}

static void
read_fill(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        { "policy", read_policy, 0 },
        MEMBER(exp_fill, "value", reader_double, value),
    };
    const enum fill_policy none = FILL_SCALAR + 1;
    struct exp_fill *out = to;

    *out = (struct exp_fill){ .given = !json_is_null(v), .policy = none };
    if (!out->given)
        return;
    reader_object(r, name, v, MEMBERS(members), true, out);
    if (out->policy == none)
        out->policy = out->value == 0     ? FILL_ZERO
                      : isnan(out->value) ? FILL_NAN
                                          : FILL_SCALAR;
    else
        fill_apply_default(r, out);
}

static void
read_operator(struct reader *r, const char *name, json_t *v, void *to)
{
    struct exp_expression *out = to;
    struct slice text;

    reader_text(r, name, v, &text);
    if (r->st != ST_OK)
        return;
    out->operator_given = text.data != NULL;
    out->intersection = slice_eq_nocase(text, slice_str("intersection"));
    if (out->operator_given && !out->intersection &&
        !slice_eq_nocase(text, slice_str("union")))
        reader_fail(r, "Unrecognized set operator: %.*s", SLICE_ARG(text));
}

static void
read_join(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        { "operator", read_operator, 0 },
        MEMBER(exp_expression, "useQueryTags", reader_bool, use_query_tags),
        MEMBER(exp_expression, "includeAggTags", reader_bool, include_agg_tags),
    };
    struct exp_expression *out = to;

    out->operator_given = json_is_null(v);
    if (!json_is_null(v))
        reader_object(r, name, v, MEMBERS(members), true, out);
}

static void
read_downsampler(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        MEMBER(exp_time, "interval", reader_text, interval),
        MEMBER(exp_time, "aggregator", reader_text, downsample_aggregator),
        MEMBER(exp_time, "fillPolicy", read_fill, downsample_fill),
    };
    struct exp_time *out = to;

    out->downsampler_given = !json_is_null(v);
    if (out->downsampler_given)
        reader_object(r, name, v, MEMBERS(members), true, out);
}

static void
read_time(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        MEMBER(exp_time, "start", reader_spelled, start),
        MEMBER(exp_time, "end", reader_spelled, end),
        MEMBER(exp_time, "timezone", reader_text, timezone),
        MEMBER(exp_time, "aggregator", reader_text, aggregator),
        MEMBER(exp_time, "rate", reader_bool, rate),
        { "downsampler", read_downsampler, 0 },
    };
    struct exp_query *q = to;

    q->time_given = !json_is_null(v);
    if (q->time_given)
        reader_object(r, name, v, MEMBERS(members), true, &q->time);
}

static void
read_filter_tag(struct reader *r, const char *name, json_t *v, void *to)
{
    struct exp_filter_tag *t = to;
    struct filter made = { 0 };
    struct error why;

    read_filter_texts(r, name, v, &t->texts);
    if (r->st != ST_OK)
        return;
    if (filter_make(&t->texts, r->arena, &made, &why) != ST_OK)
        reader_fail(r, "%s", why.text);
    t->kind = made.type;
    filter_fini(&made);
}

/* The member of an object that is a list: how its elements are read. */
#define READ_LIST(type, list, read)                                          \
    static void read_##list(struct reader *r, const char *name, json_t *v,   \
                            void *to)                                        \
    {                                                                        \
        struct type *out = to;                                               \
                                                                             \
        out->list = reader_items(r, name, v, EXP_IDS_MAX, sizeof *out->list, \
                                 read, &out->list##_len);                    \
    }

READ_LIST(exp_filter, tags, read_filter_tag)

READ_OBJECT(read_filter, MEMBER(exp_filter, "id", reader_text, id),
            { "tags", read_tags, 0 },
            MEMBER(exp_filter, "explicitTags", reader_bool, explicit_tags))

READ_OBJECT(read_metric, MEMBER(exp_metric, "metric", reader_text, metric),
            MEMBER(exp_metric, "id", reader_text, id),
            MEMBER(exp_metric, "filter", reader_text, filter),
            MEMBER(exp_metric, "aggregator", reader_text, aggregator),
            MEMBER(exp_metric, "timeOffset", reader_text, time_offset),
            MEMBER(exp_metric, "fillPolicy", read_fill, fill))

static void
read_expression(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        MEMBER(exp_expression, "id", reader_text, id),
        MEMBER(exp_expression, "expr", reader_text, expr),
        MEMBER(exp_expression, "fillPolicy", read_fill, fill),
        { "join", read_join, 0 },
    };
    struct exp_expression *x = to;

    x->operator_given = x->include_agg_tags = true;
    reader_object(r, name, v, MEMBERS(members), true, x);
}

READ_OBJECT(read_output, MEMBER(exp_output, "id", reader_text, id),
            MEMBER(exp_output, "alias", reader_text, alias))

READ_LIST(exp_query, filters, read_filter)
READ_LIST(exp_query, metrics, read_metric)
READ_LIST(exp_query, expressions, read_expression)
READ_LIST(exp_query, outputs, read_output)

enum status
exp_parse(struct slice body, const struct parse_options *o, struct arena *a,
          struct exp_query *out, struct parse_error *e)
{
    static const struct member members[] = {
        MEMBER(exp_query, "name", reader_text, name),
        { "time", read_time, 0 },
        { "filters", read_filters, 0 },
        { "metrics", read_metrics, 0 },
        { "expressions", read_expressions, 0 },
        { "outputs", read_outputs, 0 },
    };
    struct reader r = { .arena = a, .e = e };
    json_t *root;
    enum status st;

    *out = (struct exp_query){ 0 };
    e->details[0] = '\0';
    if (body.size == 0)
        return error_set(&e->message, ST_INVALID,
                         "Incoming data was null or empty");
    root = reader_load(&r, body);
    if (root == NULL)
        return r.st;
    reader_object(&r, "the query", root, MEMBERS(members), true, out);
    json_decref(root);
    st = r.st == ST_OK ? check(out, o, a, e) : r.st;
    return st == ST_OK ? build(out, o, a, e) : st;
}

/* -- checking -------------------------------------------------------------- */

/* "Invalid metric at index 0", and why. */
static enum status
invalid(struct parse_error *e, const struct error *why, const char *what,
        size_t i)
{
    (void)snprintf(e->details, sizeof e->details, "%s", why->text);
    return error_set(&e->message, why->status, "Invalid %s at index %zu", what,
                     i);
}

static enum status
check_id(struct slice id, const char *missing, struct error *e)
{
    if (id.size == 0)
        return error_set(e, ST_INVALID, "%s", missing);
    for (size_t i = 0; i < id.size; i++) {
        uint8_t c = id.data[i];

        if (!isalnum(c) && c < 0x80)
            return error_set(e, ST_INVALID,
                             "Invalid id (\"%.*s\"): illegal character: %c",
                             SLICE_ARG(id), c >= ' ' ? c : '?');
    }
    if (id.size == 1 && isdigit(id.data[0]))
        return error_set(e, ST_INVALID, "The ID cannot be an integer");
    return ST_OK;
}

static enum status
check_aggregator(struct slice name, struct error *e)
{
    char lower[32] = "";

    if (name.size == 0)
        return error_set(e, ST_INVALID, "Missing or empty aggregator");
    for (size_t i = 0; i < name.size && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower(name.data[i]);
    /* "SUM" is rejected later, and called by its name. */
    if (aggregator_find(name) == NULL &&
        (name.size >= sizeof lower ||
         aggregator_find(slice_str(lower)) == NULL))
        return error_set(e, ST_INVALID, "Invalid aggregator");
    return ST_OK;
}

static enum status
check_timestamp(const struct exp_time *t, struct slice text,
                const struct parse_options *o, struct error *e)
{
    const struct timezone *zone =
        o->default_zone == NULL ? timezone_utc() : o->default_zone;
    int64_t unused;

    if (t->timezone.size > 0 &&
        timezone_find(t->timezone, &zone, NULL) != ST_OK)
        zone = NULL;
    return parse_time_in(text, o->now_ms, zone, t->timezone, &unused, e);
}

static enum status
check_time(const struct exp_time *t, const struct parse_options *o,
           struct arena *a, struct error *e)
{
    enum status st;

    if (t->start.size == 0)
        return error_set(e, ST_INVALID, "missing or empty start");
    st = check_timestamp(t, t->start, o, e);
    if (st == ST_OK && t->end.size > 0)
        st = check_timestamp(t, t->end, o, e);
    if (st == ST_OK && t->downsampler_given) {
        struct downsample unused = { 0 };
        struct slice text = { NULL, 0 };

        /* The interval as it will be read: "0all" and "1dc" are some, too. */
        if (t->interval.size == 0)
            return error_set(e, ST_INVALID, "Missing or empty interval");
        st = join_downsample(t->interval, slice_str("sum"), a, &text, e);
        if (st == ST_OK)
            st = parse_downsample(text, a, &unused, e);
        if (st == ST_OK)
            st = check_aggregator(t->downsample_aggregator, e);
    }
    return st == ST_OK ? check_aggregator(t->aggregator, e) : st;
}

static enum status
check_metric(const struct exp_metric *m, const struct parse_options *o,
             struct error *e)
{
    int64_t unused;
    enum status st;

    if (m->metric.size == 0)
        return error_set(e, ST_INVALID, "missing or empty metric");
    st = check_id(m->id, "missing or empty id", e);
    if (st == ST_OK && m->time_offset.size > 0)
        st = parse_time(m->time_offset, o->now_ms, timezone_utc(), &unused, e);
    if (st == ST_OK && m->aggregator.size > 0)
        st = check_aggregator(m->aggregator, e);
    return st;
}

static enum status
check_expression(struct exp_expression *x, struct arena *a, struct error *e)
{
    enum status st = check_id(x->id, "missing or empty id", e);

    if (st == ST_OK && x->expr.size == 0)
        st = error_set(e, ST_INVALID, "missing or empty expr");
    return st == ST_OK ? expression_parse(x->expr, a, &x->parsed, e) : st;
}

const void *
exp_find(const void *list, size_t len, size_t size, struct slice id)
{
    for (const char *p = list; len > 0; p += size, len--)
        if (slice_eq(*(const struct slice *)(const void *)p, id))
            return p;
    return NULL;
}

static enum status
repeated(const char *what, struct slice id, struct error *e)
{
    if (id.data == NULL)
        id = slice_str("null");
    return error_set(e, ST_INVALID, "%s id: %.*s", what, SLICE_ARG(id));
}

static enum status
check_ids(const struct exp_query *q, struct error *e)
{
    for (size_t i = 0; i < q->metrics_len; i++)
        if (EXP_FIND(q->metrics, i, q->metrics[i].id) != NULL)
            return repeated("duplicated metric", q->metrics[i].id, e);
    for (size_t i = 0; i < q->filters_len; i++)
        if (EXP_FIND(q->filters, i, q->filters[i].id) != NULL)
            return repeated("duplicated filter", q->filters[i].id, e);
    for (size_t i = 0; i < q->expressions_len; i++) {
        struct slice id = q->expressions[i].id;

        if (EXP_FIND(q->metrics, q->metrics_len, id) != NULL ||
            EXP_FIND(q->expressions, i, id) != NULL)
            return repeated("Duplicated variable or expression", id, e);
    }
    return ST_OK;
}

/* What is called must be there. */
static enum status
check_references(const struct exp_query *q, struct error *e)
{
    for (size_t i = 0; i < q->metrics_len && q->filters != NULL; i++) {
        const struct exp_metric *m = &q->metrics[i];

        if (m->filter.size > 0 &&
            EXP_FIND(q->filters, q->filters_len, m->filter) == NULL)
            return error_set(e, ST_INVALID,
                             "unrecognized filter id %.*s in metric %.*s",
                             SLICE_ARG(m->filter), SLICE_ARG(m->id));
    }
    for (size_t i = 0; i < q->expressions_len; i++) {
        const struct exp_expression *x = &q->expressions[i];
        size_t len;
        const struct slice *names = expression_names(x->parsed, &len);

        for (size_t k = 0; k < len; k++)
            if (EXP_FIND(q->metrics, q->metrics_len, names[k]) == NULL &&
                EXP_FIND(q->expressions, q->expressions_len, names[k]) == NULL)
                return error_set(e, ST_INVALID,
                                 "Expression [%.*s] was missing input %.*s",
                                 SLICE_ARG(x->expr), SLICE_ARG(names[k]));
        if (!x->operator_given)
            return error_set(e, ST_INVALID, "The set operator cannot be null");
        if (len == 0)
            return error_set(e, ST_INVALID,
                             "The expression didn't appear to have any "
                             "variables");
    }
    return ST_OK;
}

static enum status
check(struct exp_query *q, const struct parse_options *o, struct arena *a,
      struct parse_error *e)
{
    enum status st;

    if (!q->time_given)
        return error_set(&e->message, ST_INVALID, "missing time");
    st = check_time(&q->time, o, a, &e->message);
    if (st != ST_OK) {
        (void)parse_fail_twice(e, st);
        return error_set(&e->message, st, "Invalid time");
    }
    if (q->metrics_len == 0)
        return error_set(&e->message, ST_INVALID, "missing or empty metrics");
    st = check_ids(q, &e->message);
    if (st == ST_OK) {
        struct error why;

        for (size_t i = 0; i < q->metrics_len; i++)
            if (check_metric(&q->metrics[i], o, &why) != ST_OK)
                return invalid(e, &why, "metric", i);
        for (size_t i = 0; i < q->filters_len; i++)
            if (check_id(q->filters[i].id, "Missing or empty id", &why) !=
                ST_OK)
                return invalid(e, &why, "filter", i);
        for (size_t i = 0; i < q->expressions_len; i++)
            if (check_expression(&q->expressions[i], a, &why) != ST_OK)
                return invalid(e, &why, "expression", i);
    }
    return st == ST_OK ? check_references(q, &e->message) : st;
}

/* -- the metrics as a query ------------------------------------------------ */

/* "1m-avg" of its parts. */
static enum status
join_downsample(struct slice interval, struct slice aggregator, struct arena *a,
                struct slice *out, struct error *e)
{
    size_t size = interval.size + 1 + aggregator.size;
    char *text = arena_alloc(a, size + 1);

    if (text == NULL)
        return error_no_memory(e);
    (void)snprintf(text, size + 1, "%.*s-%.*s", SLICE_ARG(interval),
                   SLICE_ARG(aggregator));
    *out = slice_of(text, size);
    return ST_OK;
}

static enum status
make_filters(const struct exp_query *q, const struct exp_metric *m,
             struct arena *a, struct sub_query *s, struct error *e)
{
    const struct exp_filter *f;
    enum status st = ST_OK;

    if (m->filter.size == 0)
        return ST_OK;
    f = EXP_FIND(q->filters, q->filters_len, m->filter);
    if (f == NULL)
        return error_set(e, ST_INVALID, "No filter defined: %.*s",
                         SLICE_ARG(m->filter));
    s->explicit_tags = f->explicit_tags;
    s->filters = arena_array(a, f->tags_len, sizeof *s->filters);
    if (s->filters == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < f->tags_len && st == ST_OK; i++) {
        st = filter_make(&f->tags[i].texts, a, &s->filters[i], e);
        if (st == ST_OK)
            s->filters_len++;
    }
    return st;
}

/* Metrics that ask the same share a sub-query.  'asked' has the canonical text
 * of each sub-query. */
static enum status
add_sub(struct exp_query *q, struct exp_metric *m, struct slice downsample,
        struct slice *asked, struct arena *a, struct error *e)
{
    size_t same = 0, len = q->q.subs_len++;
    struct sub_query *s = &q->q.subs[len];
    enum status st;

    *s = (struct sub_query){
        .metric = m->metric,
        .aggregator_name =
            m->aggregator.data != NULL ? m->aggregator : q->time.aggregator,
        .downsample.text = downsample,
        .rate = q->time.rate,
        .rate_options.counter_max = INT64_MAX,
    };
    st = make_filters(q, m, a, s, e);
    if (st == ST_OK)
        st = query_canonical(s, a, &asked[len], e);
    if (st != ST_OK)
        return st;
    while (!slice_eq(asked[same], asked[len]))
        same++;
    m->sub = &q->q.subs[same];
    if (same == len)
        return ST_OK;
    q->q.subs_len--;
    for (size_t i = 0; i < s->filters_len; i++)
        filter_fini(&s->filters[i]);
    return ST_OK;
}

/* As a HashMap of Java lists the ids. */
static enum status
build(struct exp_query *q, const struct parse_options *o, struct arena *a,
      struct parse_error *e)
{
    struct query *v = &q->q;
    struct slice downsample = { NULL, 0 }, ids[EXP_IDS_MAX];
    struct slice *asked = arena_array(a, q->metrics_len, sizeof *asked);
    size_t order[EXP_IDS_MAX];
    enum status st = ST_OK;

    v->start_text = q->time.start;
    v->end_text = q->time.end;
    v->timezone_text = q->time.timezone;
    v->no_annotations = v->whole_hours = v->ms_resolution = true;
    v->lazy = true;
    v->subs = arena_array(a, q->metrics_len, sizeof *v->subs);
    if (v->subs == NULL || asked == NULL)
        return error_no_memory(&e->message);
    if (q->time.downsampler_given)
        st = join_downsample(q->time.interval, q->time.downsample_aggregator, a,
                             &downsample, &e->message);
    for (size_t i = 0; i < q->metrics_len; i++) {
        order[i] = i;
        ids[i] = q->metrics[i].id;
    }
    java_order(ids, q->metrics_len, order, q->metrics_len);
    for (size_t i = 0; i < q->metrics_len && st == ST_OK; i++)
        st = add_sub(q, &q->metrics[order[i]], downsample, asked, a,
                     &e->message);
    return st == ST_OK ? query_check(v, o, a, e) : st;
}

/* 'query': the points of queries, a line each, or a picture of them. */

#include <math.h>

#include "base/text/java.h"
#include "query/engine/engine.h"
#include "tsd/api/graph/graph_chart.h"
#include "tsd/api/graph/graph_notes.h"
#include "tsd/tool/points/query_words.h"
#include "tsd/tool/tool.h"

int
tool_query_check(struct tool *t)
{
    if (tool_words(t) < 3)
        return tool_usage(t, "Not enough arguments.");
    if (tool_option(t, "--exact") != NULL &&
        tool_option(t, "--whole-hours") != NULL)
        return tool_usage(t, "--exact and --whole-hours exclude another.");
    if (tool_option(t, "--graph") != NULL && *tool_option(t, "--graph") == '\0')
        return tool_usage(t, "--graph wants a path.");
    return 0;
}

static void
print_group(struct tool *t, const struct query *q, const struct result_group *g)
{
    const struct dps *d = &g->dps;
    struct buf tags = BUF_INIT;
    enum dp_kind kind;
    char text[JAVA_FIXED_MAX];

    buf_put_str(&tags, " {");
    for (size_t i = 0; i < g->tags_len; i++)
        buf_printf(&tags, "%s%.*s=%.*s", i == 0 ? "" : ", ",
                   SLICE_ARG(g->tag_keys[i]), SLICE_ARG(g->tag_values[i]));
    buf_put_str(&tags, "}\n");
    for (size_t i = 0; i < d->len && !tool_is_cancelled(t); i++) {
        if (!q->whole_hours &&
            (d->ts_ms[i] < q->start_ms || d->ts_ms[i] > q->end_ms))
            continue;
        tool_printf(t, "%.*s %lld ", SLICE_ARG(g->metric),
                    (long long)d->ts_ms[i]);
        kind = (enum dp_kind)d->kind[i];
        if (kind == DP_INT)
            tool_printf(t, "%lld", (long long)d->v[i].i);
        else
            tool_write(t, slice_of(text, java_format_fixed(
                                             kind == DP_NULL ? NAN : d->v[i].d,
                                             text)));
        tool_write(t, buf_slice(&tags));
    }
    buf_fini(&tags);
}

/* A line on 'err' for each sub-query that needs what retention has dropped. */
static void
tool_warn_of_dropped(struct tool *t, const struct query *q,
                     const struct query_result *result)
{
    char text[DROPPED_TEXT];

    for (size_t i = 0; i < result->stats_len; i++) {
        if (result->stats[i].dropped.before_ms == 0)
            continue;
        dropped_text(&result->stats[i].dropped, text);
        tool_say(t, "warning: %.*s: %s", SLICE_ARG(q->subs[i].metric), text);
    }
}

/* Whole hours as OpenTSDB's, or the range alone. */
static bool
wants_whole_hours(const struct tool *t)
{
    if (tool_option(t, "--exact") != NULL)
        return false;
    return t->as_tsdb || tool_option(t, "--whole-hours") != NULL;
}

static enum status
run_query(struct tool *t, const struct query *q, struct arena *a,
          struct query_result *result, struct error *e)
{
    struct parse_error why = { 0 };
    enum status st =
        engine_run(t->api->engine, q, tool_cancel(t), NULL, a, result, &why);

    return st == ST_OK ? ST_OK : error_set(e, st, "%s", why.message.text);
}

/* One after another, so that only one is in memory. */
static enum status
print_queries(struct tool *t, struct query *q, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < q->subs_len && st == ST_OK; i++) {
        struct arena *a = arena_new(t->settings->query_bytes);
        struct query one = *q;
        struct query_result result;

        one.subs = &q->subs[i];
        one.subs->index = 0;
        one.subs_len = 1;
        one.ms_resolution = one.no_annotations = true;
        one.whole_hours = wants_whole_hours(t);
        st = run_query(t, &one, a, &result, e);
        for (size_t j = 0; st == ST_OK && j < result.groups_len; j++)
            print_group(t, &one, &result.groups[j]);
        if (st == ST_OK)
            tool_warn_of_dropped(t, &one, &result);
        arena_free(&a);
    }
    return st;
}

#define PARAMS_A_QUERY 2 /* m and o */

/* "+title=x" is /q's title=x; a line's options choose its axis. */
static enum status
read_look(const struct query_words *w, struct arena *a,
          struct graph_params *out, struct error *e)
{
    size_t len = 0;
    struct http_param *p = arena_array(
        a, w->options_len + PARAMS_A_QUERY * w->query.subs_len + 1, sizeof *p);

    if (p == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < w->options_len; i++) {
        struct slice value = slice_str(w->options[i] + 1), name;

        name = slice_cut(&value, '=');
        p[len++] = (struct http_param){ name, value };
    }
    for (size_t i = 0; i < w->query.subs_len; i++) {
        const char *line = w->lines[i];
        bool right = line != NULL && strstr(line, "x1y2") != NULL;

        p[len++] = (struct http_param){ slice_str("m"), slice_str("") };
        p[len++] = (struct http_param){ slice_str("o"),
                                        slice_str(right ? "axis x1y2" : "") };
    }
    return graph_params_parse(p, len, a, out, e);
}

static enum status
stop_drawing(void *ctx, struct error *e)
{
    return deadline_check(ctx, e);
}

/* Writes it to the tool's 'out'. */
static enum status
tool_graph(struct tool *t, struct query_words *w, struct error *e)
{
    struct arena *a = arena_new(t->settings->query_bytes);
    struct graph_params look;
    struct query_result result;
    enum status st = read_look(w, a, &look, e);

    w->query.ms_resolution = true;
    if (st == ST_OK)
        st = run_query(t, &w->query, a, &result, e);
    if (st == ST_OK) {
        struct chart *c = &look.chart;
        struct buf picture = { .max = t->api->answer_bytes };

        st =
            graph_chart_make(&w->query, &result, CHART_SERIES_MAX, a, &look, e);
        c->stop = stop_drawing;
        c->stop_ctx = &result.deadline;
        if (st == ST_OK)
            st = graph_notes_read(t->api, &w->query, &result, a, c, e);
        if (st == ST_OK)
            st = chart_draw(c, a, &picture, e);
        if (st == ST_OK)
            tool_write(t, buf_slice(&picture));
        buf_fini(&picture);
    }
    if (st == ST_OK)
        tool_warn_of_dropped(t, &w->query, &result);
    arena_free(&a);
    return st;
}

int
tool_query(struct tool *t)
{
    struct query_words w;
    struct error e;
    enum status st = query_words_parse(t->args->words, tool_words(t),
                                       clock_now_ms(t->api->clock), t->zone,
                                       t->arena, &w, &e);

    if (st == ST_OK)
        st = tool_option(t, "--graph") != NULL ? tool_graph(t, &w, &e)
                                               : print_queries(t, &w.query, &e);
    query_fini(&w.query);
    return st == ST_OK ? 0 : tool_fail(t, "%s", e.text);
}

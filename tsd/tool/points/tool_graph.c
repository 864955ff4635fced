/* 'query --graph': a picture of the queries, as /q draws it. */
#include "tsd/tool/points/tool_graph.h"

#include "query/engine/engine.h"
#include "tsd/api/graph/graph_chart.h"
#include "tsd/api/graph/graph_notes.h"
#include "tsd/tool/points/tool_points.h"

#define PARAMS_A_QUERY 2 /* m and o */

static struct http_param
param(const char *name, struct slice value)
{
    return (struct http_param){ slice_str(name), value };
}

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

        p[len++] = param("m", slice_str(""));
        p[len++] = param("o", slice_str(right ? "axis x1y2" : ""));
    }
    return graph_params_parse(p, len, a, out, e);
}

static enum status
stop_drawing(void *ctx, struct error *e)
{
    return deadline_check(ctx, e);
}

enum status
tool_graph(struct tool *t, struct query_words *w, struct error *e)
{
    struct arena *a =
        arena_new(settings_size(t->settings, "halite.query.bytes"));
    struct graph_params look;
    struct query_result result;
    struct parse_error why = { 0 };
    enum status st = read_look(w, a, &look, e);

    w->query.ms_resolution = true;
    if (st == ST_OK) {
        st = engine_run(t->api->engine, &w->query, tool_cancel(t), NULL, a,
                        &result, &why);
        if (st != ST_OK)
            (void)error_set(e, st, "%s", why.message.text);
    }
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

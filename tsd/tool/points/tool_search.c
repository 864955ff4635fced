/* 'search lookup': the series of a metric and tags, a line each. */
#include "tsd/tool/tool.h"

#include "tsd/api/names/series_lookup.h"
#include "tsd/transfer/dump.h"

struct searching {
    struct tool *t;
    struct dump_names names;
    struct error e;
    enum status st;
};

int
tool_search_check(struct tool *t)
{
    if (tool_words(t) == 0)
        return tool_usage(t, "Not enough arguments");
    if (!slice_eq_str(tool_word(t, 0), "lookup")) {
        tool_say(t, "Unknown sub command: %s", t->args->words[0]);
        return tool_usage(t, "Only 'lookup' is known");
    }
    return tool_words(t) > 1 ? 0 : tool_usage(t, "Not enough arguments");
}

/* Series whose names were deleted are left out. */
static bool
print_series(void *ctx, struct slice tsuid)
{
    struct searching *s = ctx;
    struct buf line = BUF_INIT;

    s->st = dump_find_names(s->t->api, tsuid, &s->names, &s->e);
    if (s->st == ST_NOT_FOUND)
        s->st = ST_OK;
    else if (s->st == ST_OK) {
        const struct scan_series *series = &s->names.series;

        api_put_hex(&line, tsuid);
        buf_printf(&line, " %.*s", SLICE_ARG(series->metric));
        for (size_t i = 0; i < series->tags_len; i++)
            buf_printf(&line, " %.*s=%.*s", SLICE_ARG(series->tags[i].key),
                       SLICE_ARG(series->tags[i].value));
        buf_put_u8(&line, '\n');
        tool_write(s->t, buf_slice(&line));
    }
    buf_fini(&line);
    return s->st == ST_OK && !tool_is_cancelled(s->t);
}

/* The words behind 'lookup'. */
static enum status
read_words(struct tool *t, struct series_lookup *l, struct error *e)
{
    size_t i = 1;

    if (memchr(tool_word(t, i).data, '=', tool_word(t, i).size) == NULL)
        l->metric = tool_word(t, i++);
    l->pairs = arena_array(t->arena, tool_words(t), sizeof *l->pairs);
    if (l->pairs == NULL)
        return error_no_memory(e);
    for (; i < tool_words(t); i++) {
        enum status st =
            series_lookup_tag(tool_word(t, i), &l->pairs[l->len++], e);

        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

int
tool_search(struct tool *t)
{
    struct searching s = { .t = t };
    struct series_lookup l = {
        .a = t->api,
        .arena = t->arena,
        .found = print_series,
        .ctx = &s,
        .cancel = tool_cancel(t),
    };
    enum status st = read_words(t, &l, &s.e);

    if (st == ST_OK)
        st = series_lookup_resolve(&l, &s.e);
    if (st == ST_OK)
        st = series_lookup_walk(&l, &s.e);
    if (st == ST_OK)
        st = s.st;
    dump_names_fini(&s.names);
    return st == ST_OK ? 0 : tool_fail(t, "%s", s.e.text);
}

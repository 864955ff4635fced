/* 'purge': series of which nothing is left, and the names that only they had,
 * are forgotten. */
#include "tsd/tool/tool.h"

#include "tsd/config/retention_policies.h"
#include "uid/purge/purge.h"

struct purge_tool {
    struct tool *t;
    struct retention_policies patterns; /* with one for each word */
};

static bool
takes_metric(void *ctx, uint64_t metric)
{
    const struct purge_tool *x = ctx;
    struct buf name = BUF_INIT;
    bool takes =
        uid_name(x->t->api->uids, UID_METRIC, metric, &name, NULL) == ST_OK &&
        retention_policies_find(&x->patterns, buf_slice(&name)) <
            x->patterns.len;

    buf_fini(&name);
    return takes;
}

static void
say_series(void *ctx, struct slice tsuid)
{
    struct purge_tool *x = ctx;
    struct buf line = BUF_INIT;

    api_put_hex(&line, tsuid);
    tool_printf(x->t, "series %s\n", buf_cstr(&line));
    buf_fini(&line);
}

static void
say_name(void *ctx, enum uid_kind kind, struct slice name, uint64_t id)
{
    struct purge_tool *x = ctx;
    char bytes[UID_BYTES_TEXT];

    tool_printf(x->t, "%s %.*s: %s\n", uid_kind_name(kind), SLICE_ARG(name),
                uid_bytes_text(x->t->api->uids, kind, id, bytes));
}

int
tool_purge(struct tool *t)
{
    struct purge_tool x = { .t = t };
    bool tells = tool_is_verbose(t);
    struct purge p = {
        .dry_run = tool_option(t, "--dry-run") != NULL,
        .unused_names = tool_option(t, "--unused-names") != NULL,
        .takes = tool_words(t) == 0 ? NULL : takes_metric,
        .series = tells ? say_series : NULL,
        .name = tells ? say_name : NULL,
        .ctx = &x,
        .cancel = tool_cancel(t),
    };
    struct error e;
    enum status st;
    struct buf text = BUF_INIT;

    /* The words are patterns as those of policies. */
    for (size_t i = 0; i < tool_words(x.t); i++) {
        buf_put_slice(&text, tool_word(x.t, i));
        buf_put_str(&text, " forever;");
    }
    st = retention_policies_parse(buf_slice(&text), &x.patterns, &e);
    buf_fini(&text);
    if (st == ST_OK)
        st = purge_run(&p, t->api->series, t->api->store, t->api->uids, &e);
    retention_policies_fini(&x.patterns);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    tool_printf(t,
                "%s %llu of %llu series, %llu metrics, %llu tag keys, %llu "
                "tag values\n",
                p.dry_run ? "would forget" : "forgot",
                (unsigned long long)p.forgotten,
                (unsigned long long)p.looked_at,
                (unsigned long long)p.names[UID_METRIC],
                (unsigned long long)p.names[UID_TAGK],
                (unsigned long long)p.names[UID_TAGV]);
    return 0;
}

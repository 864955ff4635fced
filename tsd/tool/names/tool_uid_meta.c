/* 'uid metasync' and its kin: metadata and trees, all at once. */
#include "tsd/tool/tool.h"

#include "base/text/number.h"
#include "uid/meta/meta.h"
#include "uid/meta/tree.h"
#include "uid/names/uid.h"

#define BAD_TREE 3 /* exit status of 'uid treepurge' */

struct syncing {
    struct tool *t;
    uint64_t done;
    struct error e;
    enum status st;
    int64_t from_us;
};

static int
end(struct syncing *s, enum status st, const char *what)
{
    if (st == ST_OK)
        st = s->st;
    if (st != ST_OK)
        return tool_fail(s->t, "%s", s->e.text);
    if (tool_is_verbose(s->t))
        tool_say(s->t, "Completed meta data %s in [%lld] seconds: %llu", what,
                 (long long)((clock_monotonic_us() - s->from_us) / 1000000),
                 (unsigned long long)s->done);
    return 0;
}

/* -- metasync -------------------------------------------------------------- */

/* A record for a series that has none, or whose metadata was deleted. */
static enum status
sync_one(struct syncing *s, struct slice tsuid)
{
    const struct api *a = s->t->api;
    const struct meta_of of = { META_SERIES, tsuid };
    struct meta meta = meta_empty(), old;
    uint32_t created_s;
    bool has;
    enum status st = meta_has_record(a->records, of, &has, &s->e);

    if (st == ST_OK && has) {
        st = meta_get(a->records, of, s->t->arena, &old, &s->e);
        arena_reset(s->t->arena);
        if (st != ST_NOT_FOUND)
            return st;
        st = ST_OK;
    }
    if (st == ST_OK)
        st = series_created(a->series, tsuid, &created_s, &s->e);
    if (st != ST_OK)
        return st;
    meta.created = created_s;
    s->done++;
    return meta_create(a->records, of, &meta, &s->e);
}

static bool
sync_series(void *ctx, struct slice tsuid)
{
    struct syncing *s = ctx;

    s->st = sync_one(s, tsuid);
    return s->st == ST_OK && !tool_is_cancelled(s->t);
}

int
tool_uid_metasync(struct tool *t)
{
    struct syncing s = { .t = t, .from_us = clock_monotonic_us() };
    enum status st =
        series_each(t->api->series, 0, NULL, sync_series, &s, &s.e);

    return end(&s, st, "synchronization");
}

/* -- metapurge ------------------------------------------------------------- */

static bool
purge_series(void *ctx, struct slice tsuid)
{
    struct syncing *s = ctx;

    s->st = meta_delete(s->t->api->records,
                        (struct meta_of){ META_SERIES, tsuid }, &s->e);
    s->done++;
    return s->st == ST_OK && !tool_is_cancelled(s->t);
}

static enum status
purge_name(struct syncing *s, enum uid_kind kind, uint64_t id)
{
    const struct api *a = s->t->api;
    unsigned width = uid_width(a->uids, kind);
    uint8_t bytes[8];
    struct meta_of of = { (enum meta_kind)kind, slice_of(bytes, width) };
    bool has;
    enum status st;

    key_put_uint(bytes, id, width);
    st = meta_has_record(a->records, of, &has, &s->e);
    if (st != ST_OK || !has)
        return st;
    s->done++;
    return meta_delete(a->records, of, &s->e);
}

int
tool_uid_metapurge(struct tool *t)
{
    struct syncing s = { .t = t, .from_us = clock_monotonic_us() };
    enum status st = meta_each_series(t->api->records, slice_str(""),
                                      purge_series, &s, &s.e);

    if (st == ST_OK)
        st = s.st;
    for (int kind = 0; kind < UID_KINDS && st == ST_OK; kind++) {
        struct uid_names *names =
            uid_names_open(s.t->api->uids, (enum uid_kind)kind, slice_str(""));
        struct slice name;
        uint64_t id;
        enum status closed;

        while (st == ST_OK && !tool_is_cancelled(s.t) &&
               uid_names_next(names, &name, &id))
            st = purge_name(&s, (enum uid_kind)kind, id);
        closed = uid_names_close(&names, st == ST_OK ? &s.e : NULL);
        st = st == ST_OK ? closed : st;
    }
    return end(&s, st, "purge");
}

/* -- trees ----------------------------------------------------------------- */

/* Branches are made when they are asked for. */
int
tool_uid_treesync(struct tool *t)
{
    if (!t->settings->tree_enable_processing)
        tool_say(t, "Tree processing is disabled");
    else if (tool_is_verbose(t))
        tool_say(t, "Branches are up to date: they are made on request");
    return 0;
}

int
tool_uid_treepurge(struct tool *t)
{
    struct slice text = tool_word(t, 1);
    bool definition = tool_words(t) >= 3 &&
                      slice_eq_nocase(tool_word(t, 2), slice_str("true"));
    struct error e;
    int64_t id;
    enum status st;

    if (!number_parse_i64(text, &id) || id < 1 || id > TREE_ID_MAX) {
        tool_say(t, "Invalid tree ID: %.*s", SLICE_ARG(text));
        return BAD_TREE;
    }
    st = tree_delete(t->api->records, id, definition, t->arena, &e);
    if (st != ST_OK && st != ST_NOT_FOUND)
        return tool_fail(t, "%s", e.text);
    if (tool_is_verbose(t))
        tool_say(t, "Completed tree deletion for: %lld", (long long)id);
    return 0;
}

/* 'uid' and 'mkmetric': names and their ids. */
#include "tsd/tool/tool.h"

#include <stdlib.h>

#include "base/text/number.h"
#include "query/model/regexp.h"
#include "tsd/put/put.h"
#include "uid/meta/meta.h"
#include "uid/meta/tree.h"
#include "uid/names/uid.h"

/* Exit statuses. */
#define UID_BAD_WIDTH 3
#define UID_BAD_KIND  4 /* of 'uid delete' */

/* "metrics a.b: [0, 0, 2]" */
static void
tool_uid_print(struct tool *t, enum uid_kind kind, struct slice name,
               uint64_t id)
{
    char bytes[UID_BYTES_TEXT];

    tool_printf(t, "%s %.*s: %s\n", uid_kind_name(kind), SLICE_ARG(name),
                uid_bytes_text(t->api->uids, kind, id, bytes));
}

/* False: it said that there is no such kind. */
static bool
tool_uid_kind(struct tool *t, size_t word, enum uid_kind *out)
{
    const char *name = t->args->words[word];

    if (uid_kind_parse(name, out))
        return true;
    (void)tool_fail(t, "Invalid type requested: %s", name);
    return false;
}

/* -- lookup ---------------------------------------------------------------- */

/* Of a name when 'is_id' is not set, else of the id. */
static enum status
look_up(struct tool *t, enum uid_kind kind, struct slice name, bool is_id,
        uint64_t id, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    if (is_id) {
        st = uid_name(t->api->uids, kind, id, &text, e);
        name = buf_slice(&text);
    } else {
        st = uid_find(t->api->uids, kind, name, &id, e);
    }
    if (st == ST_OK)
        tool_uid_print(t, kind, name, id);
    buf_fini(&text);
    return st;
}

/* Bytes of an id as --idwidth or the store has them. */
static unsigned
id_width(const struct tool *t, enum uid_kind kind)
{
    const char *text = tool_option(t, "--idwidth");
    int64_t width;

    return text != NULL && number_parse_i64(slice_str(text), &width)
               ? (unsigned)width
               : uid_width(t->api->uids, kind);
}

static int
check_width(struct tool *t)
{
    const char *text = tool_option(t, "--idwidth");
    int64_t width;

    if (text == NULL)
        return 0;
    if (!number_parse_i64(slice_str(text), &width) || width > INT16_MAX)
        return tool_fail(t, "For input string: \"%s\"", text);
    if (width > 0)
        return 0;
    tool_say(t, "Negative or 0 --idwidth");
    return UID_BAD_WIDTH;
}

/* 'uid [KIND] NAME|ID' */
static int
uid_lookup_word(struct tool *t)
{
    bool one = tool_words(t) == 2, found = false, is_id;
    struct slice name = tool_word(t, one ? 1 : 0);
    enum uid_kind kind = UID_METRIC;
    int64_t number = 0;
    uint64_t id;
    struct error e;

    if (one && !tool_uid_kind(t, 0, &kind))
        return TOOL_FAILED;
    is_id = number_parse_i64(name, &number); /* with a sign, as OpenTSDB */
    id = (uint64_t)number;
    for (int k = one ? (int)kind : 0; k < (one ? (int)kind + 1 : UID_KINDS);
         k++) {
        unsigned width = id_width(t, (enum uid_kind)k);
        enum status st;

        if (is_id && width < 8 && id >> 8 * width != 0)
            return tool_fail(t,
                             "%.*s is too large to fit on %u bytes.  Maybe "
                             "you forgot to adjust --idwidth?",
                             SLICE_ARG(name), width);
        if (is_id && width != uid_width(t->api->uids, (enum uid_kind)k))
            continue;
        st = look_up(t, (enum uid_kind)k, name, is_id, id, &e);
        if (st == ST_OK)
            found = true;
        else if (one || st != ST_NOT_FOUND)
            return tool_fail(t, "%s", e.text);
    }
    return found ? 0 : TOOL_FAILED;
}

/* -- changes --------------------------------------------------------------- */

/* All names are checked before the first of them gets an id. */
static int
assign_words(struct tool *t, enum uid_kind kind, size_t first)
{
    const char *what = kind == UID_METRIC ? "metric" : uid_kind_name(kind);
    struct uid_table *u = t->api->uids;
    struct error e;
    uint64_t id;

    for (size_t i = first; i < tool_words(t); i++)
        if (uid_validate_name(u, what, tool_word(t, i), &e) != ST_OK)
            return tool_fail(t, "%s", e.text);
    for (size_t i = first; i < tool_words(t); i++) {
        if (uid_get_or_create(u, kind, tool_word(t, i), &id, &e) != ST_OK)
            return tool_fail(t, "%s", e.text);
        tool_uid_print(t, kind, tool_word(t, i), id);
    }
    return 0;
}

static int
uid_assign_words(struct tool *t)
{
    enum uid_kind kind;

    return tool_uid_kind(t, 1, &kind) ? assign_words(t, kind, 2) : TOOL_FAILED;
}

static int
uid_rename_words(struct tool *t)
{
    struct slice old_name = tool_word(t, 2), new_name = tool_word(t, 3);
    enum uid_kind kind;
    struct error e;
    uint64_t id;
    enum status st;

    if (!tool_uid_kind(t, 1, &kind))
        return TOOL_FAILED;
    st = uid_find(t->api->uids, kind, old_name, &id, &e);
    if (st == ST_OK)
        st = uid_rename(t->api->uids, kind, old_name, new_name, &e);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    tool_printf(t, "%s %.*s -> %.*s\n", uid_kind_name(kind),
                SLICE_ARG(old_name), SLICE_ARG(new_name));
    return 0;
}

static int
uid_delete_words(struct tool *t)
{
    struct slice name = tool_word(t, 2);
    enum uid_kind kind;
    struct error e;

    if (!tool_uid_kind(t, 1, &kind))
        return UID_BAD_KIND;
    if (uid_delete(t->api->uids, kind, name, &e) != ST_OK)
        return tool_fail(t, "%s", e.text);
    if (tool_is_verbose(t))
        tool_say(t, "UID %s %.*s deleted.", uid_kind_name(kind),
                 SLICE_ARG(name));
    return 0;
}

int
tool_mkmetric(struct tool *t)
{
    return assign_words(t, UID_METRIC, 0);
}

int
tool_mkmetric_check(struct tool *t)
{
    if (tool_words(t) == 0)
        return tool_usage(t, "Wrong number of arguments");
    return check_width(t);
}

/* -- grep ------------------------------------------------------------------ */

struct stream {
    struct uid_names *names;
    bool on;
    struct slice name;
    uint64_t id;
};

static void
stream_next(struct stream *s)
{
    s->on = s->names != NULL && uid_names_next(s->names, &s->name, &s->id);
}

/* UID_KINDS: all are at their end. */
static int
first_name(const struct stream *s)
{
    int first = UID_KINDS;

    for (int k = 0; k < UID_KINDS; k++)
        if (s[k].on &&
            (first == UID_KINDS || slice_cmp(s[k].name, s[first].name) < 0))
            first = k;
    return first;
}

static enum status
grep_streams(struct tool *t, const struct regexp *re, struct stream *s,
             size_t *found, struct error *e)
{
    enum status st;
    int k;

    for (k = 0; k < UID_KINDS; k++)
        stream_next(&s[k]);
    while ((k = first_name(s)) < UID_KINDS && !tool_is_cancelled(t)) {
        st = regexp_find(re, s[k].name, e);
        if (st == ST_OK) {
            ++*found;
            tool_uid_print(t, (enum uid_kind)k, s[k].name, s[k].id);
        } else if (st != ST_NOT_FOUND) {
            return st;
        }
        stream_next(&s[k]);
    }
    return ST_OK;
}

/* Names of all kinds are merged, so that they come in byte order and none of
 * them is kept. */
static int
tool_uid_grep(struct tool *t)
{
    enum uid_kind kind = (enum uid_kind)UID_KINDS;
    struct slice pattern = tool_word(t, tool_words(t) - 1);
    struct buf text = BUF_INIT;
    struct regexp *re = NULL;
    size_t found = 0;
    struct error e;
    enum status st;

    if (tool_words(t) == 3 && !tool_uid_kind(t, 1, &kind))
        return TOOL_FAILED;
    if (tool_option(t, "--ignore-case") != NULL || tool_option(t, "-i") != NULL)
        buf_put_str(&text, "(?i)");
    buf_put_slice(&text, pattern);
    st = regexp_new(buf_slice(&text), &re, &e);
    if (st == ST_OK) {
        struct stream s[UID_KINDS] = { 0 };

        for (int k = 0; k < UID_KINDS; k++)
            if ((int)kind == UID_KINDS || (int)kind == k)
                s[k].names = uid_names_open(t->api->uids, (enum uid_kind)k,
                                            slice_str(""));
        st = grep_streams(t, re, s, &found, &e);
        for (int k = 0; k < UID_KINDS; k++) {
            struct error why;
            enum status closed = uid_names_close(&s[k].names, &why);

            if (closed != ST_OK && st == ST_OK)
                st = error_set(&e, closed, "%s", why.text);
        }
    }
    regexp_free(&re);
    buf_fini(&text);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    return found > 0 ? 0 : TOOL_FAILED;
}

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

static int
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

static int
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
               uid_names_next(names, &name, &id)) {
            const struct api *a = s.t->api;
            unsigned width = uid_width(a->uids, (enum uid_kind)kind);
            uint8_t bytes[8];
            struct meta_of of = { (enum meta_kind)kind,
                                  slice_of(bytes, width) };
            bool has;

            key_put_uint(bytes, id, width);
            st = meta_has_record(a->records, of, &has, &s.e);
            if (st == ST_OK && has) {
                s.done++;
                st = meta_delete(a->records, of, &s.e);
            }
        }
        closed = uid_names_close(&names, st == ST_OK ? &s.e : NULL);
        st = st == ST_OK ? closed : st;
    }
    return end(&s, st, "purge");
}

/* -- trees ----------------------------------------------------------------- */

/* Branches are made when they are asked for. */
static int
tool_uid_treesync(struct tool *t)
{
    if (!t->settings->tree_enable_processing)
        tool_say(t, "Tree processing is disabled");
    else if (tool_is_verbose(t))
        tool_say(t, "Branches are up to date: they are made on request");
    return 0;
}

static int
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

/* -- all of them ----------------------------------------------------------- */

static const struct sub_command {
    const char *name;
    size_t least, most; /* words, its own too */
    bool passes_over;   /* OpenTSDB's passes over words behind these */
    int (*run)(struct tool *t);
} sub_commands[] = {
    { "grep", 2, 3, false, tool_uid_grep },
    { "assign", 3, SIZE_MAX, false, uid_assign_words },
    { "rename", 4, 4, false, uid_rename_words },
    { "delete", 3, 3, false, uid_delete_words },
    { "fsck", 1, 3, true, tool_uid_fsck },
    { "metasync", 1, 1, true, tool_uid_metasync },
    { "metapurge", 1, 1, true, tool_uid_metapurge },
    { "treesync", 1, 1, true, tool_uid_treesync },
    { "treepurge", 2, 3, true, tool_uid_treepurge },
};

/* A lookup where the first word names none. */
static const struct sub_command *
find_sub_command(const struct tool *t)
{
    static const struct sub_command lookup = { "", 1, 2, false,
                                               uid_lookup_word };

    for (size_t i = 0; i < sizeof sub_commands / sizeof sub_commands[0]; i++)
        if (slice_eq_str(tool_word(t, 0), sub_commands[i].name))
            return &sub_commands[i];
    return &lookup;
}

int
tool_uid_check(struct tool *t)
{
    const struct sub_command *s;
    int rc;

    if (tool_words(t) == 0)
        return tool_usage(t, "Not enough arguments");
    rc = check_width(t);
    if (rc != 0)
        return rc;
    s = find_sub_command(t);
    return tool_words(t) >= s->least &&
                   (tool_words(t) <= s->most || (t->as_tsdb && s->passes_over))
               ? 0
               : tool_usage(t, "Wrong number of arguments");
}

int
tool_uid(struct tool *t)
{
    return find_sub_command(t)->run(t);
}

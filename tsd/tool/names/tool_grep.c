/* 'uid grep': names of all kinds are merged, so that they come in byte order
 * and none of them is kept. */
#include "tsd/tool/names/tool_uid_priv.h"

#include "query/model/regexp.h"
#include "uid/names/uid.h"

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

int
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

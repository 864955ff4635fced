/* See series_check(). */
#include "storage/row/key.h"
#include "uid/series/series.h"

static enum status
reject_count(const struct series_rules *rules, const struct series_text *x,
             const struct tag_set *set, size_t len, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    tag_set_print(set->tags, set->len, &text);
    if (len == 0)
        st = error_set(e, ST_INVALID,
                       "Need at least one tag (metric=%.*s, tags=%s)",
                       SLICE_ARG(x->metric), buf_cstr(&text));
    else
        st = error_set(e, ST_INVALID,
                       "Too many tags: %zu maximum allowed: %zu, tags: %s", len,
                       rules->max_tags, buf_cstr(&text));
    buf_fini(&text);
    return st;
}

/* Rejects one half of a tag, and names the other one. */
static enum status
reject_tag(const struct uid_table *u, const char *what, struct slice other,
           struct slice bad, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    if (other.data == NULL)
        other = slice_str("null");
    buf_printf(&text, "%s [%.*s]", what, SLICE_ARG(other));
    st = uid_validate_name(u, buf_cstr(&text), bad, e);
    buf_fini(&text);
    return st;
}

enum status
series_check(const struct uid_table *u, const struct series_rules *rules,
             const struct series_text *x, struct tag_set *set, struct error *e)
{
    enum status st = tag_set_make(x->tags, x->tags_len, set, e);
    size_t max =
        rules->max_tags < KEY_MAX_TAGS ? rules->max_tags : KEY_MAX_TAGS;

    if (st == ST_LIMIT)
        return reject_count(rules, x, set, x->tags_len, e);
    if (st != ST_OK)
        return st;
    if (set->len == 0 || set->len > max)
        return reject_count(rules, x, set, set->len, e);
    st = uid_validate_name(u, "metric name", x->metric, e);
    for (size_t i = 0; i < set->len && st == ST_OK; i++) {
        const struct tag *t = set->tags[i];

        if (uid_validate_name(u, "", t->key, NULL) != ST_OK)
            st = reject_tag(u, "tag name with value", t->value, t->key, e);
        else if (uid_validate_name(u, "", t->value, NULL) != ST_OK)
            st = reject_tag(u, "tag value with key", t->key, t->value, e);
    }
    return st;
}

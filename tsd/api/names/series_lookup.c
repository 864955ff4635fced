#include "tsd/api/names/series_lookup.h"

#include "base/sort.h"

#define ANY UINT64_C(0) /* no id is 0 */

enum status
series_lookup_tag(struct slice tag, struct lookup_pair *out, struct error *e)
{
    const uint8_t *eq = tag.size == 0 ? NULL : memchr(tag.data, '=', tag.size);
    size_t at = eq == NULL ? 0 : (size_t)(eq - tag.data);

    *out = (struct lookup_pair){ 0 };
    if (tag.size < 2)
        return error_set(e, ST_INVALID, "Missing tag pair");
    if (eq == NULL || (at > 0 && at + 1 < tag.size &&
                       memchr(eq + 1, '=', tag.size - at - 1) != NULL))
        return error_set(e, ST_INVALID, "invalid tag: %.*s", SLICE_ARG(tag));
    if (at > 0)
        out->key = slice_of(tag.data, at);
    if (at + 1 < tag.size)
        out->value = slice_of(eq + 1, tag.size - at - 1);
    return ST_OK;
}

static bool
is_any(struct slice s)
{
    return s.data == NULL || slice_eq_str(s, "*");
}

enum status
series_lookup_resolve(struct series_lookup *l, struct error *e)
{
    enum status st = ST_OK;

    if (l->metric.size > 0 && !is_any(l->metric))
        st = uid_find(l->a->uids, UID_METRIC, l->metric, &l->metric_id, e);
    for (size_t i = 0; i < l->len && st == ST_OK; i++) {
        struct lookup_pair *p = &l->pairs[i];

        if (is_any(p->key) && is_any(p->value))
            return error_set(e, ST_INVALID,
                             "A tag needs a key or a value other than *");
        if (!is_any(p->key))
            st = uid_find(l->a->uids, UID_TAGK, p->key, &p->key_id, e);
        if (st == ST_OK && !is_any(p->value))
            st = uid_find(l->a->uids, UID_TAGV, p->value, &p->value_id, e);
    }
    return st;
}

/* -- series by series ------------------------------------------------------ */

/* Has the series a tag that the pair asks for? */
static bool
has_pair(const struct series_lookup *l, struct slice tsuid,
         const struct lookup_pair *p)
{
    const struct key_layout *layout = store_layout(l->a->store);

    for (size_t i = 0; i < tsuid_tags(layout, tsuid); i++) {
        struct slice key = tsuid_tagk(layout, tsuid, i);
        struct slice value = tsuid_tagv(layout, tsuid, i);

        if ((p->key_id == ANY ||
             key_get_uint(key.data, layout->tagk_width) == p->key_id) &&
            (p->value_id == ANY ||
             key_get_uint(value.data, layout->tagv_width) == p->value_id))
            return true;
    }
    return false;
}

static bool
is_wanted(const struct series_lookup *l, struct slice tsuid)
{
    for (size_t i = 0; i < l->len; i++) {
        bool hit = false, first = true;

        for (size_t j = 0; j < l->len && !hit; j++) {
            if (l->pairs[j].key_id != l->pairs[i].key_id)
                continue;
            if (j < i)
                first = false; /* this key was judged before */
            hit = !first || has_pair(l, tsuid, &l->pairs[j]);
        }
        if (!hit)
            return false;
    }
    return true;
}

static bool
visit(void *ctx, struct slice tsuid)
{
    struct series_lookup *l = ctx;

    if (++l->seen % 4096 == 0 && cancel_asked(l->cancel))
        return false;
    return !is_wanted(l, tsuid) || l->found(l->ctx, tsuid);
}

/* The pair of a key that asks for values, all of them known; or NULL. */
static const struct lookup_pair *
narrow_pair(const struct series_lookup *l)
{
    for (size_t i = 0; i < l->len; i++) {
        bool good = l->pairs[i].key_id != ANY;

        for (size_t j = 0; j < l->len && good; j++)
            good = l->pairs[j].key_id != l->pairs[i].key_id ||
                   l->pairs[j].value_id != ANY;
        if (good)
            return &l->pairs[i];
    }
    return NULL;
}

/* Past all series, or only past those that the index knows by a tag. */
enum status
series_lookup_walk(struct series_lookup *l, struct error *e)
{
    const struct lookup_pair *narrow = narrow_pair(l);
    uint64_t *values;
    size_t len = 0;

    if (narrow == NULL)
        return series_each(l->a->series, l->metric_id, NULL, visit, l, e);
    values = arena_array(l->arena, l->len, sizeof *values);
    if (values == NULL)
        return error_set(e, ST_LIMIT, "too many tags");
    for (size_t i = 0; i < l->len; i++)
        if (l->pairs[i].key_id == narrow->key_id)
            values[len++] = l->pairs[i].value_id;
    return series_each_tagged(l->a->series, l->metric_id, narrow->key_id,
                              values, sort_unique_u64(values, len), visit, l,
                              e);
}

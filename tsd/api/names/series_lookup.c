#include "tsd/api/names/series_lookup.h"

#include <stdlib.h>

#include "base/sort.h"

#define ANY  UINT64_C(0) /* no id is 0 */
#define NONE UINT64_MAX  /* no id is so large: no series has the value */

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

static enum status
resolve_pair(const struct series_lookup *l, struct lookup_pair *p,
             struct error *e)
{
    enum status st = ST_OK;

    if (is_any(p->key) && is_any(p->value))
        return error_set(e, ST_INVALID,
                         "A tag needs a key or a value other than *");
    if (!is_any(p->key))
        st = uid_find(l->a->uids, UID_TAGK, p->key, &p->key_id, e);
    if (st != ST_OK || is_any(p->value))
        return st;
    st = uid_find(l->a->uids, UID_TAGV, p->value, &p->value_id, e);
    if (st != ST_NOT_FOUND || !l->a->skip_unresolved_tagvs)
        return st;
    p->value_id = NONE;
    return ST_OK;
}

static int
compare_pairs(const void *a, const void *b)
{
    const struct lookup_pair *x = a, *y = b;

    if (x->key_id != y->key_id)
        return x->key_id < y->key_id ? -1 : 1;
    return (x->value_id > y->value_id) - (x->value_id < y->value_id);
}

enum status
series_lookup_resolve(struct series_lookup *l, struct error *e)
{
    enum status st = ST_OK;
    struct lookup_pair *sorted;
    uint64_t *values;

    if (l->metric.size > 0 && !is_any(l->metric))
        st = uid_find(l->a->uids, UID_METRIC, l->metric, &l->metric_id, e);
    for (size_t i = 0; i < l->len && st == ST_OK; i++) {
        st = resolve_pair(l, &l->pairs[i], e);
        if (st == ST_OK && i % 1024 == 1023 && cancel_asked(l->cancel))
            st = error_set(e, ST_BUSY, "the client hung up");
    }
    if (st != ST_OK || l->len == 0)
        return st;
    /* Sorts a copy of the pairs, and makes one entry of those with the same
     * key: a request may have 100,000 pairs, and each series is compared with
     * them. */
    sorted = arena_copy(l->arena, l->pairs, l->len * sizeof *sorted);
    values = arena_array(l->arena, l->len + 1, sizeof *values);
    l->keys = arena_array(l->arena, l->len + 1, sizeof *l->keys);
    if (sorted == NULL || values == NULL || l->keys == NULL)
        return error_no_memory(e);
    qsort(sorted, l->len, sizeof *sorted, compare_pairs);
    for (size_t i = 0; i < l->len; i++) {
        const struct lookup_pair *p = &sorted[i];
        struct lookup_key *k;

        if (i == 0 || p->key_id != sorted[i - 1].key_id)
            l->keys[l->keys_len++] =
                (struct lookup_key){ .id = p->key_id, .values = values };
        k = &l->keys[l->keys_len - 1];
        if (p->value_id == ANY)
            k->any = true;
        else if (p->value_id != NONE &&
                 (k->values_len == 0 ||
                  k->values[k->values_len - 1] != p->value_id))
            k->values[k->values_len++] = *values++ = p->value_id;
    }
    return ST_OK;
}

/* -- series by series ------------------------------------------------------ */

/* Does the series have a tag with this key, and one of its values? */
static bool
has_key(const struct key_layout *layout, struct slice tsuid,
        const struct lookup_key *k)
{
    for (size_t i = 0; i < tsuid_tags(layout, tsuid); i++) {
        if (k->id != ANY && tsuid_tagk_id(layout, tsuid, i) != k->id)
            continue;
        if (k->any || sort_has_u64(k->values, k->values_len,
                                   tsuid_tagv_id(layout, tsuid, i)))
            return true;
    }
    return false;
}

/* A series that has fewer tags than there are keys cannot have them all. */
static bool
is_wanted(const struct series_lookup *l, struct slice tsuid)
{
    const struct key_layout *layout = store_layout(l->a->store);

    if (l->keys_len > tsuid_tags(layout, tsuid) + 1)
        return false;
    for (size_t i = 0; i < l->keys_len; i++)
        if (!has_key(layout, tsuid, &l->keys[i]))
            return false;
    return true;
}

static bool
visit(void *ctx, struct slice tsuid)
{
    struct series_lookup *l = ctx;

    if (++l->seen % 1024 == 0 && cancel_asked(l->cancel))
        return false;
    return !is_wanted(l, tsuid) || l->found(l->ctx, tsuid);
}

/* Past all series, or only past those that the index knows by a tag. */
enum status
series_lookup_walk(struct series_lookup *l, struct error *e)
{
    /* The key with the fewest values, all of them known; or NULL. */
    const struct lookup_key *narrow = NULL;

    for (size_t i = 0; i < l->keys_len; i++) {
        const struct lookup_key *k = &l->keys[i];

        if (k->id != ANY && !k->any &&
            (narrow == NULL || k->values_len < narrow->values_len))
            narrow = k;
    }
    if (narrow == NULL)
        return series_each(l->a->series, l->metric_id, NULL, visit, l, e);
    if (narrow->values_len == 0)
        return ST_OK; /* no value of the key is known */
    return series_each_tagged(
        l->a->series, l->metric_id,
        &(struct series_pick){ narrow->id, narrow->values, narrow->values_len },
        visit, l, e);
}

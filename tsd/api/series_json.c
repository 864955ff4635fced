#include "tsd/api/series_json.h"

#include "query/parse/parse.h"
#include "web/json/json.h"

bool
tsuid_list_add(struct tsuid_list *l, struct slice tsuid)
{
    char *copy = arena_strdup(l->arena, tsuid);

    l->tsuids =
        arena_grow(l->arena, l->tsuids, l->len, &l->cap, sizeof *l->tsuids);
    l->no_memory |= l->tsuids == NULL || copy == NULL;
    if (l->no_memory)
        return false;
    l->tsuids[l->len++] = slice_of(copy, tsuid.size);
    return true;
}

enum status
series_tags_find(const struct api *a, const struct tag *tags, size_t len,
                 struct series_tags *out, bool *unknown, struct error *e)
{
    enum status st = ST_OK;
    size_t at;

    out->len = 0;
    if (unknown != NULL)
        *unknown = false;
    if (len > KEY_MAX_TAGS)
        return error_set(e, ST_INVALID, "Too many tags: %zu", len);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        uint64_t key, value;

        st = uid_find(a->uids, UID_TAGK, tags[i].key, &key, e);
        if (st != ST_OK)
            return st;
        st = uid_find(a->uids, UID_TAGV, tags[i].value, &value, e);
        if (st == ST_NOT_FOUND && unknown != NULL && a->skip_unresolved_tagvs) {
            *unknown = true;
            st = ST_OK;
        } else if (st == ST_OK) {
            /* Puts the tag where its key belongs. */
            at = out->len++;
            for (; at > 0 && out->keys[at - 1] > key; at--) {
                out->keys[at] = out->keys[at - 1];
                out->values[at] = out->values[at - 1];
            }
            out->keys[at] = key;
            out->values[at] = value;
        }
    }
    return st;
}

static uint64_t
id_of(struct slice bytes)
{
    return key_get_uint(bytes.data, (unsigned)bytes.size);
}

bool
series_has_tags(const struct api *a, struct slice tsuid,
                const struct series_tags *tags)
{
    const struct key_layout *layout = store_layout(a->store);
    size_t len = tsuid_tags(layout, tsuid), found = 0;

    for (size_t i = 0; i < len; i++)
        for (size_t k = 0; k < tags->len; k++)
            found += id_of(tsuid_tagk(layout, tsuid, i)) == tags->keys[k] &&
                     id_of(tsuid_tagv(layout, tsuid, i)) == tags->values[k];
    return found >= tags->len;
}

static enum status
put_name(const struct api *a, struct buf *b, enum uid_kind kind,
         struct slice id, struct error *e)
{
    struct buf name = BUF_INIT;
    enum status st = uid_name(a->uids, kind, id_of(id), &name, e);

    if (st == ST_OK)
        json_put_item(b, buf_slice(&name));
    buf_fini(&name);
    return st;
}

enum status
series_put_metric(const struct api *a, struct buf *b, struct slice tsuid,
                  struct error *e)
{
    return put_name(a, b, UID_METRIC,
                    tsuid_metric(store_layout(a->store), tsuid), e);
}

enum status
series_put_tags(const struct api *a, struct buf *b, struct slice tsuid,
                struct error *e)
{
    const struct key_layout *layout = store_layout(a->store);
    enum status st = ST_OK;

    buf_put_u8(b, '{');
    for (size_t i = 0; i < tsuid_tags(layout, tsuid) && st == ST_OK; i++) {
        st = put_name(a, b, UID_TAGK, tsuid_tagk(layout, tsuid, i), e);
        buf_put_u8(b, ':');
        if (st == ST_OK)
            st = put_name(a, b, UID_TAGV, tsuid_tagv(layout, tsuid, i), e);
    }
    buf_put_u8(b, '}');
    return st;
}

enum status
series_put(const struct api *a, struct buf *b, struct slice tsuid,
           struct error *e)
{
    enum status st;

    json_open(b, NULL, '{');
    api_put_id(b, "tsuid", tsuid);
    json_name(b, "metric");
    st = series_put_metric(a, b, tsuid, e);
    json_name(b, "tags");
    if (st == ST_OK)
        st = series_put_tags(a, b, tsuid, e);
    buf_put_u8(b, '}');
    return st;
}

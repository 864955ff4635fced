#include "query/answer/group.h"

#include <stdlib.h>

#include "base/hash.h"
#include "query/model/query.h"

/* How many series ahead their TSUIDs are prefetched. */
#define TSUIDS_AHEAD 8

/* A series with the values that it is grouped by. */
struct keyed {
    const struct fetched *series;
    const uint8_t *key; /* group_tagks_len ids of tagvs */
};

/* False when the series lacks a tagk: it belongs to no group. */
static bool
make_key(const struct key_layout *layout, const struct plan *p,
         struct slice tsuid, uint8_t *out)
{
    size_t tags = tsuid_tags(layout, tsuid), k = 0;

    for (size_t i = 0; i < p->group_tagks_len; i++) {
        while (k < tags && tsuid_tagk_id(layout, tsuid, k) != p->group_tagks[i])
            k++;
        if (k == tags)
            return false;
        memcpy(out + i * layout->tagv_width, tsuid_tagv(layout, tsuid, k).data,
               layout->tagv_width);
    }
    return true;
}

/* By the bytes of the keys, the last one first.  Stable: equal keys keep the
 * order of their TSUIDs.  False: no memory. */
static bool
sort_by_keys(struct keyed *v, size_t len, size_t key_size, struct arena *a)
{
    struct keyed *tmp = arena_array_raw(a, len, sizeof *tmp);

    if (tmp == NULL)
        return false;
    for (size_t byte = key_size; byte-- > 0;) {
        size_t ends[256] = { 0 }, at = 0;

        for (size_t i = 0; i < len; i++)
            ends[v[i].key[byte]]++;
        if (ends[v[0].key[byte]] == len)
            continue;
        for (size_t d = 0; d < 256; d++) {
            size_t n = ends[d];

            ends[d] = at;
            at += n;
        }
        for (size_t i = 0; i < len; i++)
            tmp[ends[v[i].key[byte]]++] = v[i];
        memcpy(v, tmp, len * sizeof *v);
    }
    return true;
}

static size_t
count_keys(const struct keyed *v, size_t len, size_t key_size)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += i == 0 || memcmp(v[i - 1].key, v[i].key, key_size) != 0;
    return n;
}

/* Copies the series that have all their names to 'out->order', and counts the
 * others. */
static void
order_named(const struct nameless *n, const struct fetch *f,
            struct grouping *out)
{
    if (!n->any) {
        if (f->len > 0) /* else there is no array to copy from */
            memcpy(out->order, f->series, f->len * sizeof *out->order);
        out->order_len = f->len;
        return;
    }
    for (size_t i = 0; i < f->len; i++)
        if (nameless_has(n, f->series[i]->tsuid))
            out->nameless++;
        else
            out->order[out->order_len++] = f->series[i];
}

/* Groups the series of 'out->order', and sorts them by group. */
static enum status
group_by_keys(const struct key_layout *layout, const struct plan *p,
              struct arena *a, struct grouping *out, struct error *e)
{
    size_t all = out->order_len;
    size_t key_size = p->group_tagks_len * layout->tagv_width, len = 0;
    struct keyed *keyed = arena_alloc(a, all * sizeof *keyed);
    uint8_t *keys = arena_alloc(a, all * key_size);
    bool ascending = true;

    if (keyed == NULL || keys == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < all; i++) {
        uint8_t *key = keys + len * key_size;

        if (i + TSUIDS_AHEAD < all)
            __builtin_prefetch(out->order[i + TSUIDS_AHEAD]->tsuid.data);
        if (!make_key(layout, p, out->order[i]->tsuid, key))
            continue;
        ascending = ascending &&
                    (len == 0 || memcmp(key - key_size, key, key_size) <= 0);
        keyed[len++] = (struct keyed){ out->order[i], key };
    }
    if (!ascending && !sort_by_keys(keyed, len, key_size, a))
        return error_no_memory(e);
    out->groups = arena_array_raw(a, count_keys(keyed, len, key_size),
                                  sizeof *out->groups);
    if (out->groups == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < len; i++) {
        if (i == 0 || memcmp(keyed[i - 1].key, keyed[i].key, key_size) != 0)
            out->groups[out->groups_len++] =
                (struct group){ .first = i,
                                .key = slice_of(keyed[i].key, key_size) };
        out->groups[out->groups_len - 1].len++;
        out->order[i] = keyed[i].series;
    }
    out->order_len = len;
    return ST_OK;
}

enum status
group_series(const struct plan_context *c, const struct plan *p,
             bool each_alone, const struct fetch *f, struct arena *a,
             struct grouping *out, struct error *e)
{
    const struct key_layout *layout = store_layout(c->store);
    struct nameless nameless;
    enum status status = nameless_find(c->uids, a, &nameless, e);

    *out = (struct grouping){ 0 };
    out->order = arena_alloc(a, f->len * sizeof(struct fetched *));
    if (status == ST_OK && out->order == NULL)
        return error_no_memory(e);
    if (status != ST_OK)
        return status;
    order_named(&nameless, f, out);
    if (!each_alone && p->group_tagks_len > 0)
        return group_by_keys(layout, p, a, out, e);
    out->groups =
        arena_array_raw(a, each_alone ? f->len : 1, sizeof *out->groups);
    if (out->groups == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < out->order_len && each_alone; i++)
        out->groups[i] = (struct group){ .first = i, .len = 1 };
    if (!each_alone && out->order_len > 0)
        out->groups[0] = (struct group){ .len = out->order_len };
    out->groups_len = each_alone ? out->order_len : out->order_len > 0;
    return ST_OK;
}

void
drop_series_out_of_range(const struct query_reading *r, const struct fetch *f,
                         const struct grouping *g, struct group *group)
{
    const struct fetched **series = g->order + group->first;
    size_t n = 0, annotated_only = 0;

    for (size_t k = 0; k < group->len; k++) {
        const struct fetched *one = series[k];
        struct column s = fetched_data(f, one);

        if (reading_has(r, &s)) {
            series[k] = series[n + annotated_only];
            series[n + annotated_only] = series[n];
            series[n++] = one;
        } else if (one->annotated_only) {
            series[k] = series[n + annotated_only];
            series[n + annotated_only++] = one;
        }
    }
    group->len = n;
    group->annotated_only = annotated_only;
}

/* A tagk met in a group. */
struct common {
    uint64_t tagk, tagv;
    bool differs;
};

/* Has it the first one's size, and differs only in bits of 'mask'? */
static bool
differs_within(struct slice first, struct slice tsuid, const uint8_t *mask)
{
    size_t at = 0;
    uint64_t a, b, m;

    if (tsuid.size != first.size)
        return false;
    for (; at + sizeof a <= first.size; at += sizeof a) {
        memcpy(&a, first.data + at, sizeof a);
        memcpy(&b, tsuid.data + at, sizeof b);
        memcpy(&m, mask + at, sizeof m);
        if (((a ^ b) & ~m) != 0)
            return false;
    }
    for (; at < first.size; at++)
        if (((first.data[at] ^ tsuid.data[at]) & ~mask[at]) != 0)
            return false;
    return true;
}

/* The tagvs of the first series that others differ from. */
static void
set_mask(const struct key_layout *layout, struct slice first,
         const struct common *common, uint8_t *mask)
{
    size_t tags = tsuid_tags(layout, first);

    memset(mask, 0, first.size);
    for (size_t k = 0; k < tags; k++)
        if (common[k].differs)
            memset(mask + (tsuid_tagv(layout, first, k).data - first.data),
                   0xff, layout->tagv_width);
}

/* A key on which all series that have it agree is a tag, though some lack it;
 * the others are aggregate tags (OpenTSDB's SpanGroup).  '*out' has room for
 * KEY_MAX_TAGS, and moves to the arena for more; NULL past it. */
static size_t
find_common(const struct key_layout *layout, const struct grouping *g,
            const struct group *group, struct arena *a, struct common **out)
{
    const struct fetched *const *series = g->order + group->first;
    struct slice first = series[0]->tsuid;
    size_t len = 0, cap = KEY_MAX_TAGS;
    uint8_t mask[TSUID_MAX];

    for (size_t i = 0; i < group->len; i++) {
        struct slice tsuid = series[i]->tsuid;
        size_t tags = tsuid_tags(layout, tsuid);

        if (i + TSUIDS_AHEAD < group->len)
            __builtin_prefetch(series[i + TSUIDS_AHEAD]->tsuid.data);
        /* Most say nothing that is not known. */
        if (i > 0 && differs_within(first, tsuid, mask))
            continue;

        for (size_t k = 0; k < tags; k++) {
            uint64_t tagk = tsuid_tagk_id(layout, tsuid, k);
            uint64_t tagv = tsuid_tagv_id(layout, tsuid, k);
            size_t at = i == 0 ? len : 0; /* a series has each once */

            /* Mostly all have the same tagks. */
            if (k < len && (*out)[k].tagk == tagk)
                at = k;
            while (at < len && (*out)[at].tagk != tagk)
                at++;
            if (at < len) {
                (*out)[at].differs |= (*out)[at].tagv != tagv;
                continue;
            }
            *out = arena_grow(a, *out, len, &cap, sizeof **out);
            if (*out == NULL)
                return 0;
            (*out)[len++] = (struct common){ tagk, tagv, false };
        }
        if (i + 1 < group->len)
            set_mask(layout, first, *out, mask);
    }
    return len;
}

struct name {
    uint64_t id; /* id x kinds + kind; ids start at 1, so 0 is free */
    struct slice text;
};

void
names_init(struct names *n, struct uid_table *uids, struct arena *a)
{
    *n = (struct names){ .uids = uids, .arena = a };
}

/* Ids are counted up by the server, so a client cannot choose them to collide.
 */
static size_t
slot_of(const struct names *n, uint64_t id)
{
    size_t at = (size_t)hash_u64(id);

    for (at &= n->cap - 1; n->slots[at].id != 0 && n->slots[at].id != id;)
        at = (at + 1) & (n->cap - 1);
    return at;
}

static bool
grow(struct names *n)
{
    struct name *old = n->slots;
    size_t len = n->cap, cap = len == 0 ? 32 : len * 4;
    struct name *slots = arena_array(n->arena, cap, sizeof *slots);

    if (slots == NULL)
        return false;
    n->slots = slots;
    n->cap = cap;
    for (size_t i = 0; i < len; i++)
        if (old[i].id != 0)
            n->slots[slot_of(n, old[i].id)] = old[i];
    return true;
}

enum status
names_get(struct names *n, enum uid_kind kind, uint64_t id, struct slice *out,
          struct error *e)
{
    uint64_t key = id * UID_KINDS + (uint64_t)kind;
    size_t at;
    enum status status;

    if (n->len * 2 >= n->cap && !grow(n))
        return error_no_memory(e);
    at = slot_of(n, key);
    if (n->slots[at].id == key) {
        *out = n->slots[at].text;
        return ST_OK;
    }
    status = uid_name_dup(n->uids, kind, id, n->arena, out, e);
    if (status != ST_OK)
        return status;
    n->slots[at] = (struct name){ key, *out };
    n->len++;
    return ST_OK;
}

/* Lists the TSUIDs of series, with 'copies' of their bytes if the fetch does
 * not last. NULL: there are none, or there is no memory. */
static struct slice *
list_tsuids(const struct fetched *const *series, size_t len, bool copies,
            struct arena *a)
{
    struct slice *out =
        len == 0 ? NULL : arena_alloc(a, len * sizeof(struct slice));

    for (size_t i = 0; i < len && out != NULL; i++) {
        out[i] = series[i]->tsuid;
        if (copies)
            out[i].data = arena_copy(a, out[i].data, out[i].size);
        if (out[i].data == NULL)
            return NULL;
    }
    return out;
}

enum status
group_describe(const struct key_layout *layout, struct names *names,
               const struct grouping *g, size_t i, bool copies, struct arena *a,
               struct result_group *out, struct error *e)
{
    const struct group *group = &g->groups[i];
    const struct fetched *const *series = g->order + group->first;
    size_t len;
    struct common few[KEY_MAX_TAGS], *common = few;
    enum status status = ST_OK;

    out->note_tsuids_len = group->annotated_only;
    out->note_tsuids =
        list_tsuids(series + group->len, group->annotated_only, copies, a);
    if (out->note_tsuids == NULL && group->annotated_only > 0)
        return error_no_memory(e);
    if (group->len == 0) /* see drop_series_out_of_range() */
        return ST_OK;
    out->tsuids_len = group->len;
    out->tsuids = list_tsuids(series, group->len, copies, a);
    if (out->tsuids == NULL)
        return error_no_memory(e);
    len = find_common(layout, g, group, a, &common);
    if (common == NULL)
        return error_no_memory(e);
    out->tag_keys = arena_alloc(a, 3 * len * sizeof(struct slice));
    if (out->tag_keys == NULL)
        return error_no_memory(e);
    out->tag_values = out->tag_keys + len;
    out->aggregate_tags = out->tag_values + len;
    for (size_t k = 0; k < len && status == ST_OK; k++) {
        struct slice key, value;

        status = names_get(names, UID_TAGK, common[k].tagk, &key, e);
        if (status != ST_OK)
            break;
        if (common[k].differs) {
            out->aggregate_tags[out->aggregate_tags_len++] = key;
            continue;
        }
        status = names_get(names, UID_TAGV, common[k].tagv, &value, e);
        if (status != ST_OK)
            break;
        out->tag_keys[out->tags_len] = key;
        out->tag_values[out->tags_len++] = value;
    }
    if (status != ST_OK)
        return status;
    return names_get(names, UID_METRIC, tsuid_metric_id(layout, out->tsuids[0]),
                     &out->metric, e);
}

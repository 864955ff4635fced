/* The ids whose names were deleted.  Their series still exist, and queries
 * leave them out, so these ids are kept in memory: mostly there are none, and
 * then a query pays for one load.
 *
 *     <'u'> <kind> 'd' <id>  ->  ""
 *
 * A store that an older program wrote has only the empty name of <'u'> <kind>
 * 'i' <id>, which is noticed when the name is asked for. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"
#include "uid/names/uid_priv.h"

void
uid_deleted_note(struct uid_table *u, enum uid_kind kind, uint64_t id)
{
    struct uid_ids *ids = &u->deleted[kind];
    size_t at;

    rwlock_take_write(&u->deleted_lock);
    if (!sort_has_u64(ids->ids, ids->len, id)) {
        at = sort_place_u64(ids->ids, ids->len, id);
        ids->ids = mem_grow(ids->ids, ids->len, &ids->cap, sizeof id);
        memmove(ids->ids + at + 1, ids->ids + at, (ids->len - at) * sizeof id);
        ids->ids[at] = id;
        ids->len++;
        atomic_fetch_add(&u->deleted_len, 1);
    }
    rwlock_drop_write(&u->deleted_lock);
}

enum status
uid_deleted_load(struct uid_table *u, enum uid_kind kind, struct error *e)
{
    struct kv_iter *it = kv_iter_open(store_kv(u->store), KEY_TABLE(TABLE_UID));
    unsigned width = u->kinds[kind].width;
    uint8_t start[UID_KEY_MAX];
    struct slice prefix;
    bool on;

    (void)uid_key(store_layout(u->store), kind, 'd', 0, start);
    prefix = slice_of(start, 3);
    for (on = kv_iter_seek(it, prefix);
         on && slice_starts(kv_iter_key(it), prefix); on = kv_iter_next(it))
        if (kv_iter_key(it).size == 3 + width)
            uid_deleted_note(u, kind,
                             key_get_uint(kv_iter_key(it).data + 3, width));
    return kv_iter_close(&it, e);
}

bool
uid_has_deleted(const struct uid_table *u)
{
    OBJ_CHECK(u, UID_MAGIC);
    return atomic_load_explicit(&u->deleted_len, memory_order_relaxed) > 0;
}

enum status
nameless_find(struct uid_table *u, struct arena *a, struct nameless *out,
              struct error *e)
{
    bool no_memory = false;

    OBJ_CHECK(u, UID_MAGIC);
    *out = (struct nameless){ .any = uid_has_deleted(u),
                              .layout = store_layout(u->store) };
    if (!out->any)
        return ST_OK;
    rwlock_take_read(&u->deleted_lock);
    for (int kind = 0; kind < UID_KINDS; kind++) {
        const struct uid_ids *ids = &u->deleted[kind];

        out->ids[kind] = *ids;
        if (ids->len > 0)
            out->ids[kind].ids =
                arena_copy(a, ids->ids, ids->len * sizeof *ids->ids);
        no_memory |= ids->len > 0 && out->ids[kind].ids == NULL;
    }
    rwlock_drop_read(&u->deleted_lock);
    return no_memory ? error_no_memory(e) : ST_OK;
}

static bool
has_id(const struct uid_ids *ids, uint64_t id)
{
    return sort_has_u64(ids->ids, ids->len, id);
}

bool
nameless_has(const struct nameless *n, struct slice tsuid)
{
    const struct key_layout *w = n->layout;

    if (!n->any)
        return false;
    if (has_id(&n->ids[UID_METRIC], tsuid_metric_id(w, tsuid)))
        return true;
    for (size_t k = 0; k < tsuid_tags(w, tsuid); k++)
        if (has_id(&n->ids[UID_TAGK], tsuid_tagk_id(w, tsuid, k)) ||
            has_id(&n->ids[UID_TAGV], tsuid_tagv_id(w, tsuid, k)))
            return true;
    return false;
}

bool
uid_is_deleted(struct uid_table *u, enum uid_kind kind, uint64_t id)
{
    const struct uid_ids *ids = &u->deleted[kind];
    bool found;

    OBJ_CHECK(u, UID_MAGIC);
    rwlock_take_read(&u->deleted_lock);
    found = sort_has_u64(ids->ids, ids->len, id);
    rwlock_drop_read(&u->deleted_lock);
    return found;
}

void
uid_deleted_forget(struct uid_table *u, enum uid_kind kind, uint64_t id,
                   struct kv_batch *b)
{
    struct uid_ids *ids = &u->deleted[kind];
    uint8_t key[UID_KEY_MAX];
    size_t at;

    OBJ_CHECK(u, UID_MAGIC);
    kv_batch_delete(b, uid_key(store_layout(u->store), kind, 'd', id, key));
    rwlock_take_write(&u->deleted_lock);
    if (sort_has_u64(ids->ids, ids->len, id)) {
        at = sort_place_u64(ids->ids, ids->len, id);
        ids->len--;
        memmove(ids->ids + at, ids->ids + at + 1,
                (ids->len - at) * sizeof *ids->ids);
        atomic_fetch_sub(&u->deleted_len, 1);
    }
    rwlock_drop_write(&u->deleted_lock);
}

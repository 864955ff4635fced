/* The UID table, changed: one lock, and one logged batch for each change,
 * so that forward, reverse and counter are never seen apart. */
#include "config.h"

#include "uid/names/uid.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/hash.h"
#include "uid/names/uid_priv.h"

#define RANDOM_ATTEMPTS 10

static const char *const what_names[UID_KINDS] = { "metric", "tagk", "tagv" };

static void
put(struct kv_batch *b, struct buf *key, struct slice value)
{
    kv_batch_put(b, buf_slice(key), value);
    buf_clear(key);
}

/* Was this id ever given out?  (Also when its name was deleted since.) */
static enum status
is_used(struct uid_table *u, enum uid_kind kind, uint64_t id, bool *out,
        struct error *e)
{
    struct buf key = BUF_INIT, value = BUF_INIT;
    enum status st;

    uid_key_id(u, kind, id, &key);
    st = kv_get(store_kv(u->store), buf_slice(&key), &value, e);
    *out = st == ST_OK;
    buf_fini(&key);
    buf_fini(&value);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

static enum status
next_in_order(struct uid_table *u, enum uid_kind kind, uint64_t *id,
              struct error *e) REQUIRES(u->lock)
{
    uint64_t max = uid_max(u, kind);
    bool used = true;

    *id = atomic_load(&u->kinds[kind].highest);
    while (used) {
        enum status st;

        if (*id >= max)
            return error_set(e, ST_LIMIT,
                             "All Unique IDs for %s on %u bytes are already "
                             "assigned!",
                             uid_kind_name(kind), u->kinds[kind].width);
        ++*id;
        /* Only metrics may have had random ids, which lie ahead. */
        if (kind != UID_METRIC)
            break;
        st = is_used(u, kind, *id, &used, e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status
next_at_random(struct uid_table *u, struct slice name, uint64_t *id,
               struct error *e) REQUIRES(u->lock)
{
    uint64_t max = uid_max(u, UID_METRIC);

    for (int i = 0; i < RANDOM_ATTEMPTS; i++) {
        bool used;
        enum status st;

        *id = hash_random_seed() & max;
        if (*id <= atomic_load(&u->kinds[UID_METRIC].highest))
            continue;
        st = is_used(u, UID_METRIC, *id, &used, e);
        if (st != ST_OK || !used)
            return st;
    }
    return error_set(e, ST_LIMIT,
                     "Failed to assign random ID for kind='metrics' "
                     "name='%.*s' after %d attempts",
                     SLICE_ARG(name), RANDOM_ATTEMPTS);
}

/* The name has no id. */
static enum status
assign(struct uid_table *u, enum uid_kind kind, struct slice name, uint64_t *id,
       uint64_t *lsn, struct error *e) REQUIRES(u->lock)
{
    struct uid_state *k = &u->kinds[kind];
    bool random = kind == UID_METRIC && u->random_metrics;
    uint8_t entry[UID_ENTRY_MAX], counter[8];
    struct buf key = BUF_INIT;
    struct kv_batch *b;
    enum status st =
        random ? next_at_random(u, name, id, e) : next_in_order(u, kind, id, e);

    if (st != ST_OK)
        return st;
    b = kv_batch_new();
    uid_key_name(kind, name, &key);
    put(b, &key, uid_entry(u, kind, *id, clock_now_s(&clock_system), entry));
    uid_key_id(u, kind, *id, &key);
    put(b, &key, name);
    if (!random) {
        key_put_uint(counter, *id, 8);
        uid_key_counter(kind, &key);
        put(b, &key, slice_of(counter, 8));
    }
    crash_point("uid-chosen");
    st = store_write(u->store, b, lsn, e);
    crash_point("uid-assigned");
    if (st == ST_OK) {
        if (!random)
            atomic_store(&k->highest, *id);
        atomic_fetch_add(&k->changes, 1);
        uid_cache_add(u->cache, kind, name, *id, uid_cache_epoch(u->cache));
    }
    kv_batch_free(&b);
    buf_fini(&key);
    return st;
}

/* Finds or assigns; '*is_new' says which. (Without a WAL '*lsn' is 0.) */
static enum status
find_or_assign(struct uid_table *u, enum uid_kind kind, struct slice name,
               uint64_t *id, bool *is_new, uint64_t *lsn, struct error *e)
{
    uint64_t changes = atomic_load(&u->kinds[kind].changes);
    enum status st = uid_lookup(u, kind, name, id, e);

    *is_new = false;
    if (st != ST_NOT_FOUND)
        return st;
    st = uid_validate_name(u, what_names[kind], name, e);
    if (st != ST_OK)
        return st;
    lock_take(&u->lock);
    st = ST_NOT_FOUND;
    /* Another thread may have been faster; no change at all saves the look. */
    if (changes != atomic_load(&u->kinds[kind].changes))
        st = uid_lookup(u, kind, name, id, e);
    if (st == ST_NOT_FOUND) {
        st = assign(u, kind, name, id, lsn, e);
        *is_new = st == ST_OK;
    }
    lock_drop(&u->lock);
    return st;
}

enum status
uid_get_or_create(struct uid_table *u, enum uid_kind kind, struct slice name,
                  uint64_t *id, struct error *e)
{
    uint64_t lsn;
    bool is_new;

    OBJ_CHECK(u, UID_MAGIC);
    return find_or_assign(u, kind, name, id, &is_new, &lsn, e);
}

enum status
uid_assign(struct uid_table *u, enum uid_kind kind, struct slice name,
           uint64_t *id, struct error *e)
{
    uint64_t lsn;
    bool is_new;
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    st = uid_validate_name(u, what_names[kind], name, e);
    if (st == ST_OK)
        st = find_or_assign(u, kind, name, id, &is_new, &lsn, e);
    if (st != ST_OK)
        return st;
    if (!is_new)
        return error_set(e, ST_INVALID,
                         "Name already exists with UID: %0*" PRIX64,
                         (int)u->kinds[kind].width * 2, *id);
    return store_commit(u->store, lsn, false, e);
}

/* -- rename and delete --------------------------------------------------- */

static enum status
rename_rejected(struct uid_table *u, enum uid_kind kind, struct slice old_name,
                struct slice new_name, uint64_t id, struct error *e)
{
    char text[UID_BYTES_TEXT];

    return error_set(e, ST_INVALID,
                     "When trying rename(\"%.*s\", \"%.*s\") on "
                     "UniqueId(tsdb-uid, %s, %u): new name already assigned "
                     "ID=%s",
                     SLICE_ARG(old_name), SLICE_ARG(new_name),
                     uid_kind_name(kind), u->kinds[kind].width,
                     uid_bytes_text(u, kind, id, text));
}

static enum status
rename_locked(struct uid_table *u, enum uid_kind kind, struct slice old_name,
              struct slice new_name, uint64_t *lsn, struct error *e)
    REQUIRES(u->lock)
{
    struct buf key = BUF_INIT;
    struct kv_batch *b;
    uint64_t id, taken;
    uint32_t created_s;
    uint8_t entry[UID_ENTRY_MAX];
    enum status st = uid_read_entry(u, kind, old_name, &id, &created_s, e);

    if (st == ST_NOT_FOUND)
        return error_set(e, st, "Name(\"%.*s\") does not exist",
                         SLICE_ARG(old_name));
    if (st != ST_OK)
        return st;
    st = uid_lookup(u, kind, new_name, &taken, e);
    if (st == ST_OK)
        return rename_rejected(u, kind, old_name, new_name, taken, e);
    if (st != ST_NOT_FOUND)
        return st;
    b = kv_batch_new();
    uid_key_name(kind, new_name, &key);
    put(b, &key, uid_entry(u, kind, id, created_s, entry));
    uid_key_id(u, kind, id, &key);
    put(b, &key, new_name);
    uid_key_name(kind, old_name, &key);
    kv_batch_delete(b, buf_slice(&key));
    st = store_write(u->store, b, lsn, e);
    if (st == ST_OK) {
        atomic_fetch_add(&u->kinds[kind].changes, 1);
        uid_cache_forget(u->cache, kind, old_name, id);
    }
    kv_batch_free(&b);
    buf_fini(&key);
    return st;
}

enum status
uid_rename(struct uid_table *u, enum uid_kind kind, struct slice old_name,
           struct slice new_name, struct error *e)
{
    uint64_t lsn;
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    st = uid_validate_name(u, what_names[kind], old_name, e);
    if (st == ST_OK)
        st = uid_validate_name(u, what_names[kind], new_name, e);
    if (st != ST_OK)
        return st;
    lock_take(&u->lock);
    st = rename_locked(u, kind, old_name, new_name, &lsn, e);
    lock_drop(&u->lock);
    return st != ST_OK ? st : store_commit(u->store, lsn, false, e);
}

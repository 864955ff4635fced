/* The UID table, changed: one lock in this process, and one logged batch for
 * each change, so that forward, reverse and counter are never seen apart.
 *
 * An id is given only where the name has none.  Where other processes write to
 * the engine, too, the id is claimed by its reverse entry and then the name by
 * its forward one; the counter only says where to begin. */
#include "uid/names/uid.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/hash.h"
#include "uid/names/uid_priv.h"

#define RANDOM_ATTEMPTS 10

static const char *const what_names[UID_KINDS_ALL] = { "metric", "tagk", "tagv",
                                                       "rollup" };

static bool
is_random(const struct uid_table *u, enum uid_kind kind)
{
    return kind == UID_METRIC && u->random_metrics;
}

/* The next id to try: those in order, or at random above them. */
static enum status
next_id(struct uid_table *u, enum uid_kind kind, uint64_t last, uint64_t *id,
        struct error *e) REQUIRES(u->lock)
{
    uint64_t max = uid_max(u, kind);

    if (!is_random(u, kind)) {
        if (last >= max)
            return error_set(e, ST_LIMIT,
                             "All Unique IDs for %s on %u bytes are already "
                             "assigned!",
                             uid_kind_name(kind), u->kinds[kind].width);
        *id = last + 1;
        return ST_OK;
    }
    for (int i = 0; i < RANDOM_ATTEMPTS; i++) {
        *id = hash_random_seed() & max;
        if (*id > atomic_load(&u->kinds[kind].highest))
            return ST_OK;
    }
    return ST_CONFLICT;
}

/* Gives this id to the name: ST_CONFLICT if the id is taken, or ('*named') the
 * name has one.  Where no other process writes, ids in order are free: only
 * metrics may have had random ones, which lie ahead. */
static enum status
claim(struct uid_table *u, enum uid_kind kind, struct slice name, uint64_t id,
      bool *named, uint64_t *lsn, struct error *e) REQUIRES(u->lock)
{
    bool sure = kind != UID_METRIC && !kv_traits(store_kv(u->store))->shared;
    uint8_t entry[UID_ENTRY_MAX], counter[8];
    uint8_t back_key[UID_KEY_MAX], counter_key[UID_KEY_MAX];
    struct slice back =
        uid_key(store_layout(u->store), kind, 'i', id, back_key);
    struct buf forward = BUF_INIT;
    struct kv_batch *b = kv_batch_new();
    struct store_key keys[2];
    size_t len = 0, at;
    enum status st;

    uid_key_name(kind, name, &forward);
    if (sure)
        kv_batch_put(b, back, name);
    else
        keys[len++] = (struct store_key){ back, name };
    keys[len++] =
        (struct store_key){ buf_slice(&forward),
                            uid_entry(u, kind, id, clock_now_s(&clock_system),
                                      entry) };
    if (!is_random(u, kind)) {
        key_put_uint(counter, id, 8);
        (void)uid_key(store_layout(u->store), kind, 'c', 0, counter_key);
        kv_batch_put(b, slice_of(counter_key, 3), slice_of(counter, 8));
    }
    crash_point("uid-chosen");
    st = store_create(u->store, b, keys, len, &at, lsn, e);
    crash_point("uid-assigned");
    *named = st == ST_CONFLICT && at == len - 1;
    kv_batch_free(&b);
    buf_fini(&forward);
    return st;
}

/* An id that was claimed for a name that has another one by now: no name has it
 * from now on. */
static enum status
give_up(struct uid_table *u, enum uid_kind kind, uint64_t id, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t key[UID_KEY_MAX];
    enum status st;

    kv_batch_put(b, uid_key(store_layout(u->store), kind, 'i', id, key),
                 slice_of("", 0));
    st = store_write(u->store, b, NULL, e);
    kv_batch_free(&b);
    return st;
}

/* The name has no id yet, unless someone is faster: '*is_new' tells. */
static enum status
assign(struct uid_table *u, enum uid_kind kind, struct slice name, uint64_t *id,
       bool *is_new, uint64_t *lsn, struct error *e) REQUIRES(u->lock)
{
    struct uid_state *k = &u->kinds[kind];
    uint64_t last = atomic_load(&k->highest);
    bool named = false;
    enum status st = ST_CONFLICT;

    for (int i = 0; st == ST_CONFLICT && !named; i++) {
        if (is_random(u, kind) && i == RANDOM_ATTEMPTS)
            return error_set(e, ST_LIMIT,
                             "Failed to assign random ID for kind='metrics' "
                             "name='%.*s' after %d attempts",
                             SLICE_ARG(name), RANDOM_ATTEMPTS);
        st = next_id(u, kind, last, id, e);
        if (st == ST_OK)
            st = claim(u, kind, name, *id, &named, lsn, e);
        last = *id;
    }
    if (named) {
        uint64_t claimed = *id;

        st = uid_lookup(u, kind, name, id, e);
        return st == ST_OK && *id != claimed &&
                       kv_traits(store_kv(u->store))->shared
                   ? give_up(u, kind, claimed, e)
                   : st;
    }
    if (st != ST_OK)
        return st;
    *is_new = true;
    if (!is_random(u, kind))
        atomic_store(&k->highest, *id);
    uid_cache_add(u->cache, kind, name, *id, uid_cache_epoch(u->cache));
    return ST_OK;
}

/* Finds or assigns; '*is_new' says which. (Without a WAL '*lsn' is 0.) */
static enum status
find_or_assign(struct uid_table *u, enum uid_kind kind, struct slice name,
               uint64_t *id, bool *is_new, uint64_t *lsn, struct error *e)
{
    enum status st = uid_lookup(u, kind, name, id, e);

    *is_new = false;
    *lsn = 0;
    if (st != ST_NOT_FOUND)
        return st;
    if (kind != UID_ROLLUP && /* its names are ours */
        (st = uid_validate_name(u, what_names[kind], name, e)) != ST_OK)
        return st;
    lock_take(&u->lock);
    /* Another thread may have been faster. */
    if (uid_cache_find_id(u->cache, kind, name, id))
        st = ST_OK;
    else
        st = assign(u, kind, name, id, is_new, lsn, e);
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
    uint8_t entry[UID_ENTRY_MAX], back[UID_KEY_MAX];
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
    kv_batch_put(b, buf_slice(&key), uid_entry(u, kind, id, created_s, entry));
    kv_batch_put(b, uid_key(store_layout(u->store), kind, 'i', id, back),
                 new_name);
    uid_key_name(kind, old_name, &key);
    kv_batch_delete(b, buf_slice(&key));
    st = store_write(u->store, b, lsn, e);
    if (st == ST_OK)
        uid_cache_forget(u->cache, kind, old_name, id);
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

static enum status
delete_locked(struct uid_table *u, enum uid_kind kind, struct slice name,
              uint64_t *lsn, struct error *e) REQUIRES(u->lock)
{
    struct buf key = BUF_INIT;
    struct kv_batch *b;
    uint64_t id;
    uint32_t created_s;
    uint8_t back[UID_KEY_MAX];
    enum status st = uid_read_entry(u, kind, name, &id, &created_s, e);

    if (st == ST_NOT_FOUND)
        return error_set(e, st, "No such name for '%s': '%.*s'",
                         uid_kind_name(kind), SLICE_ARG(name));
    if (st != ST_OK)
        return st;
    b = kv_batch_new();
    uid_key_name(kind, name, &key);
    kv_batch_delete(b, buf_slice(&key));
    /* No name, but used: no other name gets the id. */
    kv_batch_put(b, uid_key(store_layout(u->store), kind, 'i', id, back),
                 slice_of("", 0));
    st = store_write(u->store, b, lsn, e);
    if (st == ST_OK)
        uid_cache_forget(u->cache, kind, name, id);
    kv_batch_free(&b);
    buf_fini(&key);
    return st;
}

enum status
uid_delete(struct uid_table *u, enum uid_kind kind, struct slice name,
           struct error *e)
{
    uint64_t lsn;
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    lock_take(&u->lock);
    st = delete_locked(u, kind, name, &lsn, e);
    lock_drop(&u->lock);
    return st != ST_OK ? st : store_commit(u->store, lsn, false, e);
}

/* Names renamed and deleted, which people do: all that know of one alone must
 * hear of it. */
#include "uid/names/uid.h"

#include "base/cursor.h"
#include "uid/names/uid_priv.h"

#define EXCLUSIVE "uid"

/* -- events ---------------------------------------------------------------- */

void
uid_set_events(struct uid_table *u, const struct uid_events *events)
{
    OBJ_CHECK(u, UID_MAGIC);
    u->events = events;
}

enum status
uid_announce(struct uid_table *u, enum uid_event kind, struct slice payload,
             struct error *e)
{
    OBJ_CHECK(u, UID_MAGIC);
    return u->events == NULL
               ? ST_OK
               : u->events->send(u->events->ctx, kind, payload, e);
}

enum status
uid_ask(struct uid_table *u, enum uid_event kind, struct slice payload,
        struct buf *answers, struct error *e)
{
    OBJ_CHECK(u, UID_MAGIC);
    if (u->events == NULL || u->events->ask == NULL)
        return error_set(e, ST_INVALID,
                         "this process has not joined the servers of the pool: "
                         "it cannot ask them");
    return u->events->ask(u->events->ctx, kind, payload, answers, e);
}

/* The name does not have the id any more: <kind:1> <id> <size> <name>, some
 * times. */
static enum status
announce_lost(struct uid_table *u, enum uid_kind kind, uint64_t id,
              struct slice name, struct error *e)
{
    struct buf payload = BUF_INIT;
    enum status st;

    buf_put_u8(&payload, (uint8_t)kind);
    buf_put_varint(&payload, id);
    buf_put_sized(&payload, name);
    st = payload.failed
             ? error_set(e, ST_BUSY, "no memory for a name")
             : uid_announce(u, UID_EVENT_NAMES, buf_slice(&payload), e);
    buf_fini(&payload);
    return st;
}

/* uid_name() notes an id whose name was deleted. */
static void
note_if_deleted(struct uid_table *u, enum uid_kind kind, uint64_t id)
{
    struct buf name = BUF_INIT;

    (void)(uid_name(u, kind, id, &name, NULL) == ST_OK);
    buf_fini(&name);
}

enum status
uid_hear_names(struct uid_table *u, struct slice payload, struct error *e)
{
    struct cursor c = cursor_of(payload);

    OBJ_CHECK(u, UID_MAGIC);
    while (cursor_left(&c) > 0) {
        unsigned kind = cursor_u8(&c);
        uint64_t id = cursor_varint(&c);
        struct slice name = cursor_sized(&c);

        if (c.failed || kind >= UID_KINDS_ALL || name.size == 0 ||
            name.size > UID_NAME_MAX)
            return error_set(e, ST_CORRUPT,
                             "an event about names of %zu bytes is malformed",
                             payload.size);
        uid_cache_forget(u->cache, (enum uid_kind)kind, name, id);
        note_if_deleted(u, (enum uid_kind)kind, id);
    }
    return ST_OK;
}

/* -- changes --------------------------------------------------------------- */

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
              struct slice new_name, uint64_t *id, uint64_t *lsn,
              struct error *e) REQUIRES(u->lock)
{
    struct buf key = BUF_INIT;
    struct kv_batch *b;
    uint64_t taken;
    uint32_t created_s;
    uint8_t bytes[UID_ENTRY_MAX], back[UID_KEY_MAX];
    struct slice entry;
    enum status st = uid_read_entry(u, kind, old_name, id, &created_s, e);

    if (st == ST_NOT_FOUND)
        return error_set(e, st, "Name(\"%.*s\") does not exist",
                         SLICE_ARG(old_name));
    if (st != ST_OK)
        return st;
    entry = uid_entry(u, kind, *id, created_s, bytes);
    uid_key_name(kind, new_name, &key);
    b = kv_batch_new();
    /* Another process may give the name to an id just now. */
    if (u->shared)
        st = kv_swap(store_kv(u->store), buf_slice(&key), NULL, entry, e);
    else
        kv_batch_put(b, buf_slice(&key), entry);
    if ((!u->shared || st == ST_CONFLICT) &&
        (st = uid_read_entry(u, kind, new_name, &taken, &created_s, e)) ==
            ST_OK)
        st = rename_rejected(u, kind, old_name, new_name, taken, e);
    else if (st == ST_NOT_FOUND)
        st = u->shared ? ST_BUSY : ST_OK;
    kv_batch_put(b, uid_key(store_layout(u->store), kind, 'i', *id, back),
                 new_name);
    uid_key_name(kind, old_name, &key);
    kv_batch_delete(b, buf_slice(&key));
    if (st == ST_OK)
        st = store_write(u->store, b, lsn, e);
    if (st == ST_OK)
        uid_cache_forget(u->cache, kind, old_name, *id);
    kv_batch_free(&b);
    buf_fini(&key);
    return st;
}

static enum status
delete_locked(struct uid_table *u, enum uid_kind kind, struct slice name,
              uint64_t *id, uint64_t *lsn, struct error *e) REQUIRES(u->lock)
{
    struct buf key = BUF_INIT;
    struct kv_batch *b;
    uint32_t created_s;
    uint8_t back[UID_KEY_MAX];
    enum status st = uid_read_entry(u, kind, name, id, &created_s, e);

    if (st == ST_NOT_FOUND)
        return error_set(e, st, "No such name for '%s': '%.*s'",
                         uid_kind_name(kind), SLICE_ARG(name));
    if (st != ST_OK)
        return st;
    b = kv_batch_new();
    uid_key_name(kind, name, &key);
    kv_batch_delete(b, buf_slice(&key));
    /* No name, but used: no other name gets the id. */
    kv_batch_put(b, uid_key(store_layout(u->store), kind, 'i', *id, back),
                 slice_of("", 0));
    kv_batch_put(b, uid_key(store_layout(u->store), kind, 'd', *id, back),
                 slice_of("", 0));
    st = store_write(u->store, b, lsn, e);
    if (st == ST_OK) {
        uid_cache_forget(u->cache, kind, name, *id);
        uid_deleted_note(u, kind, *id);
    }
    kv_batch_free(&b);
    buf_fini(&key);
    return st;
}

/* Renames, or deletes where there is no new name. */
static enum status
change(struct uid_table *u, enum uid_kind kind, struct slice old_name,
       const struct slice *new_name, struct error *e)
{
    uint64_t id = 0, lsn = 0, ticket;
    enum status st =
        kv_exclusive_begin(store_kv(u->store), EXCLUSIVE, &ticket, e);

    if (st != ST_OK)
        return st;
    lock_take(&u->lock);
    st = new_name == NULL
             ? delete_locked(u, kind, old_name, &id, &lsn, e)
             : rename_locked(u, kind, old_name, *new_name, &id, &lsn, e);
    atomic_fetch_add(&u->changes, 1);
    lock_drop(&u->lock);
    if (st == ST_OK)
        st = store_commit(u->store, lsn, false, e);
    if (st == ST_OK)
        st = announce_lost(u, kind, id, old_name, e);
    kv_exclusive_end(store_kv(u->store), EXCLUSIVE, ticket);
    return st;
}

enum status
uid_rename(struct uid_table *u, enum uid_kind kind, struct slice old_name,
           struct slice new_name, struct error *e)
{
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    st = uid_validate_name(u, uid_what_names[kind], old_name, e);
    if (st == ST_OK)
        st = uid_validate_name(u, uid_what_names[kind], new_name, e);
    return st == ST_OK ? change(u, kind, old_name, &new_name, e) : st;
}

enum status
uid_delete(struct uid_table *u, enum uid_kind kind, struct slice name,
           struct error *e)
{
    OBJ_CHECK(u, UID_MAGIC);
    return change(u, kind, name, NULL, e);
}

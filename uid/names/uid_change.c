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
             struct buf *answers, struct error *e)
{
    OBJ_CHECK(u, UID_MAGIC);
    if (u->events != NULL)
        return u->events->send(u->events->ctx, kind, payload, answers, e);
    return answers == NULL
               ? ST_OK
               : error_set(e, ST_INVALID,
                           "this process has not joined the servers of the "
                           "pool: it cannot ask them");
}

/* A payload is a sequence of <kind:1> <id> <size> <name>: the name does not
 * have the id any more. */
enum status
uid_hear_names(struct uid_table *u, struct slice payload, struct error *e)
{
    struct cursor c = cursor_of(payload);

    OBJ_CHECK(u, UID_MAGIC);
    while (cursor_left(&c) > 0) {
        unsigned kind = cursor_u8(&c);
        uint64_t id = cursor_varint(&c);
        struct slice name = cursor_sized(&c);
        struct buf now = BUF_INIT;

        if (c.failed || kind >= UID_KINDS_ALL || name.size == 0 ||
            name.size > UID_NAME_MAX)
            return error_set(e, ST_CORRUPT,
                             "an event about names of %zu bytes is malformed",
                             payload.size);
        uid_cache_forget(u->cache, (enum uid_kind)kind, name, id);
        /* If it was deleted, uid_name() notes that. */
        (void)(uid_name(u, (enum uid_kind)kind, id, &now, NULL) == ST_OK);
        buf_fini(&now);
    }
    return ST_OK;
}

/* -- changes --------------------------------------------------------------- */

struct name_change {
    enum uid_kind kind;
    struct slice old_name;
    const struct slice *new_name; /* NULL: the name is deleted */
    uint64_t id, lsn;             /* out */
};

/* Gives the id of 'old_name', with its entry, to 'new_name', which must have
 * none: at once where another process may give it one just now, else by the
 * batch. */
static enum status
enter_new_name(struct uid_table *u, const struct name_change *c,
               struct slice entry, struct kv_batch *b, struct error *e)
{
    struct buf key = BUF_INIT;
    char text[UID_BYTES_TEXT];
    uint64_t taken;
    uint32_t created_s;
    enum status st = ST_CONFLICT;

    uid_key_name(c->kind, *c->new_name, &key);
    if (u->shared)
        st = kv_swap(store_kv(u->store), buf_slice(&key), NULL, entry, e);
    else
        kv_batch_put(b, buf_slice(&key), entry);
    buf_fini(&key);
    if (st != ST_CONFLICT)
        return st;
    st = uid_read_entry(u, c->kind, *c->new_name, &taken, &created_s, e);
    if (st == ST_NOT_FOUND)
        return u->shared
                   ? error_set(e, ST_BUSY, "the name %.*s changes just now",
                               SLICE_ARG(*c->new_name))
                   : ST_OK;
    return st != ST_OK
               ? st
               : error_set(e, ST_INVALID,
                           "When trying rename(\"%.*s\", \"%.*s\") on "
                           "UniqueId(tsdb-uid, %s, %u): new name already "
                           "assigned ID=%s",
                           SLICE_ARG(c->old_name), SLICE_ARG(*c->new_name),
                           uid_kind_name(c->kind), u->kinds[c->kind].width,
                           uid_bytes_text(u, c->kind, taken, text));
}

/* Renames, or deletes where there is no new name. */
static enum status
change_locked(struct uid_table *u, struct name_change *c, struct error *e)
    REQUIRES(u->lock)
{
    const struct key_layout *w = store_layout(u->store);
    struct buf key = BUF_INIT;
    struct kv_batch *b;
    uint32_t created_s;
    uint8_t bytes[UID_ENTRY_MAX], back[UID_KEY_MAX];
    enum status st =
        uid_read_entry(u, c->kind, c->old_name, &c->id, &created_s, e);

    if (st == ST_NOT_FOUND)
        return c->new_name == NULL
                   ? error_set(e, st, "No such name for '%s': '%.*s'",
                               uid_kind_name(c->kind), SLICE_ARG(c->old_name))
                   : error_set(e, st, "Name(\"%.*s\") does not exist",
                               SLICE_ARG(c->old_name));
    if (st != ST_OK)
        return st;
    b = kv_batch_new();
    if (c->new_name != NULL)
        st = enter_new_name(
            u, c, uid_entry(u, c->kind, c->id, created_s, bytes), b, e);
    /* Without a name the id is still used: no other name gets it. */
    kv_batch_put(b, uid_key(w, c->kind, 'i', c->id, back),
                 c->new_name == NULL ? slice_of("", 0) : *c->new_name);
    if (c->new_name == NULL)
        kv_batch_put(b, uid_key(w, c->kind, 'd', c->id, back), slice_of("", 0));
    uid_key_name(c->kind, c->old_name, &key);
    kv_batch_delete(b, buf_slice(&key));
    if (st == ST_OK)
        st = store_write(u->store, b, &c->lsn, e);
    if (st == ST_OK) {
        uid_cache_forget(u->cache, c->kind, c->old_name, c->id);
        if (c->new_name == NULL)
            uid_deleted_note(u, c->kind, c->id);
    }
    kv_batch_free(&b);
    buf_fini(&key);
    return st;
}

static enum status
change(struct uid_table *u, struct name_change *c, struct error *e)
{
    struct buf lost = BUF_INIT;
    uint64_t ticket;
    enum status st =
        kv_exclusive_begin(store_kv(u->store), EXCLUSIVE, &ticket, e);

    if (st != ST_OK)
        return st;
    lock_take(&u->lock);
    st = change_locked(u, c, e);
    atomic_fetch_add(&u->changes, 1);
    lock_drop(&u->lock);
    if (st == ST_OK)
        st = store_commit(u->store, c->lsn, false, e);
    if (st == ST_OK) {
        /* The name has lost the id; see uid_hear_names(). */
        buf_put_u8(&lost, (uint8_t)c->kind);
        buf_put_varint(&lost, c->id);
        buf_put_sized(&lost, c->old_name);
        st = lost.failed
                 ? error_set(e, ST_BUSY, "no memory for a name")
                 : uid_announce(u, UID_EVENT_NAMES, buf_slice(&lost), NULL, e);
    }
    kv_exclusive_end(store_kv(u->store), EXCLUSIVE, ticket);
    buf_fini(&lost);
    return st;
}

enum status
uid_rename(struct uid_table *u, enum uid_kind kind, struct slice old_name,
           struct slice new_name, struct error *e)
{
    struct name_change c = { kind, old_name, &new_name, 0, 0 };
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    st = uid_validate_name(u, uid_what_names[kind], old_name, e);
    if (st == ST_OK)
        st = uid_validate_name(u, uid_what_names[kind], new_name, e);
    return st == ST_OK ? change(u, &c, e) : st;
}

enum status
uid_delete(struct uid_table *u, enum uid_kind kind, struct slice name,
           struct error *e)
{
    struct name_change c = { kind, name, NULL, 0, 0 };

    OBJ_CHECK(u, UID_MAGIC);
    return change(u, &c, e);
}

#include "storage/place/pool_copy.h"

#include <string.h>

#include "base/process/log.h"
#include "base/obj.h"
#include "storage/place/pool.h"
#include "storage/rados/ceph_lock.h"
#include "storage/rados/ceph_op.h"

#define LOCK    "copy"
#define COPIER  "copier" /* xattr: the connection's address, to be shut out */
#define COPY_ID "copy"   /* xattr: the store's id */
#define FENCE_S 3600

/* -- what a copy that was cut short left ------------------------------------
 */

static enum status
remove_but_format(void *ctx, const char *object, struct error *e)
{
    return strcmp(object, POOL_FORMAT) == 0 ? ST_OK
                                            : ceph_remove(ctx, object, e);
}

/* FORMAT goes last: until then what is there is known to be a copy's. */
static enum status
remove_all(struct ceph *c, struct error *e)
{
    enum status st = ceph_each_object(c, remove_but_format, c, e);

    return st == ST_OK ? ceph_remove(c, POOL_FORMAT, e) : st;
}

static enum status
lock(struct ceph *c, const struct format *f, enum ceph_lock_how how,
     struct error *e)
{
    return ceph_lock_take(c, POOL_FORMAT, LOCK, f->id, POOL_COPY_LOCK_MS, how,
                          e);
}

static enum status
clear_leftover(struct ceph *c, const struct format *f, struct error *e)
{
    enum status st = lock(c, f, CEPH_LOCK_TAKE, NULL);
    struct buf address = BUF_INIT;

    if (st == ST_BUSY)
        return error_set(e, ST_BUSY,
                         "another copy into this namespace is under way, or "
                         "ended less than %d s ago",
                         POOL_COPY_LOCK_MS / 1000);
    if (st != ST_OK)
        return error_set(e, st, "object " POOL_FORMAT " cannot be locked");
    /* It may be asleep, and wake up with a write. */
    st = ceph_get_xattr(c, POOL_FORMAT, COPIER, &address, e);
    if (st == ST_OK)
        st = ceph_blocklist(c, buf_cstr(&address), FENCE_S, e);
    buf_fini(&address);
    return st == ST_OK ? remove_all(c, e) : st;
}

/* The namespace is empty afterwards. */
static enum status
make_room(struct ceph *c, const struct format *f, struct error *e)
{
    struct format old;
    enum status st = pool_format_look(c, &old, e);

    if (st == ST_NOT_FOUND)
        return pool_check_empty(c, e);
    if (st == ST_OK && old.complete)
        return error_set(e, ST_INVALID,
                         "there is a store in this namespace: a copy is made "
                         "in an empty one");
    return st == ST_OK ? clear_leftover(c, f, e) : st;
}

/* -- the copy ---------------------------------------------------------------
 */

enum status
pool_copy_begin(struct ceph *c, const struct format *f, struct error *e)
{
    struct buf address = BUF_INIT;
    struct buf text = BUF_INIT;
    enum status st = make_room(c, f, e);

    INSIST(!f->complete && f->window_hours > 0);
    if (st == ST_OK)
        st = ceph_address(c, &address, e);
    if (st == ST_OK) {
        struct ceph_op *op = ceph_write_new(c);

        format_print(f, &text);
        ceph_write_create(op, true);
        ceph_write_full(op, buf_slice(&text));
        ceph_write_set_xattr(op, COPIER, buf_slice(&address));
        ceph_write_set_xattr(op, COPY_ID, slice_str(f->id));
        st = ceph_op_run(op, POOL_FORMAT, e);
    }
    if (st == ST_CONFLICT)
        st = error_set(e, ST_BUSY, "another store is made there right now");
    if (st == ST_OK)
        st = lock(c, f, CEPH_LOCK_TAKE, e);
    buf_fini(&address);
    buf_fini(&text);
    return st;
}

static enum status
lost(enum status st, struct error *e)
{
    if (st != ST_NOT_FOUND && st != ST_CONFLICT && st != ST_BUSY)
        return st;
    return error_set(e, ST_BUSY,
                     "this copy did not go on for %d s, and another one may "
                     "have replaced it",
                     POOL_COPY_LOCK_MS / 1000);
}

enum status
pool_copy_keep(struct ceph *c, const struct format *f, struct error *e)
{
    return lost(lock(c, f, CEPH_LOCK_KEEP, e), e);
}

enum status
pool_copy_end(struct ceph *c, struct format *f, struct error *e)
{
    enum status st = pool_copy_keep(c, f, e);

    if (st != ST_OK)
        return st;
    f->complete = true;
    st = lost(pool_format_complete(c, f, COPY_ID, e), e);
    if (st == ST_OK &&
        ceph_lock_drop(c, POOL_FORMAT, LOCK, f->id, NULL) != ST_OK)
        log_warn("copy", "object " POOL_FORMAT " stays locked for a while");
    return st;
}

enum status
pool_copy_drop(struct ceph *c, const struct format *f, struct error *e)
{
    enum status st = pool_copy_keep(c, f, e);

    return st == ST_OK ? remove_all(c, e) : st;
}

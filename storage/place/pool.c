#include "storage/place/pool.h"

#include <sys/random.h>

#include "base/obj.h"
#include "storage/rados/ceph_op.h"

#define SECRET   "secret" /* an xattr of it */
#define TEXT_MAX 65536

enum status
pool_format_look(struct ceph *c, struct format *out, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st = ceph_read(c, POOL_FORMAT, 0, TEXT_MAX, &text, e);

    if (st == ST_OK)
        st = format_parse(&text, "object " POOL_FORMAT, out, e);
    if (st == ST_OK && out->window_hours == 0)
        st = error_set(e, ST_CORRUPT,
                       "object " POOL_FORMAT " is not that of a pool");
    buf_fini(&text);
    return st;
}

enum status
pool_format_read(struct ceph *c, struct format *out, struct error *e)
{
    enum status st = pool_format_look(c, out, e);

    if (st == ST_OK && !out->complete)
        st = error_set(e, ST_INVALID,
                       "there is no store yet: a copy into this namespace is "
                       "under way, or was cut short; the next 'halite copy' "
                       "into it replaces what that left");
    return st;
}

static void
set_whole(struct ceph_op *op, const struct format *f)
{
    uint8_t secret[POOL_SECRET_SIZE];
    struct buf text = BUF_INIT;

    INSIST(f->complete && f->window_hours > 0);
    INSIST(getrandom(secret, sizeof secret, 0) == sizeof secret);
    format_print(f, &text);
    ceph_write_full(op, buf_slice(&text));
    ceph_write_set_xattr(op, SECRET, slice_of(secret, sizeof secret));
    buf_fini(&text);
}

enum status
pool_format_create(struct ceph *c, const struct format *f, struct error *e)
{
    struct ceph_op *op = ceph_write_new(c);

    ceph_write_create(op, true);
    set_whole(op, f);
    return ceph_op_run(op, POOL_FORMAT, e);
}

enum status
pool_format_complete(struct ceph *c, const struct format *f, const char *xattr,
                     struct error *e)
{
    struct ceph_op *op = ceph_write_new(c);

    ceph_write_expect_xattr(op, xattr, slice_str(f->id));
    set_whole(op, f);
    return ceph_op_run(op, POOL_FORMAT, e);
}

enum status
pool_secret(struct ceph *c, uint8_t out[POOL_SECRET_SIZE], struct error *e)
{
    struct buf secret = BUF_INIT;
    enum status st = ceph_get_xattr(c, POOL_FORMAT, SECRET, &secret, e);

    if (st == ST_OK && secret.size != POOL_SECRET_SIZE)
        st = error_set(e, ST_CORRUPT,
                       "object " POOL_FORMAT " has a secret of %zu bytes, "
                       "not %d",
                       secret.size, POOL_SECRET_SIZE);
    if (st == ST_OK)
        memcpy(out, secret.data, POOL_SECRET_SIZE);
    buf_fini(&secret);
    return st;
}

static enum status
name_it(void *ctx, const char *object, struct error *e)
{
    (void)ctx;
    return error_set(e, ST_INVALID,
                     "the namespace has an object \"%s\" but no "
                     "\"" POOL_FORMAT "\": it is no store of Halite, or one "
                     "whose making was cut short; choose another one",
                     object);
}

enum status
pool_check_empty(struct ceph *c, struct error *e)
{
    return ceph_each_object(c, name_it, NULL, e);
}

/* Locks. */
#include "storage/rados/ceph_lock.h"

#include <errno.h>
#include <sys/time.h>

#include "storage/rados/ceph_priv.h"

enum status
ceph_lock_take(struct ceph *c, const char *object, const char *name,
               const char *cookie, unsigned duration_ms, enum ceph_lock_how how,
               struct error *e)
{
    struct timeval duration = { .tv_sec = duration_ms / 1000,
                                .tv_usec = (int)(duration_ms % 1000) * 1000 };
    static const uint8_t flags[] = {
        [CEPH_LOCK_KEEP] = LIBRADOS_LOCK_FLAG_MAY_RENEW,
    };
    int fault = ceph_enter(c, CEPH_CALL_LOCK, object), r = 0;

    if (fault >= 0)
        r = librados.lock_exclusive(c->pool, object, name, cookie, "",
                                    duration_ms == 0 ? NULL : &duration,
                                    flags[how]);
    r = ceph_leave(fault, r);
    return ceph_write_status(
        c, r, how == CEPH_LOCK_TAKE ? "lock" : "renew the lock", object, e);
}

enum status
ceph_lock_drop(struct ceph *c, const char *object, const char *name,
               const char *cookie, struct error *e)
{
    int fault = ceph_enter(c, CEPH_CALL_UNLOCK, object), r = 0;

    if (fault >= 0)
        r = librados.unlock(c->pool, object, name, cookie);
    return ceph_write_status(c, ceph_leave(fault, r), "unlock", object, e);
}

enum status
ceph_lock_owner(struct ceph *c, const char *object, const char *name,
                char cookie[CEPH_COOKIE_SIZE], struct error *e)
{
    char client[64], tag[64], address[128];
    size_t client_size = sizeof client, tag_size = sizeof tag;
    size_t cookie_size = CEPH_COOKIE_SIZE, address_size = sizeof address;
    int fault = ceph_enter(c, CEPH_CALL_LOCK, object), exclusive, r = 0;

    if (fault >= 0)
        r = (int)librados.list_lockers(c->pool, object, name, &exclusive, tag,
                                       &tag_size, client, &client_size, cookie,
                                       &cookie_size, address, &address_size);
    r = ceph_leave(fault, r);
    if (r <= 0)
        cookie[0] = '\0';
    return r == -ENOENT ? ST_OK
                        : ceph_status(c, r, "ask who locked", object, e);
}

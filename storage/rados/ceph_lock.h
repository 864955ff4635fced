/*
 * Locks that lie on an object, whether it holds anything else or not (it is
 * made).  A lock belongs to a connection and a cookie; one with a duration ends
 * by itself, by the clock of the object's OSD, unless it is renewed.
 *
 * Threads: any.
 * Fails:   as ceph_status() says.
 */
#pragma once

#include "storage/rados/ceph.h"

enum ceph_lock_how {
    CEPH_LOCK_TAKE,  /* ST_BUSY: another one has it; ST_CONFLICT: we do */
    CEPH_LOCK_RENEW, /* for the duration from now on; ST_NOT_FOUND: lost */
    CEPH_LOCK_KEEP,  /* renews it, or takes it if none has it; ST_BUSY */
};

/* 'duration_ms' 0: until it is dropped. */
MUST_CHECK enum status ceph_lock_take(struct ceph *c, const char *object,
                                      const char *name, const char *cookie,
                                      unsigned duration_ms,
                                      enum ceph_lock_how how, struct error *e);
/* ST_NOT_FOUND: it was not ours any more. */
MUST_CHECK enum status ceph_lock_drop(struct ceph *c, const char *object,
                                      const char *name, const char *cookie,
                                      struct error *e);

/* Who has it, if it has not ended. */
struct ceph_locker {
    char client[64], cookie[128], address[128]; /* "": it is free */
};
MUST_CHECK enum status ceph_lock_owner(struct ceph *c, const char *object,
                                       const char *name,
                                       struct ceph_locker *out,
                                       struct error *e);
/* Takes it away from that one. */
MUST_CHECK enum status ceph_lock_break(struct ceph *c, const char *object,
                                       const char *name,
                                       const struct ceph_locker *owner,
                                       struct error *e);

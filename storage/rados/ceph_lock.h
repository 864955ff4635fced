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
    CEPH_LOCK_TAKE, /* ST_BUSY: another one has it; ST_CONFLICT: we do */
    CEPH_LOCK_KEEP, /* renews it, or takes it if none has it; ST_BUSY */
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

/* The cookie of who has it, if it has not ended; "": it is free. */
#define CEPH_COOKIE_SIZE 128
MUST_CHECK enum status ceph_lock_owner(struct ceph *c, const char *object,
                                       const char *name,
                                       char cookie[CEPH_COOKIE_SIZE],
                                       struct error *e);

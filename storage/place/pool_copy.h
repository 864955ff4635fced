/* A store that is copied into a pool's namespace, which was empty:
 *
 *     begin -> FORMAT, not complete -> rows, names, .. -> end: it is complete
 *                                          `-> drop: the namespace is empty
 *
 * No process opens a store whose FORMAT is not complete.  Who copies has a lock
 * on it; where that has ended (the process was killed), the next begin shuts
 * that process out of the cluster and removes what it left.
 *
 * Threads: any; one copy at a time is for this to see to.
 * Fails:   as storage/rados/ceph.h says. */
#pragma once

#include "storage/place/format.h"
#include "storage/rados/ceph.h"

#define POOL_COPY_LOCK_MS 30000

/* 'f' is not complete.  ST_INVALID: there is a store, or anything else that is
 * none of a copy's; ST_BUSY: another copy is under way. */
MUST_CHECK enum status pool_copy_begin(struct ceph *c, const struct format *f,
                                       struct error *e);
/* To be called more often than POOL_COPY_LOCK_MS.  ST_BUSY: it was away for
 * longer, and must end without pool_copy_drop(): what is there may be
 * another's. */
MUST_CHECK enum status pool_copy_keep(struct ceph *c, const struct format *f,
                                      struct error *e);
/* Makes 'f' complete: there is a store.  ST_BUSY as above. */
MUST_CHECK enum status pool_copy_end(struct ceph *c, struct format *f,
                                     struct error *e);
/* Removes all. */
MUST_CHECK enum status pool_copy_drop(struct ceph *c, const struct format *f,
                                      struct error *e);

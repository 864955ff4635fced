/* The medium of a WAL whose segments are objects of RADOS (docs/FORMAT.md,
 * "Objects of a pool"), and what others do with the WAL of a dead member.
 *
 *     j.<member>      header: xattr epoch; omap first, last
 *     j.<member>.<n>  a segment, the bytes of a file of a folder; xattr epoch
 *
 * A member's WAL has the epoch 1, and each operation of it compares that: who
 * raises it in header and last segment has fenced the member off.  An append
 * is on all replicas when it returns, whole or not there; one without an
 * answer may be either, and is not tried again.
 *
 * Owns:    nothing of the connection, which must live longer.
 * Threads: media: as wal_medium.h says.  The rest: any.
 * Fails:   as ceph_status() says; media: ST_CONFLICT: the member is fenced. */
#pragma once

#include "storage/rados/ceph.h"
#include "storage/wal/wal_medium.h"

#define WAL_MEMBER_MAX 64 /* characters of a member's name */

/* The WAL of a member that has none yet. */
struct wal_medium *wal_rados_new(struct ceph *c, const char *member);

/* The WAL of a member that was fenced, or that never had one: to be read
 * only. */
struct wal_medium *wal_rados_dead(struct ceph *c, const char *member);

/* From when it returns ST_OK nothing is added to that WAL, and what was added
 * can be read.  Again, and by several at once: the same. */
MUST_CHECK enum status wal_rados_fence(struct ceph *c, const char *member,
                                       struct error *e);

/* Removes all of a member's WAL; an absent one is removed already. */
MUST_CHECK enum status wal_rados_remove(struct ceph *c, const char *member,
                                        struct error *e);

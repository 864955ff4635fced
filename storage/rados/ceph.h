/*
 * A connection to a namespace of a pool of a Ceph cluster.  All that the
 * program calls of librados is in this room.
 *
 * Where it is, in a text:
 *
 *     POOL[/NAMESPACE][?conf=FILE&id=NAME&timeout=SECONDS&connection=N]
 *
 *     conf         of the cluster; else what librados looks for itself
 *     id           who connects: client.NAME; "admin" is the default
 *     timeout      of an operation; 10 s
 *     connection   another number is another connection: a client of its own
 *                  to the cluster, which is blocklisted by itself (tests)
 *
 * One process has one connection for equal texts, whoever opens it: engine,
 * write-ahead log and leases are blocklisted together, or not at all.
 *
 * Owns:    the text's connection, counted.
 * Threads: any.
 * Fails:   ceph_status() has what librados' errors become.  After ST_TIMEOUT
 *          an operation may have been done, or not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

struct ceph; /* opaque */

MUST_CHECK enum status ceph_open(const char *at, struct ceph **out,
                                 struct error *e);
void ceph_close(struct ceph **c);

/* The text splits as ceph_open() would have it?  Without connecting. */
MUST_CHECK enum status ceph_check(const char *at, struct error *e);

/* What 'error', negative as from librados, of doing 'what' to 'object' is:
 *
 *     0 or more      ST_OK
 *     ENOENT         ST_NOT_FOUND    no such object
 *     EEXIST         ST_CONFLICT     created by another
 *     ECANCELED      ST_CONFLICT     not as it was expected: compared in vain
 *     EBUSY          ST_BUSY         locked by another
 *     ETIMEDOUT      ST_TIMEOUT
 *     ESHUTDOWN      ST_IO           blocklisted: see ceph_is_blocklisted()
 *     else           ST_IO           ENOSPC, EDQUOT of a write: a full pool,
 *                                    which can be read
 *
 * The text says to an operator what to do. */
enum status ceph_status(struct ceph *c, int error, const char *what,
                        const char *object, struct error *e);

/* Another process shut this one out of the cluster, for ever: it must end. */
bool ceph_is_blocklisted(const struct ceph *c);

/* Did the last write that was answered find the pool full? */
bool ceph_is_full(const struct ceph *c);

enum ceph_call {
    CEPH_CALL_WRITE, /* of ceph_op.h */
    CEPH_CALL_READ,
    CEPH_CALL_LOCK,
    CEPH_CALL_UNLOCK,
    CEPH_CALL_WATCH,
    CEPH_CALL_NOTIFY,
    CEPH_CALL_CLUSTER, /* blocklist, maps */
    CEPH_CALLS
};

/* How many calls of a kind were made on this connection. */
uint64_t ceph_calls(const struct ceph *c, enum ceph_call call);

/* -- the cluster ----------------------------------------------------------- */

/* This connection's address, as ceph_blocklist() takes it. */
MUST_CHECK enum status ceph_address(struct ceph *c, struct buf *out,
                                    struct error *e);
/* Shuts that client out for so long, and waits until this one's operations
 * carry a map that says so: what they touch the other one cannot write any
 * more.  ST_INVALID: no address of a client. */
MUST_CHECK enum status ceph_blocklist(struct ceph *c, const char *address,
                                      unsigned seconds, struct error *e);
/* ST_INVALID with a sentence when the cluster's OSDs are older than what is
 * needed here (Octopus, 15). */
MUST_CHECK enum status ceph_check_version(struct ceph *c, struct error *e);

/* The names of all objects of the namespace, in no order.  'f' fails to end it.
 */
MUST_CHECK enum status ceph_each_object(struct ceph *c,
                                        enum status (*f)(void *ctx,
                                                         const char *object,
                                                         struct error *e),
                                        void *ctx, struct error *e);

/* -- failures, for tests --------------------------------------------------- */

/* Asked before each call, on its thread; may wait to hold it.  0: it goes on.
 * A negative errno: it fails with it and does nothing.  A positive one: it is
 * done, and fails with it all the same, as after a timeout. */
typedef int ceph_fault_fn(void *ctx, enum ceph_call call, const char *object);

/* NULL: none.  Not while calls are on their way. */
void ceph_set_fault(struct ceph *c, ceph_fault_fn *f, void *ctx);

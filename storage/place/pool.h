/* What a pool's namespace is: its object FORMAT holds the text of format.h, and
 * the secret by which the daemons that share the store know each other.
 *
 *     pool_format_read -> ST_OK: a store
 *                      `-> ST_NOT_FOUND: pool_format_create, if the namespace
 *                          is empty
 *
 * What has a complete FORMAT is whole: it is made in one operation, or, where
 * more is made before (pool_copy.h), completed last.
 *
 * Threads: any.
 * Fails:   ST_CORRUPT for a newer version and a damaged text; and as
 *          storage/rados/ceph.h says. */
#pragma once

#include "storage/place/format.h"
#include "storage/rados/ceph.h"

#define POOL_FORMAT       "FORMAT" /* the object */
#define POOL_SECRET_SIZE  32
#define POOL_WINDOW_HOURS 24 /* of a new store */

/* ST_INVALID: it is not complete. */
MUST_CHECK enum status pool_format_read(struct ceph *c, struct format *out,
                                        struct error *e);

/* The same, also one that is not complete. */
MUST_CHECK enum status pool_format_look(struct ceph *c, struct format *out,
                                        struct error *e);

/* Draws a secret.  ST_CONFLICT: another process was faster. */
MUST_CHECK enum status
pool_format_create(struct ceph *c, const struct format *f, struct error *e);

/* The same for an object that is there, whose xattr has the id of 'f'; else
 * ST_CONFLICT. */
MUST_CHECK enum status pool_format_complete(struct ceph *c,
                                            const struct format *f,
                                            const char *xattr, struct error *e);

MUST_CHECK enum status
pool_secret(struct ceph *c, uint8_t out[POOL_SECRET_SIZE], struct error *e);

/* ST_INVALID with the name of an object that is there. */
MUST_CHECK enum status pool_check_empty(struct ceph *c, struct error *e);

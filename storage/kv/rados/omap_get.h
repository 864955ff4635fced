/* Point lookups of the engine in RADOS: keys sorted by object, those of an
 * object in one operation, up to CEPH_PAGE_MAX of them; 16 operations in
 * flight.
 *
 * Threads: any. */
#pragma once

#include "storage/kv/kv_types.h"
#include "storage/kv/rados/omap_objects.h"

struct ceph;

/* Calls 'f' once a key, in no order: its index, and its value (lent) or NULL.
 * Fails as ceph_op_wait() does, when some may have been told already; and with
 * ST_INVALID, as omap_object_of(). */
MUST_CHECK enum status omap_get_many(struct ceph *c, const struct omap_map *map,
                                     const struct slice *keys, size_t len,
                                     kv_value_fn *f, void *ctx,
                                     struct error *e);

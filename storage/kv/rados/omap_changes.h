/* A batch's changes, sorted by the object and the omap's key; of those to one
 * key the last.
 *
 * Owns:    the codes; values are the batch's, which must live as long.
 * Threads: owner. */
#pragma once

#include "storage/kv/kv.h"
#include "storage/kv/rados/omap_objects.h"
#include "storage/rados/ceph_op.h"

struct omap_change {
    struct omap_object object;
    size_t order; /* in the batch */
    bool is_put;
    size_t key_at, key_size; /* of its code, in omap_changes.codes */
    struct slice value;
    size_t value_at; /* there, too, if it needs a code; else SIZE_MAX */
};

struct omap_changes {
    const struct omap_map *map;
    struct omap_change *v;
    size_t len, cap;
    struct buf codes;
    enum status st;
    struct error *e;
};

/* Call omap_changes_fini() even after a failure (ST_INVALID). */
MUST_CHECK enum status omap_changes_of(const struct omap_map *map,
                                       const struct kv_batch *b,
                                       struct omap_changes *c, struct error *e);
void omap_changes_fini(struct omap_changes *c);

/* How many from 'from' on make one operation: of one object, and no more than
 * 'bytes' or so. */
size_t omap_changes_of_one(const struct omap_changes *c, size_t from,
                           size_t bytes);
/* Adds so many to an operation. */
void omap_changes_put(struct ceph_op *op, const struct omap_changes *c,
                      size_t from, size_t len);

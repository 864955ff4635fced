/* The parts of the engine in RADOS that kv_rados.c puts together. */
#pragma once

#include "storage/kv/engine.h"
#include "storage/kv/kv.h"
#include "storage/kv/rados/omap_objects.h"
#include "storage/rados/ceph_op.h"

/* -- a batch's changes -----------------------------------------------------
 *
 * Or keys to look up.  Sorted by the object and the omap's key.
 *
 * Owns:    the codes; values are the batch's, which must live as long.
 * Threads: owner. */

struct omap_change {
    struct omap_object object;
    size_t order; /* in which they were added */
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

/* Of a batch; of changes to one key the last.  Call omap_changes_fini() even
 * after a failure (ST_INVALID). */
MUST_CHECK enum status omap_changes_of(const struct omap_map *map,
                                       const struct kv_batch *b,
                                       struct omap_changes *c, struct error *e);
/* Of keys to look up, each as often as it is there. */
MUST_CHECK enum status omap_changes_of_keys(const struct omap_map *map,
                                            const struct slice *keys,
                                            size_t len, struct omap_changes *c,
                                            struct error *e);
void omap_changes_fini(struct omap_changes *c);

/* The key in its object. */
struct slice omap_change_key(const struct omap_changes *c, size_t i);

/* How many from 'from' on make one operation: of one object, at most 'most',
 * and no more than 'bytes' or so. */
size_t omap_changes_of_one(const struct omap_changes *c, size_t from,
                           size_t most, size_t bytes);
/* Adds so many to an operation. */
void omap_changes_put(struct ceph_op *op, const struct omap_changes *c,
                      size_t from, size_t len);

/* -- point lookups ---------------------------------------------------------
 *
 * Keys sorted by object, those of an object in one operation, up to
 * CEPH_PAGE_MAX of them; 16 operations in flight.
 *
 * Threads: any. */

/* Calls 'f' once a key, in no order: its index, and its value (lent) or NULL.
 * Fails as ceph_op_wait() does, when some keys may have had their call;
 * ST_INVALID as omap_object_of(). */
MUST_CHECK enum status omap_get_many(struct ceph *c, const struct omap_map *map,
                                     const struct slice *keys, size_t len,
                                     kv_value_fn *f, void *ctx,
                                     struct error *e);

/* -- the iterator: pages of omaps, merged ---------------------------------- */

struct kv_iter *omap_iter_open(struct ceph *c, const struct omap_map *map,
                               struct slice prefix);

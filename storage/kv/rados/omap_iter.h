/* The iterator of the engine in RADOS: pages of omaps, merged.
 *
 * Threads: owner. */
#pragma once

#include "storage/kv/engine.h"
#include "storage/kv/rados/omap_objects.h"
#include "storage/rados/ceph_op.h"

struct kv_iter *omap_iter_open(struct ceph *c, const struct omap_map *map,
                               struct slice prefix);

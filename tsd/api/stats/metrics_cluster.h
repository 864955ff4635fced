/* halite_cluster_.. and halite_rados_.. for /metrics: nothing where the store
 * lies in no pool.
 *
 * Threads: any. */
#pragma once

#include "tsd/api/api.h"

void metrics_cluster(const struct api *a, struct buf *b);

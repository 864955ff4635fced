/* A database whose store lies in a pool: this process as a member of the
 * cluster (cluster/cluster.h), as the settings say.
 *
 * Threads: one at a time. */
#pragma once

#include "cluster/peer/peer_server.h"
#include "storage/store/store.h"
#include "tsd/api/api.h"
#include "uid/names/uid_events.h"

struct pool {
    /* HOST:PORT where others reach this process, set before it is opened; NULL:
     * a command's. */
    const char *address;
    struct api *api;
    struct cluster *cluster; /* NULL: the store lies in no pool */
    struct uid_events events;
};

/* The address of a daemon that has the pool open, https:// in front where it
 * takes TLS alone, "" when none has;
 * ST_NOT_FOUND when there is no store. */
#define POOL_ADDRESS_MAX 160
MUST_CHECK enum status pool_find_server(const char *at,
                                        char address[POOL_ADDRESS_MAX],
                                        struct error *e);

/* Opens the store of the pool 'at': a->store, a->cluster. */
MUST_CHECK enum status pool_open(struct pool *p, struct api *a, const char *at,
                                 const struct store_options *store,
                                 struct error *e);

/* What other processes change in names and series is heard from here on, and
 * buckets are owned.  A command waits until it can work.  No-op without a
 * pool. */
MUST_CHECK enum status pool_serve(struct pool *p, struct error *e);

/* What this process does for the others, to be given their connections; NULL
 * without a pool.  'closed' hears of each that has ended. */
struct peer_server *pool_peers(struct pool *p, void (*closed)(void *ctx),
                               void *ctx);

/* Gives all away, while requests go on.  No-op without a pool. */
MUST_CHECK enum status pool_leave(struct pool *p, struct error *e);

/* Others are not heard any more: before what hears is closed. */
void pool_stop(struct pool *p);

/* Closes the store. */
MUST_CHECK enum status pool_close(struct pool *p, struct error *e);

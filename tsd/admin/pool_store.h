/* Stores in pools, for commands that are no servers.
 *
 *     open    a member of the cluster: it takes over what dead members left,
 * and owns nothing where a server does flush   all that was acknowledged is in
 * the engine close
 *
 * A process whose lease is lost ends at once, as a server does.
 *
 * Threads: owner.
 * Fails:   as cluster/cluster.h says. */
#pragma once

#include "storage/store/store.h"

struct pool_store; /* opaque */

/* 'ca': whom to trust of servers that speak TLS (cluster_options.ca).
 * ST_NOT_FOUND: there is no store.  '*out' is NULL after a failure. */
MUST_CHECK enum status pool_store_open(const char *at, const char *ca,
                                       struct pool_store **out,
                                       struct error *e);
struct store *pool_store_of(struct pool_store *p);

/* ST_BUSY: another member lives. */
MUST_CHECK enum status pool_store_check_alone(struct pool_store *p,
                                              struct error *e);

/* By this process and all others; ST_BUSY when salt buckets go on changing
 * their owners. */
MUST_CHECK enum status pool_store_flush(struct pool_store *p, struct error *e);

/* '*p' becomes NULL in any case; NULL is closed already. */
MUST_CHECK enum status pool_store_close(struct pool_store **p, struct error *e);

/* -- a new store ------------------------------------------------------------
 */

#define POOL_STORE_BUCKETS 64

struct pool_filling {
    const char *at; /* an empty namespace, or what a copy left that was cut
                       short */
    struct key_layout layout;
    struct kv_copying *copying;
    /* Looks at what was copied, before anybody else can open it. */
    enum status (*verify)(void *ctx, struct store *copy, struct error *e);
    void *ctx;
};

/* Makes a store with all that is in 's'.  After a failure the namespace is
 * empty, if it can be reached. */
MUST_CHECK enum status
pool_store_fill(struct store *s, const struct pool_filling *f, struct error *e);

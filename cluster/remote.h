/* The owners of salt buckets, as a store asks them (storage/store/owners.h):
 * a table of who owns which bucket, a peer for each owner, and the requests.
 *
 *     remote_new -> store_open(remote = remote_hooks()) -> remote_route ...
 *         -> store_close -> remote_free
 *
 * Who owns a bucket is decided elsewhere and told by remote_route(); what
 * waits for a bucket that has moved ends with ST_MOVED then.
 *
 * Owns:    peers, while any bucket is theirs.
 * Threads: the hooks: any.  remote_route(): one at a time. */
#pragma once

#include "cluster/peer/peer.h"
#include "storage/row/key.h"
#include "storage/store/owners.h"

struct remote; /* opaque */

struct remote_options {
    const uint8_t *secret;         /* FRAME_SECRET_SIZE bytes; outlives it */
    const struct channel_tls *tls; /* NULL: in the clear; outlives it */
    struct key_layout layout;      /* the store's */
    unsigned wait_ms;              /* of struct store_remote */
    unsigned silence_ms;           /* of peers; 0: their default */
    /* Of struct store_remote. */
    enum status (*owns)(void *ctx, struct error *e);
    void *owns_ctx;
};

struct remote *remote_new(const struct remote_options *o); /* not NULL */
void remote_free(struct remote **r);

/* For store_options; lives as long as 'r'. */
const struct store_remote *remote_hooks(const struct remote *r);

/* From here on the bucket is that of the daemon 'member' at 'address'
 * (HOST:PORT); NULL: this process's own, or none's.  Equal names and addresses
 * are one peer. */
void remote_route(struct remote *r, unsigned bucket, const char *member,
                  const char *address);

/* Of PUTs to peers, from sent to answered. */
const struct latency *remote_put_latency(const struct remote *r);

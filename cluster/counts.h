/* Counters of the cluster that operators see.
 *
 * Owns:    nothing: 'put_latency' lives as long as the cluster.
 * Threads: a value. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct latency;

struct cluster_counts {
    unsigned members_live, members_dead;
    unsigned buckets, buckets_unowned;
    unsigned buckets_local; /* that this process serves now */
    /* By this process, as in struct cluster_view. */
    uint64_t takeovers, taken, served, given;
    int64_t lease_us, lease_remaining_us; /* negative: it has ended */
    int64_t looked_us; /* monotonic, the end of the last look; 0: none */
    bool looks_fail;   /* the last look did */
    bool pool_full, blocklisted;
    /* Calls of librados. */
    struct {
        uint64_t writes, reads, locks, watches, notifies, others;
    } rados;
    const struct latency *put_latency; /* of PUTs to peers, until answered */
};

/* What operators see of a cluster: members, leases, owners.
 *
 * Owns:    a view its list of members.
 * Threads: any. */
#pragma once

#include "storage/lease/buckets.h"
#include "storage/lease/members.h"

struct cluster_view {
    struct members members;
    struct bucket_owner map[BUCKETS_MAX];
    unsigned buckets;
    char self[MEMBER_NAME_SIZE]; /* "": of none, who looks is no member */
    /* By this process: members that it took buckets over from; buckets of dead
     * members; without an owner, or given; given to others. */
    uint64_t takeovers, taken, served, given;
    int64_t looked_us; /* monotonic */
};

void cluster_view_fini(struct cluster_view *v);

/* Looks at a pool without becoming a member.  ST_NOT_FOUND: there is no store.
 */
MUST_CHECK enum status
cluster_view_read(const char *at, struct cluster_view *out, struct error *e);

/* Buckets whose owner is dead, or that never had one. */
unsigned cluster_view_unowned(const struct cluster_view *v);

/* {"buckets":64,"unowned":0,"members":[{..},..],"owners":[0,1,..]}, owners by
 * their place in members, -1 for none. */
void cluster_view_json(const struct cluster_view *v, struct buf *out);
/* A line for each member, and what is amiss. */
void cluster_view_text(const struct cluster_view *v, int64_t now_ms,
                       struct buf *out);

/* The bucket map: which member owns each salt bucket.  Every change is one
 * compare-and-swap of the bucket's entry (docs/FORMAT.md, "Objects of a pool").
 *
 *     none --claim--> (T, 1)
 *     (D, e) --claim of a dead one's--> (T, e + 1, from D e)
 *                        replay, flush --> (T, e + 1)
 *     (T, e) --given--> (U, e + 1)
 *
 * Threads: any.
 * Fails:   as ceph_status() says; ST_CORRUPT: an entry is malformed. */
#pragma once

#include "storage/lease/members.h"

#define BUCKETS_MAX 256

struct bucket_owner {
    char member[MEMBER_NAME_SIZE]; /* "": none */
    /* While the WAL of a dead owner is being replayed; "": it is not. */
    char from[MEMBER_NAME_SIZE];
    uint64_t epoch; /* one more with each other owner */
    uint64_t from_epoch;
};

/* All entries. */
MUST_CHECK enum status buckets_read(struct ceph *c,
                                    struct bucket_owner out[BUCKETS_MAX],
                                    struct error *e);

/* Makes 'seen' 'now'.  ST_CONFLICT: another one was faster, nothing is changed.
 * After ST_TIMEOUT read it again. */
MUST_CHECK enum status buckets_change(struct ceph *c, unsigned bucket,
                                      const struct bucket_owner *seen,
                                      const struct bucket_owner *now,
                                      struct error *e);

/* Does any entry name the member, as owner or as one that is taken over? */
bool buckets_name(const struct bucket_owner map[BUCKETS_MAX],
                  const char *member);

/* Who is to own a salt bucket: of the members that take buckets the one whose
 * name, hashed with the bucket, is the largest ("rendezvous hashing": Thaler,
 * Ravishankar, "Using name-based mappings to increase hit rates", 1998).  So
 * all members come to the same answer without asking another, and when one
 * comes or goes no bucket moves but those that it gets or had.
 *
 * Threads: any; a function of its arguments. */
#pragma once

#include "storage/lease/members.h"

/* NULL: no member takes any.  Members take buckets when they live, have an
 * address and the mode "rw"; where there is none of those the "tool" that began
 * first, a command that has the store open for itself, takes all. */
const struct member *assign_bucket(const struct members *m, unsigned bucket);

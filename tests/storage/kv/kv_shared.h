/* An engine for tests of several daemons over one place, in one process: each
 * open is a handle of its own to the same keys, which are in memory until the
 * last handle of the place is closed.
 *
 * - it is shared (kv_traits), and strict: a guarded batch over more than one
 *   group aborts;
 * - groups are as coarse as those of an engine with an object for each salt
 *   bucket and 64 for the names of a kind;
 * - some calls take a while, so that threads meet between calls;
 * - it keeps count of conflicts, so that a test knows that there were some.
 *
 * A program that links tests/storage/kv/engines_shared.c has it in the place of
 * "memory": each store without a folder is one more over the same keys. */
#pragma once

#include "storage/kv/kv.h"

MUST_CHECK enum status kv_shared_open(const struct kv_options *o,
                                      struct kv **out, struct error *e);

/* How many guarded batches of all handles of the place met a conflict. */
uint64_t kv_shared_conflicts(struct kv *kv);
/* How many calls reached the engine: what each would cost far away. */
uint64_t kv_shared_calls(struct kv *kv);

/* An engine for tests, as one far away may be:
 *
 * - a call takes a random while;
 * - one in a hundred ends with ST_TIMEOUT: before it did anything, or after;
 * - iterators read pages, each as of another moment, and there are no
 *   snapshots;
 * - a batch of a bucket is durable some time after it is visible, in order
 *   within the bucket and in none between buckets; one of no bucket, and a
 *   guarded one, at once; all, when a sync returns.
 *
 * A program that links it (tests/storage/kv/engines.c) has it under the name
 * "slow", and in the place of all others if HALITE_ENGINE is "slow".  Keys are
 * in memory; what is durable is in the file "ops" of the folder that is the
 * place, if there is one.
 *
 * HALITE_SEED repeats its choices, as far as threads do. */
#pragma once

#include "storage/kv/kv.h"

MUST_CHECK enum status kv_slow_open(const struct kv_options *o, struct kv **out,
                                    struct error *e);

/* How many calls ended with a timeout so far. */
uint64_t kv_slow_timeouts(struct kv *kv);

/* From now on, all calls do (every = 1), one in 'every', or none (0). */
void kv_slow_set_timeouts(struct kv *kv, unsigned every);

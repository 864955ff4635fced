/* A fast 64-bit hash of bytes for tables in memory and for the salt of rows.
 *
 * The value for given bytes and seed never changes: the salt on disk depends
 * on it (docs/FORMAT.md, "Salt").  It is no defence against chosen keys by
 * itself: tables that clients fill pass a random seed.
 *
 * Threads: any. */
#pragma once

#include "base/slice.h"

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed);

static inline uint64_t
hash_slice(struct slice s, uint64_t seed)
{
    return hash_bytes(s.data, s.size, seed);
}

/* Of a number, such as an id: a multiplication, which spreads those that follow
 * each other over the slots of a table (Knuth's Fibonacci hashing). */
static inline uint64_t
hash_u64(uint64_t v)
{
    return v * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

/* Differs from process to process. */
uint64_t hash_random_seed(void);

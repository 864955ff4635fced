/* A hash table of 32-bit indices into the caller's own array: open addressing,
 * linear probing, three quarters full at most.  The caller hashes keys and
 * compares them; the table keeps 32 bits of each hash, so that it grows without
 * the keys and compares only those that are likely equal.
 *
 * Owns:    its slots, 11 to 22 bytes an index.
 * Threads: one at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_slot {
    uint32_t hash;
    uint32_t value; /* index + 1; 0: empty */
};

struct hash_table {
    struct table_slot *slots; /* NULL: none */
    size_t mask;              /* slots - 1 */
    size_t len;
};

#define TABLE_NONE UINT32_MAX

/* Is the key of the element 'i' equal to 'key'? */
typedef bool table_is(const void *ctx, uint32_t i, const void *key);

void table_fini(struct hash_table *t);

/* Adds an index below TABLE_NONE, whose key is not there.  False: no memory. */
bool table_try_add(struct hash_table *t, uint64_t hash, uint32_t i);

/* The same; aborts when there is no memory. */
void table_add(struct hash_table *t, uint64_t hash, uint32_t i);

/* Removes an index that is there. */
void table_remove(struct hash_table *t, uint64_t hash, uint32_t i);

/* The index of the key, or TABLE_NONE. */
static inline uint32_t
table_find(const struct hash_table *t, uint64_t hash, table_is *is,
           const void *ctx, const void *key)
{
    if (t->slots == NULL)
        return TABLE_NONE;
    for (size_t at = (uint32_t)hash & t->mask; t->slots[at].value != 0;
         at = (at + 1) & t->mask)
        if (t->slots[at].hash == (uint32_t)hash &&
            is(ctx, t->slots[at].value - 1, key))
            return t->slots[at].value - 1;
    return TABLE_NONE;
}

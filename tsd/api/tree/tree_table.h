/*
 * Branches or leaves, found by a key of bytes: the first one that came with a
 * key stays.
 *
 * Owns:    nothing; all lies in the arena.
 * Threads: one at a time.
 */
#ifndef TSD_API_TREE_TREE_TABLE_H
#define TSD_API_TREE_TREE_TABLE_H

#include "base/arena.h"

struct tree_entry {
    struct slice key, name, tsuid;
    size_t at; /* in the order of coming */
};

/* A hash table with open addressing; starts with its arena alone. */
struct tree_table {
    struct arena *arena;
    struct tree_entry *entries;
    size_t len, cap;
    uint32_t *slots; /* index + 1; 0: free */
    size_t slots_len;
    uint64_t seed;
};

/* The entry of the key: a new one with copies of name and TSUID, or that which
 * is there.  NULL past the arena's cap. */
const struct tree_entry *tree_table_add(struct tree_table *t, struct slice key,
                                        struct slice name, struct slice tsuid);

/* NULL when there is none. */
const struct tree_entry *tree_table_find(const struct tree_table *t,
                                         struct slice key);

/* Sorts by name, ignoring case; of equal ones the first stays.  Nothing may be
 * added or found any more. */
void tree_table_sort(struct tree_table *t);

#endif

/* Branches or leaves, found by a key of bytes: the first one that came with a
 * key stays.
 *
 * Owns:    the table; entries are in the arena.
 * Threads: one at a time. */
#pragma once

#include "base/arena.h"
#include "base/table.h"

struct tree_entry {
    struct slice key, name, tsuid;
    size_t at; /* in the order of coming */
};

/* Starts with its arena alone, and ends with table_fini(). */
struct tree_table {
    struct arena *arena;
    struct tree_entry *entries;
    size_t len, cap;
    struct hash_table table; /* of 'entries' */
    uint64_t seed;
};

/* The entry of the key: a new one with copies of name and TSUID, or that which
 * is there.  NULL past the arena's cap. */
const struct tree_entry *tree_table_add(struct tree_table *t, struct slice key,
                                        struct slice name, struct slice tsuid);

/* Sorts by name, ignoring case; of equal ones the first stays.  Ends the table:
 * nothing may be added any more. */
void tree_table_sort(struct tree_table *t);

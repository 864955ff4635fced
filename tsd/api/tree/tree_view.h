/* The branches and leaves of a tree, made on request: a walk over the
 * directory of series, each sorted by the rules.  So a branch shows what
 * exists, by the rules as they are, and nothing can be stale; the cost is that
 * of looking at every series.
 *
 * Where several series have the same leaf, the first one, by TSUID, has it; the
 * others are collisions.
 *
 * Owns:    nothing; what it hands out is in the request's arena.
 * Threads: any.
 * Fails:   ST_NOT_FOUND; ST_LIMIT past the arena; ST_BUSY when the client is
 *          gone. */
#pragma once

#include "base/table.h"
#include "tsd/api/api.h"
#include "tsd/api/tree/tree_build.h"

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

struct tree_branch {
    struct slice *path; /* starts with "ROOT", ends with its own name */
    size_t path_len;
    struct tree_table leaves, branches; /* sorted */
};

struct tree_collision {
    struct slice tsuid, existing; /* bytes */
};

/* Sets what the series is called.  ST_NOT_FOUND: one of its names is gone. */
MUST_CHECK enum status tree_names(const struct api *a, struct slice tsuid,
                                  struct arena *arena, struct tree_series *out,
                                  struct error *e);

/* 'hashes' is the branch's id without the tree's two bytes.  ST_NOT_FOUND
 * without a text. */
MUST_CHECK enum status
tree_view_branch(const struct api *a, const struct http_request *r,
                 const struct tree *tree, struct slice hashes,
                 struct tree_branch *out, struct error *e);

MUST_CHECK enum status tree_view_collisions(const struct api *a,
                                            const struct http_request *r,
                                            const struct tree *tree,
                                            struct tree_collision **out,
                                            size_t *len, struct error *e);

/*
 * The branches and leaves of a tree, made on request: a walk over the
 * directory of series, each sorted by the rules.  So a branch shows what
 * exists, by the rules as they are, and nothing can be stale; the cost is that
 * of looking at every series.
 *
 * Where several series have the same leaf, the first one, by TSUID, has it; the
 * others are collisions.
 *
 * Owns:    nothing; what it hands out is in the arena.
 * Threads: any.
 * Fails:   ST_NOT_FOUND; ST_LIMIT past the arena; ST_BUSY when 'gone' said so.
 */
#ifndef TSD_API_TREE_TREE_VIEW_H
#define TSD_API_TREE_TREE_VIEW_H

#include "tsd/api/api.h"
#include "tsd/api/tree/tree_build.h"

/* Whom to ask now and then whether to stop. */
struct tree_client {
    bool (*gone)(void *ctx);
    void *ctx;
    struct arena *arena;
};

struct tree_leaf {
    struct slice name;
    struct slice tsuid; /* bytes */
};

struct tree_branch {
    struct slice *path; /* starts with "ROOT", ends with its own name */
    size_t path_len;
    /* By name, ignoring case. */
    struct tree_leaf *leaves;
    size_t leaves_len;
    struct slice *branches;
    size_t branches_len;
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
tree_view_branch(const struct api *a, const struct tree *tree,
                 struct slice hashes, const struct tree_client *client,
                 struct tree_branch *out, struct error *e);

MUST_CHECK enum status tree_view_collisions(const struct api *a,
                                            const struct tree *tree,
                                            const struct tree_client *client,
                                            struct tree_collision **out,
                                            size_t *len, struct error *e);

#endif

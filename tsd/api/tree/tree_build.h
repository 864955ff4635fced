/* From a series' names to its path in a tree, by the tree's rules.
 *
 *     metric sys.cpu.user, host=web01      rules: METRIC split at "\.",
 *     -> sys / cpu / user / web01                 TAGK host
 *        branch branch branch leaf
 *
 * The steps are OpenTSDB's, odd ones too.  Each level of rules gives a name;
 * one that is split gives several, one after the other.  The last name becomes
 * the leaf of the one before it.  A level that gives none is left out; where
 * all but one are left out, only the root can have the leaf, and OpenTSDB
 * shows that when it tests rules, but keeps no such leaf.
 *
 * Owns:    a plan its expressions; a result lies in the arena.
 * Threads: a plan: frozen.
 * Fails:   ST_INVALID when a separator is no regular expression; ST_LIMIT. */
#pragma once

#include "base/buf.h"
#include "uid/series/series.h"
#include "uid/meta/tree.h"

struct tree_plan; /* opaque */

/* Keeps 'tree', which must have rules. */
MUST_CHECK enum status tree_plan_new(const struct tree *tree,
                                     struct tree_plan **out, struct error *e);
void tree_plan_free(struct tree_plan **p);

/* What a series is called. */
struct tree_series {
    struct slice tsuid; /* hexadecimal */
    struct slice metric;
    const struct tag *tags;
    size_t tags_len;
    /* The text that the metadata of the metric (UID_METRIC), or of the i-th
     * tag's key or value, have under a name; false when there is none.  NULL:
     * there is no metadata. */
    bool (*custom)(void *ctx, enum uid_kind kind, size_t i, struct slice name,
                   struct slice *out);
    void *custom_ctx;
};

/* A branch of a path: one child and one leaf at most. */
struct tree_node {
    struct slice name;
    struct slice leaf; /* 'data' is NULL when there is none */
    struct tree_node *child;
    struct tree_node *before; /* where the name before this one went */
};

struct tree_path {
    struct tree_node *top; /* below the root; NULL: nothing to keep */
    struct slice root_leaf;
    bool unmatched; /* a level gave no name: with strict_match, not kept */
};

/* 'messages' (may be NULL) gets what was done, as JSON strings with commas. */
MUST_CHECK enum status tree_build(const struct tree_plan *p,
                                  const struct tree_series *s,
                                  struct arena *arena, struct buf *messages,
                                  struct tree_path *out, struct error *e);

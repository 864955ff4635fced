/*
 * Trees: rules that sort series into branches by their names.  Kept here are
 * the definitions; branches are made on request
 * (tsd/api/tree/tree_view.h). docs/FORMAT.md, "Trees".
 *
 *     <'t'> <tree:2>                     -> the definition
 *     <'t'> <tree:2> <level:4> <order:4> -> a rule
 *
 * Rules of one level are tried in their order until one matches; each level
 * gives the name of a branch, the last one that of a leaf.
 *
 * Owns:    what it hands out is in the caller's arena.
 * Threads: any; a lock is held from the reading of a record to its rewriting,
 *          across one WAL append.
 * Fails:   ST_NOT_FOUND, ST_INVALID with OpenTSDB's texts; ST_LIMIT past
 *          RECORD_BYTES or the arena; ST_IO, ST_CORRUPT.
 */
#ifndef UID_META_TREE_H
#define UID_META_TREE_H

#include "base/arena.h"
#include "storage/store/store.h"
#include "uid/meta/tree_codec.h"

struct trees; /* opaque */

void trees_open(struct store *s, struct trees **out);
void trees_close(struct trees **t);

/* "METRIC"; "null" of TREE_RULE_NONE. */
const char *tree_rule_type_name(enum tree_rule_type type);
/* Ignores case.  "Rule type was empty", "Unrecognized rule type". */
MUST_CHECK enum status tree_rule_type_parse(struct slice name,
                                            enum tree_rule_type *out,
                                            struct error *e);

/* With its rules.  "Invalid Tree ID", "Unable to locate tree: 9". */
MUST_CHECK enum status tree_get(struct trees *t, int64_t id,
                                struct arena *arena, struct tree *out,
                                struct error *e);
/* All, by id. */
MUST_CHECK enum status tree_list(struct trees *t, struct arena *arena,
                                 struct tree **out, size_t *len,
                                 struct error *e);

/* Gives '*tree' the id after the highest one, and writes it. */
MUST_CHECK enum status tree_create(struct trees *t, struct tree *tree,
                                   struct error *e);
/* Changes the members in 'fields', or all with 'overwrite'.  Without a field
 * '*changed' is false, and nothing is done. */
MUST_CHECK enum status tree_put(struct trees *t, const struct tree *tree,
                                unsigned fields, bool overwrite,
                                struct arena *arena, bool *changed,
                                struct error *e);
/* Empties the tree; deletes it and its rules too with 'definition'. */
MUST_CHECK enum status tree_delete(struct trees *t, int64_t id, bool definition,
                                   struct arena *arena, struct error *e);

/* Writes '*rule' and sets it to what is stored now.  Members that are empty or
 * 0 keep their stored values, unless 'overwrite'.  '*changed' is false when
 * nothing would change.  The rule as a whole is checked: "Missing rule type",
 * "Missing field name required for TAGK rule".  Its tree must exist. */
MUST_CHECK enum status tree_rule_put(struct trees *t, struct tree_rule *rule,
                                     bool overwrite, struct arena *arena,
                                     bool *changed, struct error *e);
/* An absent one is no error. */
MUST_CHECK enum status tree_rule_delete(struct trees *t, int64_t tree,
                                        int64_t level, int64_t order,
                                        struct error *e);
MUST_CHECK enum status tree_rules_delete(struct trees *t, int64_t tree,
                                         struct error *e);

/* The rule at a level and order; NULL when there is none. */
const struct tree_rule *tree_rule_at(const struct tree *tree, int64_t level,
                                     int64_t order);

#endif

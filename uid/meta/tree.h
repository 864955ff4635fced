/* Trees: rules that sort series into branches by their names.  Kept here are
 * the definitions; branches are made on request
 * (tsd/api/tree/tree_view.h). docs/FORMAT.md, "Trees".
 *
 *     <'t'> <tree:2>                     -> the definition
 *     <'t'> <tree:2> <level:4> <order:4> -> a rule
 *
 * Rules of one level are tried in their order until one matches; each level
 * gives the name of a branch, the last one that of a leaf.
 *
 * Threads: any.
 * Fails:   ST_NOT_FOUND, ST_INVALID with OpenTSDB's texts; ST_LIMIT past
 *          RECORD_BYTES or the arena; ST_IO, ST_CORRUPT. */
#pragma once

#include "storage/row/key.h"
#include "uid/meta/record.h"

#define TREE_ID_MAX 65535

enum tree_rule_type {
    TREE_RULE_NONE, /* not given */
    TREE_RULE_METRIC,
    TREE_RULE_METRIC_CUSTOM,
    TREE_RULE_TAGK,
    TREE_RULE_TAGK_CUSTOM,
    TREE_RULE_TAGV_CUSTOM,
};

/* Which members a request named. */
enum tree_field {
    TREE_NAME = 1,
    TREE_DESCRIPTION = 2,
    TREE_NOTES = 4,
    TREE_STRICT_MATCH = 8,
    TREE_ENABLED = 16,
    TREE_STORE_FAILURES = 32,
    TREE_MEMBERS = 63, /* all of these */
};

struct tree_rule {
    int64_t tree; /* as a request has it; stored: 1 .. TREE_ID_MAX */
    int64_t level, order, group; /* 31 bits */
    enum tree_rule_type type;
    struct slice field, custom_field, regex, separator, display_format;
    struct slice description, notes;
};

struct tree {
    int64_t id;      /* as a request has it; stored: 1 .. TREE_ID_MAX */
    int64_t created; /* s */
    struct slice name, description, notes;
    bool strict_match, enabled, store_failures;
    /* Its branches were deleted, and nothing was written since. */
    bool emptied;
    struct tree_rule *rules; /* by level, then by order */
    size_t rules_len;
};

#define TREE_KEY_SIZE      ((size_t)3)
#define TREE_RULE_KEY_SIZE ((size_t)11)

/* Writes TREE_KEY_SIZE bytes. */
struct slice tree_key(int64_t id, uint8_t *out);
/* Writes TREE_RULE_KEY_SIZE bytes. */
struct slice tree_rule_key(int64_t tree, int64_t level, int64_t order,
                           uint8_t *out);
/* Splits a key of either size; ST_CORRUPT. */
MUST_CHECK enum status tree_key_parse(struct slice key, bool *is_rule,
                                      struct tree_rule *out, struct error *e);

/* Of trees and of rules; keys are not in the bytes, and rules not in a tree. */
extern const struct record_format tree_format, tree_rule_format;
/* Texts are lent from 'bytes'. */
MUST_CHECK enum status tree_rule_decode(struct slice bytes,
                                        struct tree_rule *out, struct error *e);

/* "METRIC"; "null" of TREE_RULE_NONE. */
const char *tree_rule_type_name(enum tree_rule_type type);
/* Ignores case.  "Rule type was empty", "Unrecognized rule type". */
MUST_CHECK enum status tree_rule_type_parse(struct slice name,
                                            enum tree_rule_type *out,
                                            struct error *e);

/* With its rules.  "Invalid Tree ID", "Unable to locate tree: 9". */
MUST_CHECK enum status tree_get(struct records *r, int64_t id,
                                struct arena *arena, struct tree *out,
                                struct error *e);
/* All, by id. */
MUST_CHECK enum status tree_list(struct records *r, struct arena *arena,
                                 struct tree **out, size_t *len,
                                 struct error *e);

/* Gives '*tree' the id after the highest one, and writes it. */
MUST_CHECK enum status tree_create(struct records *r, struct tree *tree,
                                   struct error *e);
/* Changes the members in 'c->fields', or all with 'c->overwrite'.  Without a
 * field '*changed' is false, and nothing is done. */
MUST_CHECK enum status tree_put(struct records *r, const struct tree *tree,
                                const struct record_change *c, bool *changed,
                                struct error *e);
/* Empties the tree; deletes it and its rules too with 'definition'. */
MUST_CHECK enum status tree_delete(struct records *r, int64_t id,
                                   bool definition, struct arena *arena,
                                   struct error *e);

/* Writes '*rule' and sets it to what is stored now.  Members that are empty or
 * 0 keep their stored values, unless 'overwrite'.  '*changed' is false when
 * nothing would change.  The rule as a whole is checked: "Missing rule type",
 * "Missing field name required for TAGK rule".  Its tree must exist. */
MUST_CHECK enum status tree_rule_put(struct records *r, struct tree_rule *rule,
                                     bool overwrite, struct arena *arena,
                                     bool *changed, struct error *e);
/* An absent one is no error. */
MUST_CHECK enum status tree_rule_delete(struct records *r, int64_t tree,
                                        int64_t level, int64_t order,
                                        struct error *e);
MUST_CHECK enum status tree_rules_delete(struct records *r, int64_t tree,
                                         struct error *e);

/* The rule at a level and order; NULL when there is none. */
const struct tree_rule *tree_rule_at(const struct tree *tree, int64_t level,
                                     int64_t order);

/*
 * Trees and their rules as bytes (docs/FORMAT.md, "Trees").
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef UID_META_TREE_CODEC_H
#define UID_META_TREE_CODEC_H

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

#endif

/*
 * Trees and their rules as bytes (docs/FORMAT.md, "Trees").
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef UID_META_TREE_CODEC_H
#define UID_META_TREE_CODEC_H

#include "base/buf.h"
#include "storage/row/key.h"
#include "uid/meta/tree.h"

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

void tree_encode(const struct tree *tree, struct buf *out);
/* Texts are lent from 'bytes'; the id and the rules stay as they are. */
MUST_CHECK enum status tree_decode(struct slice bytes, struct tree *out,
                                   struct error *e);
void tree_rule_encode(const struct tree_rule *rule, struct buf *out);
/* Tree, level and order stay as they are. */
MUST_CHECK enum status tree_rule_decode(struct slice bytes,
                                        struct tree_rule *out, struct error *e);

#endif

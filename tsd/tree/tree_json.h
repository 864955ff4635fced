/*
 * Trees, rules and branches as JSON and as parameters, in OpenTSDB's members.
 *
 * Owns:    nothing; what is read lies in the arena.
 * Threads: any; these are functions of their arguments.
 */
#ifndef TSD_TREE_TREE_JSON_H
#define TSD_TREE_TREE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "uid/tree.h"

struct json_t;

/* A tree as a request has it. */
struct tree_request {
    struct tree tree;
    unsigned fields; /* enum tree_field */
    bool definition; /* of a DELETE: that one too */
};

/* Unknown members are ignored.  ST_INVALID when one has the wrong type; an
 * 'e->text' that is empty stands for a treeId that is no number. */
MUST_CHECK enum status tree_read(const struct json_t *json, struct arena *a,
                                 struct tree_request *out, struct error *e);
MUST_CHECK enum status tree_rule_read(const struct json_t *json,
                                      struct arena *a, struct tree_rule *out,
                                      struct error *e);
/* The regular expression must be one. */
MUST_CHECK enum status tree_rule_check_regex(const struct tree_rule *rule,
                                             struct error *e);

/* A member, or a parameter, of a tree's texts and switches. */
void tree_set_text(struct tree_request *t, enum tree_field field,
                   struct slice text);
void tree_set_switch(struct tree_request *t, enum tree_field field,
                     struct slice text);

/* "true", in any case. */
bool tree_is_true(struct slice text);

void tree_write(struct buf *b, const struct tree *tree);
void tree_rule_write(struct buf *b, const struct tree_rule *rule);

/* "0001" and four bytes for each name but the root's; 'path' starts with that.
 */
void tree_write_branch_id(struct buf *b, int64_t tree, const struct slice *path,
                          size_t path_len);
/* ,"path":{..},"displayName":..,"treeId":..,"branchId":..,"depth":..} */
void tree_write_branch_end(struct buf *b, int64_t tree,
                           const struct slice *path, size_t path_len);

#endif

/* Trees, rules and branches as JSON and as parameters, in OpenTSDB's members.
 *
 * Owns:    nothing; what is read lies in the arena.
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "tsd/api/fields.h"
#include "uid/meta/tree.h"

/* A tree as a request has it. */
struct tree_request {
    struct tree tree;
    struct slice id_text; /* data NULL: none */
    struct slice rules_text;
    unsigned fields; /* enum tree_field */
    bool definition; /* of a DELETE: that one too */
};

/* A tree, or a rule, of the body or of the parameters.  False: it replied. */
bool tree_read(const struct http_request *r, struct tree_request *out,
               struct http_reply *reply);
bool tree_rule_read(const struct http_request *r, struct tree_rule *out,
                    struct http_reply *reply);
/* ST_INVALID when a member has the wrong type or value. */
MUST_CHECK enum status tree_rule_read_json(const struct json_t *json,
                                           struct arena *a,
                                           struct tree_rule *out,
                                           struct error *e);

void tree_write(struct buf *b, const struct tree *tree);
void tree_rule_write(struct buf *b, const struct tree_rule *rule);

/* ,"path":{..},"displayName":..,"treeId":..,"branchId":..,"depth":..} */
void tree_write_branch_end(struct buf *b, int64_t tree,
                           const struct slice *path, size_t path_len);

/* What api_tree.c leaves to api_tree_view.c: branches and what is made of them.
 */
void api_tree_branch(const struct api_call *w);
void api_tree_test(const struct api_call *w);
void api_tree_collisions(const struct api_call *w);
void api_tree_unmatched(const struct api_call *w);

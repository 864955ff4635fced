/*
 * What the two files of /api/tree share: definitions (api_tree.c), and what is
 * made of series by them (api_tree_view.c).
 *
 * Threads: any.
 */
#ifndef TSD_API_TREE_API_TREE_H
#define TSD_API_TREE_API_TREE_H

#include "tsd/api/api.h"
#include "uid/meta/tree.h"

void api_tree_branch(const struct api_call *w);
void api_tree_test(const struct api_call *w);
void api_tree_collisions(const struct api_call *w);
void api_tree_unmatched(const struct api_call *w);

#endif

/* What the two files of /api/tree share: definitions (api_tree.c), and what is
 * made of series by them (api_tree_view.c).
 *
 * Threads: any. */
#pragma once

#include "tsd/api/api.h"
#include "uid/meta/tree.h"

void api_tree_branch(const struct api_call *w);
void api_tree_test(const struct api_call *w);
void api_tree_collisions(const struct api_call *w);
void api_tree_unmatched(const struct api_call *w);

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

/* Serves what comes behind "/api/tree/"; false when it does not know it. */
bool api_tree_view(const struct api_call *w, struct slice what);

void api_tree_reject_method(struct http_reply *out);

#endif

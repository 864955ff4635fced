/* Suggestions with counts: names that contain a text, and how many series of a
 * metric have each; the most first.
 *
 * Threads: any. */
#pragma once

#include "tsd/api/api.h"

struct suggest_ask {
    enum uid_kind kind;
    struct slice part;
    int64_t max;
    struct slice metric; /* of tagks and tagvs */
    struct slice tagk;   /* of tagvs */
    struct slice tags;   /* only series with these: "k=v,k2=v|w,k3=*" */
};

void suggest_counts(const struct api *a, const struct http_request *r,
                    const struct suggest_ask *ask, struct http_reply *out);

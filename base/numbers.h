/* A set of 64-bit numbers: ids, or hashes.
 *
 * Owns:    its memory, some 20 bytes a number.
 * Threads: one at a time. */
#pragma once

#include "base/table.h"

struct numbers {
    struct hash_table table;
    uint64_t *list;
    size_t cap;
};

bool numbers_have(const struct numbers *n, uint64_t v);
/* Aborts when there is no memory. */
void numbers_add(struct numbers *n, uint64_t v);
/* Leaves it empty. */
void numbers_fini(struct numbers *n);
